//! Reading and writing the members of a message.

use super::names::word;
use super::structs::{is_number, stated};
use super::{Code, Generator};
use crate::types::{Dimension, Member, MemberType, PrimitiveType, Struct};

impl Generator<'_> {
    pub(super) fn body_length(&self, code: &mut Code, it: &Struct) {
        code.line("fn body_length(&self) -> usize {");
        let mut fixed = 0_usize;
        let mut terms = Vec::new();
        // What takes no bytes adds none, however many of it there are.
        let members = it.members.iter();
        for member in members.filter(|it| self.exact(&it.of) != Some(0)) {
            match (Dimension::count(&member.dimensions), self.exact(&member.of)) {
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
        let Some((_, inner)) = dimensions.split_first() else {
            return match of {
                MemberType::Named(_) => format!(
                    "{}::message::Message::body_length({})",
                    self.krate,
                    borrowed(place)
                ),
                MemberType::Primitive(_) => format!("5 + {place}.len()"),
            };
        };
        if let (Some(bytes), Some(count)) = (self.exact(of), Dimension::count(inner)) {
            return match bytes.saturating_mul(count) {
                1 => format!("{place}.len()"),
                bytes => format!("{place}.len() * {bytes}"),
            };
        }
        if let (MemberType::Named(_), []) = (of, inner) {
            let krate = self.krate;
            return format!(
                "{place}.iter().map({krate}::message::Message::body_length).sum::<usize>()"
            );
        }
        let inner = self.length_of("it", of, inner);
        format!("{place}.iter().map(|it| {inner}).sum::<usize>()")
    }

    pub(super) fn encode_body(&self, code: &mut Code, it: &Struct) {
        let writer = if it.members.is_empty() { "_" } else { "writer" };
        self.lines(code, ENCODE, &[("writer", writer)]);
        for member in &it.members {
            let place = format!("self.{}", word(&member.name));
            self.encode(code, it, member, &place, &member.dimensions);
        }
        code.lines("Ok(())\n}", &[]);
    }

    fn encode(
        &self,
        code: &mut Code,
        within: &Struct,
        member: &Member,
        place: &str,
        left: &[Dimension],
    ) {
        let krate = self.krate;
        let name = &member.name;
        let Some((outer, inner)) = left.split_first() else {
            code.line(&match &member.of {
                MemberType::Primitive(PrimitiveType::String) => {
                    format!("writer.string(\"{name}\", {})?;", borrowed(place))
                }
                MemberType::Primitive(_) => format!("writer.value({place})?;"),
                MemberType::Named(_) => {
                    format!(
                        "{krate}::message::Message::encode_body({}, writer)?;",
                        borrowed(place)
                    )
                }
            });
            return;
        };
        if let Dimension::Variable { member: by } = outer {
            let says = stated(within, by, &format!("self.{}", word(by)));
            code.line(&format!(
                "{krate}::codec::Writer::agree(\"{name}\", {place}.len(), \"{by}\", {says})?;"
            ));
        }
        if inner.is_empty() && is_number(&member.of) {
            code.line(&format!("writer.array({})?;", borrowed(place)));
            return;
        }
        code.line(&format!("for it in {} {{", borrowed(place)));
        self.encode(code, within, member, "it", inner);
        code.line("}");
    }

    pub(super) fn decode_body(&self, code: &mut Code, it: &Struct) {
        let reader = if it.members.is_empty() { "_" } else { "reader" };
        let recursive = self.types.is_recursive(&it.name);
        self.lines(code, DECODE, &[("reader", reader)]);
        if recursive {
            code.line(&format!("reader.enter(\"{}\")?;", it.name));
        }
        for member in &it.members {
            self.lengths(code, it, member, "self.");
            let place = format!("self.{}", word(&member.name));
            self.decode(code, member, &place, 0);
        }
        if recursive {
            code.line("reader.leave();");
        }
        code.lines("Ok(())\n}", &[]);
    }

    /// How long a variable array is, and that the message has room for it.
    pub(super) fn lengths(&self, code: &mut Code, within: &Struct, member: &Member, from: &str) {
        let krate = self.krate;
        let mut lengths = Vec::new();
        for (at, dimension) in member.dimensions.iter().enumerate() {
            match dimension {
                Dimension::Fixed { size, .. } => lengths.push(size.to_string()),
                Dimension::Variable { member: by } => {
                    let place = format!(
                        "{from}{}",
                        if from == "self." {
                            word(by)
                        } else {
                            by.clone()
                        }
                    );
                    let says = stated(within, by, &place);
                    let name = &member.name;
                    code.line(&format!(
                        "let length_{at} = {krate}::codec::Reader::length(\"{name}\", {says})?;"
                    ));
                    lengths.push(format!("length_{at}"));
                }
            }
        }
        let one_of_numbers = lengths.len() == 1 && is_number(&member.of);
        if member.is_variable() && !one_of_numbers {
            let least = self.least(&member.of);
            code.line(&format!(
                "reader.room(\"{}\", &[{}], {least})?;",
                member.name,
                lengths.join(", ")
            ));
        }
    }

    pub(super) fn decode(&self, code: &mut Code, member: &Member, place: &str, depth: usize) {
        let krate = self.krate;
        let name = &member.name;
        let borrow = match place {
            "it" => "it".to_owned(),
            place => format!("&mut {place}"),
        };
        let target = if place == "it" { "*it" } else { place };
        let Some(outer) = member.dimensions.get(depth) else {
            code.line(&match &member.of {
                MemberType::Primitive(PrimitiveType::String) => {
                    format!("reader.string(\"{name}\", {borrow})?;")
                }
                MemberType::Primitive(_) => format!("{target} = reader.value(\"{name}\")?;"),
                MemberType::Named(_) => {
                    format!("{krate}::message::Message::decode_body({borrow}, reader)?;")
                }
            });
            return;
        };
        let inner = &member.dimensions[depth + 1..];
        let numbers = inner.is_empty() && is_number(&member.of);
        match outer {
            Dimension::Fixed { .. } if numbers => {
                code.line(&format!("reader.array(\"{name}\", {borrow})?;"));
                return;
            }
            Dimension::Variable { .. } if numbers => {
                code.line(&format!(
                    "reader.vector(\"{name}\", length_{depth}, {borrow})?;"
                ));
                return;
            }
            Dimension::Fixed { .. } => {}
            Dimension::Variable { .. } => {
                let start = self.start(&member.of, inner);
                let default = format!("{}::default()", self.std("Default"));
                let start = match start {
                    it if it == default => format!("{}::default", self.std("Default")),
                    it if it.ends_with("::new()") && !it.contains('|') => {
                        it.trim_end_matches("()").to_owned()
                    }
                    it => format!("|| {it}"),
                };
                code.line(&format!("{place}.resize_with(length_{depth}, {start});"));
            }
        }
        code.line(&format!("for it in {borrow} {{"));
        self.decode(code, member, "it", depth + 1);
        code.line("}");
    }
}

const ENCODE: &str = "fn encode_body(
&self,
@writer@: &mut @krate@::codec::Writer<'_>,
) -> @Result@<(), @krate@::codec::EncodeError> {";

const DECODE: &str = "fn decode_body(
&mut self,
@reader@: &mut @krate@::codec::Reader<'_>,
) -> @Result@<(), @krate@::codec::DecodeError> {";

fn borrowed(place: &str) -> String {
    match place {
        "it" => "it".to_owned(),
        place => format!("&{place}"),
    }
}
