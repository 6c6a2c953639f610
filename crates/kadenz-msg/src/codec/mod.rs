//! The encoding of messages: big-endian, in a caller's buffer.
//!
//! # Real-time safety
//! Only [`Reader::string`], [`Reader::vector`] and [`Reader::list`] allocate, and those only if their target
//! is too short.

mod element;
mod reader;
mod writer;

pub use element::{ArrayElement, DecodeResult, EncodeResult, Lengths, Primitive, Stated, length};
pub use reader::{DecodeError, Reader, View};
pub use writer::{EncodeError, Writer};

/// Distinguishes descriptions of messages: LCM's hash of the type, the first eight bytes of every encoded
/// message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// Returns the fingerprint with which an encoded message begins; `None` for fewer than eight bytes, which no LCM
    /// message has.
    #[must_use]
    pub fn of(payload: &[u8]) -> Option<Self> {
        payload
            .first_chunk()
            .map(|it| Self(u64::from_be_bytes(*it)))
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "0x{:016x}", self.0)
    }
}
