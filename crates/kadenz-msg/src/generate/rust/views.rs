//! Views of a message in its bytes: primitive arrays are not copied.

use super::names::{primitive, word};
use super::structs::{described, is_number};
use super::{Code, Generator};
use crate::types::{Dimension, Member, MemberType, PrimitiveType, Struct};

/// An array of a fixed length is worth a view from this many elements on.
const LARGE: usize = 32;

/// Whether a struct has an array that is worth a view.
pub(super) fn is_wanted(it: &Struct) -> bool {
    let large = |member: &Member| {
        let count = Dimension::count(&member.dimensions);
        is_number_array(member) && count.is_none_or(|count| count >= LARGE)
    };
    it.members.iter().any(large)
}

fn is_number_array(member: &Member) -> bool {
    is_number(&member.of) && !member.dimensions.is_empty()
}

fn is_text(member: &Member) -> bool {
    member.of == MemberType::Primitive(PrimitiveType::String) && member.dimensions.is_empty()
}

impl Generator<'_> {
    pub(super) fn view(&self, code: &mut Code, it: &Struct, short: &str) {
        self.lines(code, VIEW, &[("short", short)]);
        for member in &it.members {
            code.doc(&member.doc, &described(member));
            code.line(&format!(
                "pub {}: {},",
                word(&member.name),
                self.viewed(member)
            ));
        }
        self.lines(code, LOOK, &[("short", short)]);
        for member in &it.members {
            self.look(code, it, member);
        }
        code.lines("reader.end()?;\nOk(Self {", &[]);
        for member in &it.members {
            code.line(&format!("{}: member_{},", word(&member.name), member.name));
        }
        code.lines("})\n}\n}", &[]);
    }

    fn viewed(&self, member: &Member) -> String {
        match &member.of {
            MemberType::Primitive(of) if is_number_array(member) => {
                format!("{}::codec::View<'a, {}>", self.krate, primitive(*of))
            }
            _ if is_text(member) => "&'a [u8]".to_owned(),
            _ => self.field_type(member),
        }
    }

    fn look(&self, code: &mut Code, within: &Struct, member: &Member) {
        let name = &member.name;
        let place = format!("member_{name}");
        if is_number_array(member) {
            let mut product = Vec::new();
            for (at, dimension) in member.dimensions.iter().enumerate() {
                match dimension {
                    Dimension::Fixed { size, .. } => product.push(format!("{size}_usize")),
                    Dimension::Variable { member: by } => {
                        let says = super::structs::stated_by(within, by, &format!("member_{by}"));
                        let krate = self.krate;
                        code.line(&format!(
                            "let length_{at} = {krate}::codec::Reader::length(\"{name}\", {says})?;"
                        ));
                        product.push(format!("length_{at}"));
                    }
                }
            }
            let count = match product.split_first() {
                Some((first, rest)) => rest.iter().fold(first.clone(), |all, it| {
                    format!("{all}.saturating_mul({it})")
                }),
                None => "0".to_owned(),
            };
            code.line(&format!("let {place} = reader.view(\"{name}\", {count})?;"));
        } else if is_text(member) {
            code.line(&format!("let {place} = reader.text(\"{name}\")?;"));
        } else if member.dimensions.is_empty() && is_number(&member.of) {
            let of = self.element(&member.of);
            code.line(&format!("let {place}: {of} = reader.value(\"{name}\")?;"));
        } else {
            let of = self.field_type(member);
            let start = self.start(&member.of, &member.dimensions);
            let says = |by: &str| super::structs::stated_by(within, by, &format!("member_{by}"));
            code.line(&format!("let mut {place}: {of} = {start};"));
            self.decode(code, member, &place, says);
        }
    }
}

const VIEW: &str = "
/// [`@short@`] as it lies in a message: its arrays of numbers, the last index running fastest,
/// and its strings are not copied.
#[derive(Debug, Clone)]
pub struct @short@View<'a> {";

const LOOK: &str = "}

impl<'a> @short@View<'a> {
/// Looks into a whole message. Allocates only for members that are neither numbers nor strings.
///
/// # Errors
/// Where the message is of another type, or its bytes do not follow the description.
pub fn decode(bytes: &'a [u8]) -> @krate@::codec::DecodeResult<Self> {
let reader = &mut @krate@::codec::Reader::new(bytes);
let name = <@short@ as @krate@::message::Message>::NAME;
let fingerprint = <@short@ as @krate@::message::Message>::FINGERPRINT;
reader.fingerprint(fingerprint, name)?;";
