// Written by `kadenz msg gen --lang rust`: change the .lcm files, and write it again.

//! Messages, a module a package.

#![allow(
    dead_code,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::approx_constant,
    clippy::doc_lazy_continuation,
    clippy::doc_overindented_list_items,
    clippy::enum_variant_names,
    clippy::module_inception,
    clippy::pedantic,
    rustdoc::all,
    unreachable_pub,
    reason = "names, comments and constants are those of the .lcm files"
)]

pub mod deep;
pub mod map;
pub mod odd;
pub mod robot;

/// `plain`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plain {
    /// `int32_t number`
    pub number: i32,
    /// `string[2] words`
    pub words: [String; 2],
}

impl kadenz_msg::message::Message for Plain {
    const NAME: &'static str = "plain";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0xe27717a1dbca59c8);
    const DESCRIPTION: &'static str =
        r"struct plain {
    int32_t number;
    string words[2];
}
";

    fn body_length(&self) -> usize {
        let mut length = 4;
        length += kadenz_msg::codec::length(&self.words);
        length
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.value(self.number)?;
        writer.list("words", &self.words, &[])?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        self.number = reader.value("number")?;
        reader.list("words", &mut self.words, &[], 0)?;
        Ok(())
    }
}
