//! A struct, its constants, and its implementation of `Message`.

use super::super::plan::number;
use super::names::{primitive, word};
use super::{Code, Generator, literal};
use crate::types::{Constant, Dimension, Enum, Member, MemberType, PrimitiveType, Struct};

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

    /// Arrays longer than 32 have no `Default` of their own.
    fn default(&self, code: &mut Code, it: &Struct, short: &str) {
        self.lines(code, DEFAULT, &[("short", short), ("body", "Self {")]);
        for member in &it.members {
            let start = self.start(&member.of, &member.dimensions);
            code.line(&format!("{}: {start},", word(&member.name)));
        }
        code.lines("}\n}\n}", &[]);
    }

    fn constant(&self, code: &mut Code, it: &Constant) {
        code.doc(&it.doc, &format!("`const {} {}`", it.of, it.name));
        let value = number(it.of, it.value);
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

    /// Writes the constants of the trait `Message`.
    pub(super) fn begin_message(
        &self,
        code: &mut Code,
        short: &str,
        name: &crate::types::TypeName,
    ) {
        let full = name.to_string();
        let fingerprint = self.types.fingerprint_of(name);
        let fingerprint = format!("0x{:016x}", fingerprint.map_or(0, |it| it.0));
        let text = self.types.text_of(&full).unwrap_or_default();
        let values = [
            ("short", short),
            ("full", &full),
            ("fingerprint", &fingerprint),
        ];
        self.lines(code, MESSAGE, &values);
        code.raw(&format!("        {};\n", literal(&text)));
        code.line("");
    }
}

/// Returns the documentation of a member without a comment.
pub(super) fn described(member: &Member) -> String {
    format!("`{} {}`", member.type_text(), member.name)
}

fn needs_default(member: &Member) -> bool {
    let mut outside = member.dimensions.iter().map_while(Dimension::fixed);
    outside.any(|size| size > MAX_DEFAULT)
}

// An enum: 32 bits, because its sender may have more values.

impl Generator<'_> {
    pub(super) fn enumeration(&self, code: &mut Code, it: &Enum) {
        let short = self.names.short(&it.name);
        let first = it.first();
        let default = if first == 0 { ", Default" } else { "" };
        code.doc(&it.doc, &format!("`{}`", it.name));
        code.lines(ENUM, &[("short", short), ("default", default)]);
        if first != 0 {
            let first = format!("Self({first})\n}}\n}}");
            self.lines(code, DEFAULT, &[("short", short), ("body", &first)]);
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
        self.lines(code, ENUM_MESSAGE, &[("full", &it.name.to_string())]);
    }
}

const DEFAULT: &str = "
impl @Default@ for @short@ {
fn default() -> Self {
@body@";

const MESSAGE: &str = r#"
impl @krate@::message::Message for @short@ {
const NAME: &'static str = "@full@";
const FINGERPRINT: @krate@::message::Fingerprint = @krate@::message::Fingerprint(@fingerprint@);
const DESCRIPTION: &'static str ="#;

const ENUM: &str = "#[derive(
Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash@default@,
)]
pub struct @short@(
/// What is sent: one of the constants, or what a newer sender knows.
pub i32,
);";

const ENUM_MESSAGE: &str = r#"fn body_length(&self) -> usize {
4
}

fn encode_body(&self, writer: &mut @krate@::codec::Writer<'_>) -> @krate@::codec::EncodeResult {
writer.value(self.0)
}

fn decode_body(&mut self, reader: &mut @krate@::codec::Reader<'_>) -> @krate@::codec::DecodeResult {
self.0 = reader.value("@full@")?;
Ok(())
}
}"#;

// A member as a field: its type, and its initial value.

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

    /// Returns the initial value of a member, behind some of its dimensions.
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
}

/// Returns whether it is a number, a byte or a boolean, an array of which is read and written at once.
pub(super) fn is_number(of: &MemberType) -> bool {
    matches!(of, MemberType::Primitive(of) if *of != PrimitiveType::String)
}

/// An integer member as an `i64`.
pub(super) fn stated_by(within: &Struct, member: &str, from: &str) -> String {
    let wide = within
        .members
        .iter()
        .any(|it| it.name == member && it.of == MemberType::Primitive(PrimitiveType::Int64));
    match wide {
        true => from.to_owned(),
        false => format!("i64::from({from})"),
    }
}
