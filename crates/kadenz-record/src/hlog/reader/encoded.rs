//! The histogram of a line, not yet decoded.

use std::cell::RefCell;

use super::{MalformedLine, ReadLogError};
use crate::histogram::{Histogram, SparseHistogram};
use crate::hlog::codec::Decoder;

/// The histogram of an interval in its encoded form. Every method decodes again, in a few microseconds; each thread
/// keeps its buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    text: Vec<u8>,
    line: u64,
}

/// How the Base64 of a compressed V2 histogram begins: its cookie, 0x1c849314, and the first four
/// bits of its length, which are zero.
const WRITTEN_COOKIE: &str = "HISTFA";

#[derive(Default)]
struct Buffers {
    bytes: Vec<u8>,
    decoder: Decoder,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

impl Encoded {
    pub(super) fn new(text: Vec<u8>, line: u64) -> Self {
        Self { text, line }
    }

    /// The line of the log that it is on; the first is 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// How many bytes of Base64 it takes in the log.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        self.text.len()
    }

    /// The largest value, as [`Histogram::max`] returns it; the log's own column for it is not trusted.
    ///
    /// # Errors
    /// When the payload is damaged or of a kind that is not supported.
    pub fn max_ns(&self) -> Result<u64, ReadLogError> {
        self.with(|bytes, decoder| Ok(decoder.max(bytes)?))
    }

    /// The histogram, in the layout it was recorded in.
    ///
    /// # Errors
    /// As [`Encoded::max_ns`].
    pub fn decode(&self) -> Result<Histogram, ReadLogError> {
        self.with(|bytes, decoder| Ok(decoder.decode(bytes)?))
    }

    /// As [`Encoded::decode`] into a histogram whose memory is used again where it fits.
    ///
    /// # Errors
    /// As [`Encoded::max_ns`]; `into` is then as it was.
    pub fn decode_into(&self, into: &mut Histogram) -> Result<(), ReadLogError> {
        self.with(|bytes, decoder| Ok(decoder.decode_into(bytes, into)?))
    }

    /// Adds the histogram to `sum`, by the rule of [`Histogram::add`]; faster than decoding it
    /// first.
    ///
    /// # Errors
    /// As [`Encoded::max_ns`]; `sum` is then as it was.
    pub fn add_to(&self, sum: &mut Histogram) -> Result<(), ReadLogError> {
        self.with(|bytes, decoder| Ok(decoder.add_to(bytes, sum)?))
    }

    /// Replaces the content of `into` with the histogram; the fastest way for a caller that reads interval by
    /// interval.
    ///
    /// # Errors
    /// As [`Encoded::max_ns`]; `into` is then empty.
    pub fn sparse_into(&self, into: &mut SparseHistogram) -> Result<(), ReadLogError> {
        into.clear();
        self.with(|bytes, decoder| Ok(decoder.sparse_into(bytes, into)?))
    }

    /// The payload, if it is of the form that Kadenz itself writes.
    pub(crate) fn as_written(&self) -> Option<&str> {
        let written = self.text.starts_with(WRITTEN_COOKIE.as_bytes());
        written.then(|| str::from_utf8(&self.text).ok()).flatten()
    }

    fn with<T>(
        &self,
        decode: impl FnOnce(&[u8], &mut Decoder) -> Result<T, MalformedLine>,
    ) -> Result<T, ReadLogError> {
        BUFFERS
            .with_borrow_mut(|Buffers { bytes, decoder }| {
                bytes.clear();
                super::super::decode(&self.text, bytes)?;
                decode(bytes, decoder)
            })
            .map_err(|cause| ReadLogError::Malformed {
                line: self.line,
                cause,
            })
    }
}
