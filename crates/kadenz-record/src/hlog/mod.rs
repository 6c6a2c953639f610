//! Interval logs: one line an interval, each with a whole histogram in it.
//!
//! The format is HdrHistogram's interval log 1.3, as jHiccup writes it, so that existing tools can open the logs of
//! Kadenz, and Kadenz can open theirs.
//!
//! - [`writer`] appends lines; appended lines survive the death of the process.
//! - [`reader`] reads the logs of every version in the wild, whole or cut off.
//! - [`codec`] is the binary form of one histogram.
//!
//! ```text
//! #[Logged with jHiccup-compatible Kadenz 0.1.0]
//! #[Histogram log format version 1.3]
//! #[StartTime: 1441812279.474 (seconds since epoch), Wed Sep 09 15:24:39 UTC 2015]
//! #[BaseTime: 1441812279.474 (seconds since epoch)]
//! "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
//! 0.127,1.007,2.769,HISTFAAAAEV42pNpmSzMwMCgyAAB...
//! Tag=early,0.127,1.007,0.012,HISTFAAAAEJ42pNpmSzM...
//! ```

pub mod codec;
pub mod reader;
pub mod writer;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use reader::MalformedLine;

// Base64 as interval logs use it.

/// Writes padding; reads Base64 with or without it, as Java does.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Appends the bytes that `text` encodes.
fn decode(text: &[u8], bytes: &mut Vec<u8>) -> Result<(), MalformedLine> {
    BASE64
        .decode_vec(text, bytes)
        .map_err(|error| MalformedLine::Base64(error.to_string()))
}

/// How many bytes `text`, which has no padding, encodes.
fn decoded_length(text: &[u8]) -> usize {
    text.len() / 4 * 3 + text.len() % 4 * 3 / 4
}
