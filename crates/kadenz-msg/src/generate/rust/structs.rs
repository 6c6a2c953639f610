//! A struct, its constants, and how it is a message.

use super::names::{primitive, word};
use super::{Code, Generator, literal};
use crate::types::{
    Constant, ConstantValue, Dimension, Enum, Member, MemberType, PrimitiveType, Struct,
};

/// The longest array that the standard library gives a default.
const MAX_DEFAULT: usize = 32;

impl Generator<'_> {
    pub(super) fn structure(&self, code: &mut Code, it: &Struct) {
        let short = self.names.short(&it.name);
        let by_hand = it.members.iter().any(needs_default);
        code.doc(&it.doc, &format!("`{}`", it.name));
        let default = if by_hand { "" } else { ", Default" };
        code.line(&format!("#[derive(Debug, Clone, PartialEq{default})]"));
        self.fields(code, it, short);
        if by_hand {
            self.default(code, it, short);
        }
        if !it.constants.is_empty() {
            code.line("");
            code.line(&format!("impl {short} {{"));
            for (at, constant) in it.constants.iter().enumerate() {
                if at > 0 {
                    code.line("");
                }
                self.constant(code, constant);
            }
            code.line("}");
        }
        self.message(code, it, short);
        if super::views::is_wanted(it) {
            self.view(code, it, short);
        }
    }

    fn fields(&self, code: &mut Code, it: &Struct, short: &str) {
        if it.members.is_empty() {
            code.line(&format!("pub struct {short} {{}}"));
            return;
        }
        code.line(&format!("pub struct {short} {{"));
        for member in &it.members {
            code.doc(&member.doc, &described(member));
            let name = word(&member.name);
            code.line(&format!("pub {name}: {},", self.field_type(member)));
        }
        code.line("}");
    }

    /// Arrays longer than 32 have no default of their own.
    fn default(&self, code: &mut Code, it: &Struct, short: &str) {
        code.line("");
        code.line(&format!("impl {} for {short} {{", self.std("Default")));
        code.line("fn default() -> Self {");
        code.line("Self {");
        for member in &it.members {
            let start = self.start(&member.of, &member.dimensions);
            code.line(&format!("{}: {start},", word(&member.name)));
        }
        code.line("}");
        code.line("}");
        code.line("}");
    }

    fn constant(&self, code: &mut Code, it: &Constant) {
        code.doc(&it.doc, &format!("`const {} {}`", it.of, it.name));
        let value = match it.value {
            ConstantValue::Integer(value) => value.to_string(),
            ConstantValue::Real(value) if it.of == PrimitiveType::Float => {
                format!("{:?}", value as f32)
            }
            ConstantValue::Real(value) => format!("{value:?}"),
        };
        let (name, of) = (word(&it.name), primitive(it.of));
        code.line(&format!("pub const {name}: {of} = {value};"));
    }

    fn message(&self, code: &mut Code, it: &Struct, short: &str) {
        self.begin_message(code, short, &it.name);
        self.body_length(code, it);
        code.line("");
        self.encode_body(code, it);
        code.line("");
        self.decode_body(code, it);
        code.line("}");
    }

    /// What every message says of itself.
    pub(super) fn begin_message(
        &self,
        code: &mut Code,
        short: &str,
        name: &crate::types::TypeName,
    ) {
        let krate = self.krate;
        let full = name.to_string();
        let fingerprint = self.types.fingerprint_of(name);
        let fingerprint = fingerprint.map_or(0, |it| it.0);
        let text = self.types.text_of(&full).unwrap_or_default();
        code.line("");
        code.line(&format!("impl {krate}::message::Message for {short} {{"));
        code.line(&format!("const NAME: &'static str = \"{full}\";"));
        code.line(&format!(
            "const FINGERPRINT: {krate}::message::Fingerprint = {krate}::message::Fingerprint(0x{fingerprint:016x});"
        ));
        code.line("const DESCRIPTION: &'static str =");
        code.raw(&format!("        {};\n", literal(&text)));
        code.line("");
    }
}

/// What is said of a member without a comment.
pub(super) fn described(member: &Member) -> String {
    format!("`{} {}`", member.type_text(), member.name)
}

fn needs_default(member: &Member) -> bool {
    let outside = member
        .dimensions
        .iter()
        .take_while(|it| it.stated_by().is_none());
    let mut outside = outside;
    outside.any(|it| matches!(it, Dimension::Fixed { size, .. } if *size > MAX_DEFAULT))
}

// An enum: 32 bits, for its sender may know more values.

impl Generator<'_> {
    pub(super) fn enumeration(&self, code: &mut Code, it: &Enum) {
        let (short, krate) = (self.names.short(&it.name), self.krate);
        let first = it.values.first().map_or(0, |it| it.number);
        let default = if first == 0 { ", Default" } else { "" };
        code.doc(&it.doc, &format!("`{}`", it.name));
        code.line("#[derive(");
        code.line(&format!(
            "Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash{default},"
        ));
        code.line(")]");
        code.line(&format!("pub struct {short}("));
        code.line("/// What is sent: one of the constants, or what a newer sender knows.");
        code.line("pub i32,");
        code.line(");");
        if first != 0 {
            code.line("");
            code.line(&format!("impl {} for {short} {{", self.std("Default")));
            code.line("fn default() -> Self {");
            code.line(&format!("Self({first})"));
            code.line("}");
            code.line("}");
        }
        if !it.values.is_empty() {
            code.line("");
            code.line(&format!("impl {short} {{"));
            for (at, value) in it.values.iter().enumerate() {
                if at > 0 {
                    code.line("");
                }
                code.doc(&value.doc, &format!("`{} = {}`", value.name, value.number));
                code.line(&format!(
                    "pub const {}: Self = Self({});",
                    word(&value.name),
                    value.number
                ));
            }
            code.line("}");
        }
        self.begin_message(code, short, &it.name);
        let result = self.std("Result");
        code.line("fn body_length(&self) -> usize {");
        code.line("4");
        code.line("}");
        code.line("");
        code.line("fn encode_body(");
        code.line("&self,");
        code.line(&format!("writer: &mut {krate}::codec::Writer<'_>,"));
        code.line(&format!(
            ") -> {result}<(), {krate}::codec::EncodeError> {{"
        ));
        code.line("writer.value(self.0)");
        code.line("}");
        code.line("");
        code.line("fn decode_body(");
        code.line("&mut self,");
        code.line(&format!("reader: &mut {krate}::codec::Reader<'_>,"));
        code.line(&format!(
            ") -> {result}<(), {krate}::codec::DecodeError> {{"
        ));
        code.line(&format!("self.0 = reader.value(\"{}\")?;", it.name));
        code.line("Ok(())");
        code.line("}");
        code.line("}");
    }
}

// A member as a field: its type, and what it begins with.

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
