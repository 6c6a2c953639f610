//! A member as a field: its type, and what it begins with.

use super::Generator;
use super::names::primitive;
use crate::types::{Dimension, Member, MemberType, PrimitiveType, Struct};

impl Generator<'_> {
    /// The type of one element.
    pub(super) fn element(&self, of: &MemberType) -> String {
        match of {
            MemberType::Primitive(PrimitiveType::String) => self.std("String"),
            MemberType::Primitive(of) => primitive(*of).to_owned(),
            MemberType::Named(name) => self.names.path(self.package, name),
        }
    }

    pub(super) fn std(&self, short: &str) -> String {
        self.names.std(self.package, short)
    }

    /// The type of a member.
    pub(super) fn field_type(&self, member: &Member) -> String {
        let element = self.element(&member.of);
        member
            .dimensions
            .iter()
            .rev()
            .fold(element, |inner, it| match it {
                Dimension::Fixed { size, .. } => format!("[{inner}; {size}]"),
                Dimension::Variable { .. } => format!("{}<{inner}>", self.std("Vec")),
            })
    }

    /// What a member, behind some of its dimensions, begins with.
    pub(super) fn start(&self, of: &MemberType, dimensions: &[Dimension]) -> String {
        match dimensions.split_first() {
            None => match of {
                MemberType::Primitive(PrimitiveType::String) => {
                    format!("{}::new()", self.std("String"))
                }
                MemberType::Primitive(PrimitiveType::Float | PrimitiveType::Double) => {
                    "0.0".to_owned()
                }
                MemberType::Primitive(PrimitiveType::Boolean) => "false".to_owned(),
                MemberType::Primitive(_) => "0".to_owned(),
                MemberType::Named(_) => format!("{}::default()", self.std("Default")),
            },
            Some((Dimension::Variable { .. }, _)) => format!("{}::new()", self.std("Vec")),
            Some((Dimension::Fixed { size, .. }, inner)) => {
                let copied = is_number(of) && inner.iter().all(|it| it.stated_by().is_none());
                let inner = self.start(of, inner);
                match copied {
                    true => format!("[{inner}; {size}]"),
                    false => format!("::std::array::from_fn(|_| {inner})"),
                }
            }
        }
    }

    /// How many bytes an element takes at least.
    pub(super) fn least(&self, of: &MemberType) -> usize {
        match of {
            MemberType::Primitive(of) => of.least_bytes(),
            MemberType::Named(name) => self.types.least_bytes(name),
        }
    }

    /// How many bytes an element always takes, where it does.
    pub(super) fn exact(&self, of: &MemberType) -> Option<usize> {
        match of {
            MemberType::Primitive(PrimitiveType::String) => None,
            MemberType::Primitive(of) => Some(of.least_bytes()),
            MemberType::Named(name) => self.types.exact_bytes(name),
        }
    }
}

/// Whether it is a number, a byte or a boolean, which an array is read and written of at once.
pub(super) fn is_number(of: &MemberType) -> bool {
    matches!(of, MemberType::Primitive(of) if *of != PrimitiveType::String)
}

/// An integer member as an `i64`.
pub(super) fn stated(within: &Struct, member: &str, from: &str) -> String {
    let wide = within
        .members
        .iter()
        .any(|it| it.name == member && it.of == MemberType::Primitive(PrimitiveType::Int64));
    match wide {
        true => from.to_owned(),
        false => format!("i64::from({from})"),
    }
}
