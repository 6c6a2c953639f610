//! Reading and writing the members of a message.

use super::names::word;
use super::structs::{is_number, stated_by};
use super::{Code, Generator};
use crate::types::{Dimension, Member, MemberType, PrimitiveType, Struct};

impl Generator<'_> {
    pub(super) fn body_length(&self, code: &mut Code, it: &Struct) {
        code.line("fn body_length(&self) -> usize {");
        let mut fixed = 0_usize;
        let mut terms = Vec::new();
        // Elements of no bytes add none, however many there are.
        let members = it.members.iter();
        for member in members.filter(|it| self.types.exact_of(&it.of) != Some(0)) {
            match (
                Dimension::count(&member.dimensions),
                self.types.exact_of(&member.of),
            ) {
                (Some(count), Some(bytes)) => {
                    fixed = fixed.saturating_add(count.saturating_mul(bytes));
                }
                _ => {
                    let place = format!("self.{}", word(&member.name));
                    terms.push(self.length_of(&place, &member.of, &member.dimensions));
                }
            }
        }
        match terms.as_slice() {
            [] => code.line(&fixed.to_string()),
            terms => {
                code.line(&format!("let mut length = {fixed};"));
                for term in terms {
                    code.line(&format!("length += {term};"));
                }
                code.line("length");
            }
        }
        code.line("}");
    }

    /// How many bytes something takes, as an expression.
    fn length_of(&self, place: &str, of: &MemberType, dimensions: &[Dimension]) -> String {
        let krate = self.krate;
        let Some((_, inner)) = dimensions.split_first() else {
            return match of {
                MemberType::Named(_) => format!("{krate}::message::Message::body_length(&{place})"),
                MemberType::Primitive(_) => format!("5 + {place}.len()"),
            };
        };
        match (self.types.exact_of(of), Dimension::count(inner)) {
            (Some(bytes), Some(count)) => match bytes.saturating_mul(count) {
                1 => format!("{place}.len()"),
                bytes => format!("{place}.len() * {bytes}"),
            },
            _ => format!("{krate}::codec::length(&{place})"),
        }
    }

    pub(super) fn encode_body(&self, code: &mut Code, it: &Struct) {
        let writer = if it.members.is_empty() { "_" } else { "writer" };
        self.lines(code, ENCODE, &[("writer", writer)]);
        for member in &it.members {
            self.encode(code, it, member);
        }
        code.lines("Ok(())\n}", &[]);
    }

    fn encode(&self, code: &mut Code, within: &Struct, member: &Member) {
        let (krate, name) = (self.krate, &member.name);
        let place = format!("self.{}", word(name));
        code.line(&match (&member.of, &member.dimensions[..]) {
            (MemberType::Primitive(PrimitiveType::String), []) => {
                format!("writer.string(\"{name}\", &{place})?;")
            }
            (MemberType::Primitive(_), []) => format!("writer.value({place})?;"),
            (MemberType::Named(_), []) => {
                format!("{krate}::message::Message::encode_body(&{place}, writer)?;")
            }
            (of, [Dimension::Fixed { .. }]) if is_number(of) => {
                format!("writer.array(&{place})?;")
            }
            (_, dimensions) => {
                let stated = dimensions.iter().filter_map(Dimension::stated_by);
                let stated = stated.map(|by| {
                    let says = stated_by(within, by, &format!("self.{}", word(by)));
                    format!("(\"{by}\", {says})")
                });
                let stated = stated.collect::<Vec<_>>().join(", ");
                format!("writer.list(\"{name}\", &{place}, &[{stated}])?;")
            }
        });
    }

    pub(super) fn decode_body(&self, code: &mut Code, it: &Struct) {
        let reader = if it.members.is_empty() { "_" } else { "reader" };
        let recursive = self.types.is_recursive(&it.name);
        self.lines(code, DECODE, &[("reader", reader)]);
        if recursive {
            code.line(&format!("reader.enter(\"{}\")?;", it.name));
        }
        for member in &it.members {
            let place = format!("self.{}", word(&member.name));
            let says = |by: &str| stated_by(it, by, &format!("self.{}", word(by)));
            self.decode(code, member, &place, says);
        }
        if recursive {
            code.line("reader.leave();");
        }
        code.lines("Ok(())\n}", &[]);
    }

    /// Reads a member into a place; `says` is the value of a member that states a length, as an `i64`.
    pub(super) fn decode(
        &self,
        code: &mut Code,
        member: &Member,
        place: &str,
        says: impl Fn(&str) -> String,
    ) {
        let (krate, name) = (self.krate, &member.name);
        code.line(&match (&member.of, &member.dimensions[..]) {
            (MemberType::Primitive(PrimitiveType::String), []) => {
                format!("reader.string(\"{name}\", &mut {place})?;")
            }
            (MemberType::Primitive(_), []) => format!("{place} = reader.value(\"{name}\")?;"),
            (MemberType::Named(_), []) => {
                format!("{krate}::message::Message::decode_body(&mut {place}, reader)?;")
            }
            (of, [Dimension::Fixed { .. }]) if is_number(of) => {
                format!("reader.array(\"{name}\", &mut {place})?;")
            }
            _ if !member.is_variable() => {
                format!("reader.list(\"{name}\", &mut {place}, &[], 0)?;")
            }
            (of, dimensions) => {
                let lengths = dimensions.iter().map(|it| match it {
                    Dimension::Fixed { size, .. } => size.to_string(),
                    Dimension::Variable { member: by } => says(by),
                });
                let lengths = lengths.collect::<Vec<_>>().join(", ");
                let least = self.types.least_of(of);
                format!("reader.list(\"{name}\", &mut {place}, &[{lengths}], {least})?;")
            }
        });
    }
}

const ENCODE: &str = "fn encode_body(&self, @writer@: &mut @krate@::codec::Writer<'_>) -> @krate@::codec::EncodeResult {";

const DECODE: &str = "fn decode_body(&mut self, @reader@: &mut @krate@::codec::Reader<'_>) -> @krate@::codec::DecodeResult {";
