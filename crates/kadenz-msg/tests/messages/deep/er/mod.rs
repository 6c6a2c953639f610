// Written by `kadenz msg gen --lang rust`: change the .lcm files, and write it again.

//! Messages of the package `deep.er`.

/// `deep.er.name`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Name {
    /// `int8_t first`
    pub first: i8,
}

impl kadenz_msg::message::Message for Name {
    const NAME: &'static str = "deep.er.name";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0x994d0d7de977468c);
    const DESCRIPTION: &'static str =
        r"package deep.er;

struct name {
    int8_t first;
}
";

    fn body_length(&self) -> usize {
        1
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.value(self.first)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        self.first = reader.value("first")?;
        Ok(())
    }
}
