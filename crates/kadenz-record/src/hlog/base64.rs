//! Base64 as interval logs use it.

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::reader::MalformedLine;

/// Writes padding; does not insist on it, as Java does not.
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Appends the bytes that `text` stands for.
pub(super) fn decode(text: &[u8], bytes: &mut Vec<u8>) -> Result<(), MalformedLine> {
    BASE64
        .decode_vec(text, bytes)
        .map_err(|error| MalformedLine::Base64(error.to_string()))
}

/// How many bytes `text` stands for, which has no padding.
pub(super) fn decoded_length(text: &[u8]) -> usize {
    text.len() / 4 * 3 + text.len() % 4 * 3 / 4
}
