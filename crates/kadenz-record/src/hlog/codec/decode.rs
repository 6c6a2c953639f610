//! Bytes to histogram.

use flate2::{Decompress, FlushDecompress, Status};

use super::{
    header::{
        COMPRESSED_HEADER, Counts, DecodeError, Header, complete_length, header_length,
        is_compressed,
    },
    number,
};
use crate::histogram::{Histogram, Layout};

/// How much more room a stream is given at least, whatever it claims to need.
const ROOM: usize = 4096;

/// Decodes histograms of every version. Keeps its buffers, so that a log of many lines allocates
/// them once. Trusts no byte: bad input is an error, and memory is bounded by the counters of the
/// largest layout there is, about 50 MB, and by a small multiple of what the input really unpacks
/// to.
#[derive(Debug)]
pub struct Decoder {
    inflate: Decompress,
    plain: Vec<u8>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder.
    #[must_use]
    pub fn new() -> Self {
        Self {
            inflate: Decompress::new(true),
            plain: Vec::new(),
        }
    }

    /// The histogram in `bytes`, in its own layout.
    ///
    /// # Errors
    /// When `bytes` are not a whole histogram of whole units.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<Histogram, DecodeError> {
        let plain = self.unpack(bytes)?;
        let mut histogram = Histogram::with_layout(plain.layout);
        plain.add_to(&mut histogram);
        Ok(histogram)
    }

    /// As [`Decoder::decode`] into a histogram whose memory is used again where it fits.
    ///
    /// # Errors
    /// As [`Decoder::decode`]; `into` is then as it was.
    pub fn decode_into(&mut self, bytes: &[u8], into: &mut Histogram) -> Result<(), DecodeError> {
        let plain = self.unpack(bytes)?;
        into.reset_to(plain.layout);
        plain.add_to(into);
        Ok(())
    }

    /// Adds the histogram in `bytes` to `sum`, straight from the bytes and by the rule of
    /// [`Histogram::add`].
    ///
    /// # Errors
    /// As [`Decoder::decode`]; `sum` is then as it was.
    pub fn add_to(&mut self, bytes: &[u8], sum: &mut Histogram) -> Result<(), DecodeError> {
        self.unpack(bytes)?.add_to(sum);
        Ok(())
    }

    /// The largest value of the histogram in `bytes`, as [`Histogram::max`] would tell it.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    pub fn max(&mut self, bytes: &[u8]) -> Result<u64, DecodeError> {
        let plain = self.unpack(bytes)?;
        let layout = plain.layout;
        Ok(plain.last.map_or(0, |index| {
            layout.highest_equivalent(layout.lowest_at(index))
        }))
    }

    /// The checked counts of the histogram in `bytes`.
    fn unpack<'a>(&'a mut self, bytes: &'a [u8]) -> Result<Plain<'a>, DecodeError> {
        let (header, plain) = if is_compressed(bytes)? {
            let header = self.inflate(bytes)?;
            (header, &self.plain[..])
        } else {
            (Header::parse(bytes)?, bytes)
        };
        let have = plain.len() - header.len;
        if header.counts_len_known && have < header.counts_len {
            let need = header.len + header.counts_len;
            return Err(DecodeError::TooShort {
                have: plain.len(),
                need,
            });
        }
        let counts = &plain[header.len..][..header.counts_len.min(have)];
        Plain::check(header.layout, header.counts, counts)
    }

    /// Unpacks the zlib stream as far as the header in it says that it should go.
    fn inflate(&mut self, bytes: &[u8]) -> Result<Header, DecodeError> {
        let need = complete_length(bytes)?;
        let stream = bytes
            .get(COMPRESSED_HEADER..need)
            .ok_or(DecodeError::TooShort {
                have: bytes.len(),
                need,
            })?;
        self.inflate.reset(true);
        self.plain.clear();
        self.inflate_up_to(stream, 4)?;
        self.inflate_up_to(stream, header_length(&self.plain)?)?;
        let header = Header::parse(&self.plain)?;
        // A byte more lets the stream come to its end, where its checksum is.
        self.inflate_up_to(stream, header.len + header.counts_len + 1)?;
        Ok(header)
    }

    /// Unpacks until there are `want` bytes or the stream has ended.
    fn inflate_up_to(&mut self, stream: &[u8], want: usize) -> Result<(), DecodeError> {
        while self.plain.len() < want {
            // Doubling from a small start: a claim alone takes no memory.
            let room = (want - self.plain.len()).min(self.plain.len()).max(ROOM);
            self.plain.reserve(room);
            let (consumed, unpacked) = (self.inflate.total_in(), self.plain.len());
            let status = self
                .inflate
                .decompress_vec(
                    stream.get(consumed as usize..).unwrap_or_default(),
                    &mut self.plain,
                    FlushDecompress::None,
                )
                .map_err(|error| DecodeError::Zlib(error.to_string()))?;
            let stuck = self.inflate.total_in() == consumed && self.plain.len() == unpacked;
            match status {
                Status::StreamEnd => break,
                Status::Ok | Status::BufError if stuck => {
                    return Err(DecodeError::Zlib("it ends too early".into()));
                }
                Status::Ok | Status::BufError => {}
            }
        }
        Ok(())
    }
}

/// Counts that were walked over once and are known to be sound.
struct Plain<'a> {
    layout: Layout,
    counts: Counts,
    bytes: &'a [u8],
    /// Where the last count above zero is.
    last: Option<usize>,
}

impl<'a> Plain<'a> {
    fn check(layout: Layout, counts: Counts, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut total = 0_u64;
        let mut last = None;
        walk(counts, bytes, |index, count| {
            if index >= layout.len() {
                return Err(DecodeError::TooManyCounts(layout.len()));
            }
            last = Some(index);
            total += count;
            if i64::try_from(total).is_ok() {
                Ok(())
            } else {
                Err(DecodeError::TotalTooLarge)
            }
        })?;
        Ok(Self {
            layout,
            counts,
            bytes,
            last,
        })
    }

    fn add_to(&self, sum: &mut Histogram) {
        let added = walk(self.counts, self.bytes, |index, count| {
            sum.add_from(&self.layout, index, count);
            Ok(())
        });
        debug_assert_eq!(added, Ok(()), "the counts were checked");
    }
}

/// Calls `found` with index and count of every count above zero.
#[inline]
fn walk(
    counts: Counts,
    bytes: &[u8],
    found: impl FnMut(usize, u64) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    match counts {
        Counts::Numbers => walk_numbers(bytes, found),
        Counts::Words(size) => walk_words(size, bytes, found),
    }
}

#[inline]
fn walk_numbers(
    mut bytes: &[u8],
    mut found: impl FnMut(usize, u64) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let all = bytes.len();
    let mut index = 0_usize;
    while !bytes.is_empty() {
        let number = number::take(&mut bytes).ok_or(DecodeError::TooShort {
            have: all,
            need: all + 1,
        })?;
        match number {
            0 => index += 1,
            1.. => {
                found(index, number.unsigned_abs())?;
                index += 1;
            }
            // As the original, no more zeros than its array could have.
            zeros if zeros < -i64::from(i32::MAX) => return Err(DecodeError::Count(zeros)),
            zeros => index = index.saturating_add(zeros.unsigned_abs() as usize),
        }
    }
    Ok(())
}

#[inline]
fn walk_words(
    size: usize,
    bytes: &[u8],
    mut found: impl FnMut(usize, u64) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    for (index, word) in bytes.chunks_exact(size).enumerate() {
        let mut wide = if word[0] < 0x80 { [0; 8] } else { [0xff; 8] };
        wide[8 - size..].copy_from_slice(word);
        match i64::from_be_bytes(wide) {
            0 => {}
            count @ 1.. => found(index, count.unsigned_abs())?,
            count => return Err(DecodeError::Count(count)),
        }
    }
    match bytes.len() % size {
        0 => Ok(()),
        odd => Err(DecodeError::TooShort {
            have: bytes.len(),
            need: bytes.len() + size - odd,
        }),
    }
}
