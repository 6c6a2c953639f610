//! The header before the counts, and its errors.

use thiserror::Error;

use crate::histogram::{Layout, NewLayoutError};

/// The cookies, without the digit that holds the size of a word.
const PLAIN_V0: u32 = 0x1c84_9308;
const COMPRESSED_V0: u32 = 0x1c84_9309;
const PLAIN_V1: u32 = 0x1c84_9301;
const COMPRESSED_V1: u32 = 0x1c84_9302;
const PLAIN_V2: u32 = 0x1c84_9303;
const COMPRESSED_V2: u32 = 0x1c84_9304;
/// The digit of a cookie that holds the size of a word.
const WORD_SIZE_MASK: u32 = 0xf0;

/// The cookies that this crate writes: in V2 the digit is always 1.
pub(super) const WRITTEN_PLAIN: u32 = PLAIN_V2 | 0x10;
pub(super) const WRITTEN_COMPRESSED: u32 = COMPRESSED_V2 | 0x10;

/// Both forms of a Java `DoubleHistogram`.
const DOUBLE_PLAIN: u32 = 0x0c72_124e;
const DOUBLE_COMPRESSED: u32 = 0x0c72_124f;

/// Cookie and length, before a zlib stream.
pub(super) const COMPRESSED_HEADER: usize = 8;
const HEADER_V0: usize = 32;
const HEADER: usize = 40;

/// Why bytes are not a readable histogram.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DecodeError {
    /// The bytes end too early.
    #[error("the histogram ends after {have} of {need} bytes: it was cut off")]
    TooShort {
        /// Number of bytes that were given.
        have: usize,
        /// Number of bytes that are needed at least.
        need: usize,
    },
    /// The cookie is unknown.
    #[error("cookie {0:#010x} is not that of a histogram of version 0, 1 or 2")]
    NotAHistogram(u32),
    /// Another type of histogram.
    #[error(
        "it is a DoubleHistogram, whose values are fractions: record whole nanoseconds with a Histogram instead, or convert the log with the Java library"
    )]
    DoubleHistogram,
    /// The zlib stream is damaged.
    #[error("its zlib stream is damaged: {0}")]
    Zlib(String),
    /// The digits and the range make no valid layout.
    #[error("its layout is impossible: {0}")]
    Layout(#[from] NewLayoutError),
    /// Values stand for fractions.
    #[error(
        "its values are to be multiplied by {0}: only whole units, ratio 1, are supported; convert the log with the Java library"
    )]
    Ratio(f64),
    /// A word size that no version has.
    #[error("its counts are words of {0} bytes: they are 2, 4 or 8")]
    WordSize(u32),
    /// A normalizing offset outside the counters.
    #[error("its normalizing offset {0} lies outside its counters")]
    NormalizingOffset(i32),
    /// A count below zero, or more zeros than there are counters.
    #[error("it holds a count of {0}")]
    Count(i64),
    /// More counts than the layout has counters.
    #[error("it has counts beyond its {0} counters")]
    TooManyCounts(usize),
    /// The counts together do not fit 63 bits.
    #[error("its counts add up to more than 2^63")]
    TotalTooLarge,
}

/// The encoding of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountsEncoding {
    /// Words of so many bytes, V0 and V1.
    Words(usize),
    /// Numbers of variable length, V2.
    Numbers,
}

/// The header of the plain form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// Bytes of the header itself.
    pub(super) len: usize,
    pub(super) layout: Layout,
    pub(super) counts: CountsEncoding,
    /// Bytes of counts; the most there may be where the header does not state it.
    pub(super) counts_len: usize,
    /// Whether the header stated it.
    pub(super) counts_len_known: bool,
}

/// The form that a cookie announces.
enum Form {
    Compressed,
    PlainV0,
    Plain(u32),
}

fn form(cookie: u32) -> Result<Form, DecodeError> {
    match cookie & !WORD_SIZE_MASK {
        COMPRESSED_V0 | COMPRESSED_V1 | COMPRESSED_V2 => Ok(Form::Compressed),
        PLAIN_V0 => Ok(Form::PlainV0),
        base @ (PLAIN_V1 | PLAIN_V2) => Ok(Form::Plain(base)),
        _ if matches!(cookie, DOUBLE_PLAIN | DOUBLE_COMPRESSED) => {
            Err(DecodeError::DoubleHistogram)
        }
        _ => Err(DecodeError::NotAHistogram(cookie)),
    }
}

/// The length of a histogram that begins with `start`, as far as its first 8 bytes, which are required, state it.
pub(in crate::hlog) fn complete_length(start: &[u8]) -> Result<usize, DecodeError> {
    let mut fields = BigEndianReader(start);
    let form = form(fields.u32()?)?;
    let announced =
        || usize::try_from(BigEndianReader(&start[4..]).u32()?).map_err(|_| too_large());
    Ok(match form {
        Form::Compressed => announced()?.saturating_add(COMPRESSED_HEADER),
        Form::Plain(_) => announced()?.saturating_add(HEADER),
        Form::PlainV0 => HEADER_V0,
    })
}

fn too_large() -> DecodeError {
    DecodeError::TooShort {
        have: 0,
        need: usize::MAX,
    }
}

/// Whether `bytes` begin with a compressed form.
pub(super) fn is_compressed(bytes: &[u8]) -> Result<bool, DecodeError> {
    Ok(matches!(
        form(BigEndianReader(bytes).u32()?)?,
        Form::Compressed
    ))
}

/// How many bytes of the plain form that begins with `start` are its header; needs 4 of them.
pub(super) fn header_length(start: &[u8]) -> Result<usize, DecodeError> {
    let cookie = BigEndianReader(start).u32()?;
    match form(cookie)? {
        Form::PlainV0 => Ok(HEADER_V0),
        Form::Plain(_) => Ok(HEADER),
        Form::Compressed => Err(DecodeError::NotAHistogram(cookie)),
    }
}

impl Header {
    /// Reads the header of the plain form.
    pub(super) fn parse(plain: &[u8]) -> Result<Self, DecodeError> {
        let len = header_length(plain)?;
        if plain.len() < len {
            return Err(DecodeError::TooShort {
                have: plain.len(),
                need: len,
            });
        }
        let mut fields = BigEndianReader(plain);
        let cookie = fields.u32()?;
        let known = if let Form::Plain(_) = form(cookie)? {
            Some((fields.u32()?, fields.u32()?.cast_signed()))
        } else {
            None
        };
        let digits = u8::try_from(fields.u32()?).unwrap_or(u8::MAX);
        // Rust's hdrhistogram also writes ranges up to 2^64 - 1; Java has no values above 2^63 - 1.
        let (lowest, highest) = (fields.u64()?, fields.u64()?.min(i64::MAX.unsigned_abs()));
        let layout = Layout::new(lowest, highest, digits)?;
        let last = fields.u64()?;
        let counts = match form(cookie)? {
            Form::Plain(PLAIN_V2) => CountsEncoding::Numbers,
            _ => CountsEncoding::Words(word_size(cookie)?),
        };
        let most = layout.len() * counts.most_bytes();
        let Some((counts_len, offset)) = known else {
            // `last` is V0's total count, which follows from the counts themselves, too.
            return Ok(Self {
                len,
                layout,
                counts,
                counts_len: most,
                counts_len_known: false,
            });
        };
        check_ratio(last)?;
        if offset.unsigned_abs() as usize > layout.len() {
            return Err(DecodeError::NormalizingOffset(offset));
        }
        let counts_len = counts_len as usize;
        if counts_len > most {
            return Err(DecodeError::TooManyCounts(layout.len()));
        }
        Ok(Self {
            len,
            layout,
            counts,
            counts_len,
            counts_len_known: true,
        })
    }
}

impl CountsEncoding {
    /// The most bytes one count takes.
    fn most_bytes(self) -> usize {
        match self {
            Self::Words(size) => size,
            Self::Numbers => super::MAX_BYTES,
        }
    }
}

/// V0 and V1 hold the size of a word in the cookie; the lowest bit of that digit has no meaning any more.
fn word_size(cookie: u32) -> Result<usize, DecodeError> {
    match (cookie & WORD_SIZE_MASK) >> 4 & !1 {
        size @ (2 | 4 | 8) => Ok(size as usize),
        size => Err(DecodeError::WordSize(size)),
    }
}

/// Checks the ratio, a double. Some writers leave it out, and some write the integer 1.
fn check_ratio(bits: u64) -> Result<(), DecodeError> {
    match f64::from_bits(bits) {
        1.0 => Ok(()),
        _ if bits <= 1 => Ok(()),
        ratio => Err(DecodeError::Ratio(ratio)),
    }
}

/// Reads big-endian numbers from the front of a slice.
struct BigEndianReader<'a>(&'a [u8]);

impl BigEndianReader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let short = DecodeError::TooShort {
            have: self.0.len(),
            need: N,
        };
        let (field, rest) = self.0.split_first_chunk().ok_or(short)?;
        self.0 = rest;
        Ok(*field)
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, DecodeError> {
        self.take().map(u64::from_be_bytes)
    }
}
