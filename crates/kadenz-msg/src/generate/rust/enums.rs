//! An enum: 32 bits, for its sender may know more values.

use super::Generator;
use super::code::Code;
use super::names::word;
use crate::types::Enum;

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
