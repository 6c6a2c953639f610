//! A struct, its constants, and how it is a message.

use super::Generator;
use super::code::{Code, literal};
use super::names::{primitive, word};
use crate::types::{Constant, ConstantValue, Dimension, Member, PrimitiveType, Struct};

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
