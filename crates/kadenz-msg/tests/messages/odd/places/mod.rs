// Written by `kadenz msg gen --lang rust`: change the .lcm files, and write it again.

//! Messages of the package `odd.places`.

/// `odd.places.a_name_that_is_longer_than_one_hundred_and_twenty_seven_characters_so_that_its_length_does_not_fit_a_signed_char_of_lcm_gen_and_wraps`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ANameThatIsLongerThanOneHundredAndTwentySevenCharactersSoThatItsLengthDoesNotFitASignedCharOfLcmGenAndWraps {
    /// `int8_t a_member_that_is_longer_than_one_hundred_and_twenty_seven_characters_so_that_its_length_does_not_fit_a_signed_char_of_lcm_gen_and_wraps`
    pub a_member_that_is_longer_than_one_hundred_and_twenty_seven_characters_so_that_its_length_does_not_fit_a_signed_char_of_lcm_gen_and_wraps: i8,
    /// `string[1] _under`
    pub _under: [String; 1],
}

impl kadenz_msg::message::Message for ANameThatIsLongerThanOneHundredAndTwentySevenCharactersSoThatItsLengthDoesNotFitASignedCharOfLcmGenAndWraps {
    const NAME: &'static str = "odd.places.a_name_that_is_longer_than_one_hundred_and_twenty_seven_characters_so_that_its_length_does_not_fit_a_signed_char_of_lcm_gen_and_wraps";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0xd7b983a8731ae683);
    const DESCRIPTION: &'static str =
        r"package odd.places;

struct a_name_that_is_longer_than_one_hundred_and_twenty_seven_characters_so_that_its_length_does_not_fit_a_signed_char_of_lcm_gen_and_wraps {
    int8_t a_member_that_is_longer_than_one_hundred_and_twenty_seven_characters_so_that_its_length_does_not_fit_a_signed_char_of_lcm_gen_and_wraps;
    string _under[1];
}
";

    fn body_length(&self) -> usize {
        let mut length = 1;
        length += kadenz_msg::codec::length(&self._under);
        length
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.value(self.a_member_that_is_longer_than_one_hundred_and_twenty_seven_characters_so_that_its_length_does_not_fit_a_signed_char_of_lcm_gen_and_wraps)?;
        writer.list("_under", &self._under, &[])?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        self.a_member_that_is_longer_than_one_hundred_and_twenty_seven_characters_so_that_its_length_does_not_fit_a_signed_char_of_lcm_gen_and_wraps = reader.value("a_member_that_is_longer_than_one_hundred_and_twenty_seven_characters_so_that_its_length_does_not_fit_a_signed_char_of_lcm_gen_and_wraps")?;
        reader.list("_under", &mut self._under, &[], 0)?;
        Ok(())
    }
}

/// `odd.places.words`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Words {
    /// type of what
    pub r#type: i32,
    /// type of what
    pub r#match: i32,
    /// type of what
    pub r#fn: i32,
    /// `double[2][2] loop`
    pub r#loop: [[f64; 2]; 2],
    /// `string ref`
    pub r#ref: String,
    /// `odd.places.a_name_that_is_longer_than_one_hundred_and_twenty_seven_characters_so_that_its_length_does_not_fit_a_signed_char_of_lcm_gen_and_wraps inner`
    pub inner: ANameThatIsLongerThanOneHundredAndTwentySevenCharactersSoThatItsLengthDoesNotFitASignedCharOfLcmGenAndWraps,
}

impl Words {
    /// `const int32_t LEAST`
    pub const LEAST: i32 = -3;
}

impl kadenz_msg::message::Message for Words {
    const NAME: &'static str = "odd.places.words";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0x358ee97a94c81c6f);
    const DESCRIPTION: &'static str =
        r"package odd.places;

struct words {
    const int32_t LEAST = -3;
    // type of what
    int32_t type;
    // type of what
    int32_t match;
    // type of what
    int32_t fn;
    double loop[2][2];
    string ref;
    odd.places.a_name_that_is_longer_than_one_hundred_and_twenty_seven_characters_so_that_its_length_does_not_fit_a_signed_char_of_lcm_gen_and_wraps inner;
}

struct a_name_that_is_longer_than_one_hundred_and_twenty_seven_characters_so_that_its_length_does_not_fit_a_signed_char_of_lcm_gen_and_wraps {
    int8_t a_member_that_is_longer_than_one_hundred_and_twenty_seven_characters_so_that_its_length_does_not_fit_a_signed_char_of_lcm_gen_and_wraps;
    string _under[1];
}
";

    fn body_length(&self) -> usize {
        let mut length = 44;
        length += 5 + self.r#ref.len();
        length += kadenz_msg::message::Message::body_length(&self.inner);
        length
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.value(self.r#type)?;
        writer.value(self.r#match)?;
        writer.value(self.r#fn)?;
        writer.list("loop", &self.r#loop, &[])?;
        writer.string("ref", &self.r#ref)?;
        kadenz_msg::message::Message::encode_body(&self.inner, writer)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        self.r#type = reader.value("type")?;
        self.r#match = reader.value("match")?;
        self.r#fn = reader.value("fn")?;
        reader.list("loop", &mut self.r#loop, &[], 0)?;
        reader.string("ref", &mut self.r#ref)?;
        kadenz_msg::message::Message::decode_body(&mut self.inner, reader)?;
        Ok(())
    }
}
