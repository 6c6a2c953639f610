//! Decoding bytes to a histogram.

use flate2::{Decompress, FlushDecompress, Status};

use super::header::{
    COMPRESSED_HEADER, CountsEncoding, DecodeError, Header, complete_length, header_length,
    is_compressed,
};
use crate::histogram::{Cell, Histogram, Layout, SparseHistogram};

/// The least room that a stream is given, whatever size it claims.
const ROOM: usize = 4096;

/// Decodes histograms of every version. Keeps its buffers, so that a log of many lines allocates them once. Trusts
/// no byte: invalid input is an error, and memory is bounded by the counters of the largest possible layout, about
/// 50 MB, and by a small multiple of the real unpacked size.
#[derive(Debug)]
pub struct Decoder {
    inflate: Decompress,
    /// The unpacked bytes, and room for more.
    plain: Vec<u8>,
    unpacked: usize,
    ended: bool,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder with empty buffers.
    #[must_use]
    pub fn new() -> Self {
        Self {
            inflate: Decompress::new(true),
            plain: Vec::new(),
            unpacked: 0,
            ended: false,
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

    /// Replaces the content of `into` with the histogram in `bytes`. For a caller that reads interval by interval,
    /// this is faster than a [`Histogram`], whose counters are mostly zero.
    ///
    /// # Errors
    /// As [`Decoder::decode`]; `into` is then empty.
    pub fn sparse_into(
        &mut self,
        bytes: &[u8],
        into: &mut SparseHistogram,
    ) -> Result<(), DecodeError> {
        into.clear();
        let (header, counts) = self.open(bytes)?;
        let room = into.room(header.layout, counts.len().min(header.layout.len()));
        let filled = fill(room, &header, counts);
        let (found, total) = *filled.as_ref().unwrap_or(&(0, 0));
        into.keep(found, total);
        filled.map(|_| ())
    }

    /// The largest value of the histogram in `bytes`, as [`Histogram::max`] would return it.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    pub fn max(&mut self, bytes: &[u8]) -> Result<u64, DecodeError> {
        let plain = self.unpack(bytes)?;
        if plain.is_empty() {
            return Ok(0);
        }
        let layout = plain.layout;
        Ok(layout.highest_equivalent(layout.lowest_at(plain.last)))
    }

    /// The checked counts of the histogram in `bytes`.
    fn unpack<'a>(&'a mut self, bytes: &'a [u8]) -> Result<Plain<'a>, DecodeError> {
        let (header, counts) = self.open(bytes)?;
        Plain::check(header.layout, header.counts, counts)
    }

    /// The header of the histogram in `bytes`, and its counts in encoded form.
    fn open<'a>(&'a mut self, bytes: &'a [u8]) -> Result<(Header, &'a [u8]), DecodeError> {
        let (header, plain) = if is_compressed(bytes)? {
            let header = self.inflate(bytes)?;
            (header, &self.plain[..self.unpacked])
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
        Ok((header, &plain[header.len..][..header.counts_len.min(have)]))
    }

    /// Unpacks the zlib stream up to the length that its header states.
    fn inflate(&mut self, bytes: &[u8]) -> Result<Header, DecodeError> {
        let need = complete_length(bytes)?;
        let stream = bytes
            .get(COMPRESSED_HEADER..need)
            .ok_or(DecodeError::TooShort {
                have: bytes.len(),
                need,
            })?;
        self.inflate.reset(true);
        self.unpacked = 0;
        self.ended = false;
        self.inflate_up_to(stream, 4)?;
        self.inflate_up_to(stream, header_length(&self.plain[..self.unpacked])?)?;
        let header = Header::parse(&self.plain[..self.unpacked])?;
        // One more byte lets the stream reach its end, where its checksum is.
        self.inflate_up_to(stream, header.len + header.counts_len + 1)?;
        Ok(header)
    }

    /// Unpacks until there are `want` bytes or the stream has ended.
    fn inflate_up_to(&mut self, stream: &[u8], want: usize) -> Result<(), DecodeError> {
        while self.unpacked < want && !self.ended {
            if self.plain.len() == self.unpacked {
                // Doubling from a small start: a claimed length alone takes no memory.
                self.plain.resize((self.unpacked * 2).max(ROOM), 0);
            }
            let (consumed, produced) = (self.inflate.total_in(), self.inflate.total_out());
            let rest = stream.get(consumed as usize..).unwrap_or_default();
            let end = self.plain.len().min(want.max(self.unpacked + ROOM));
            let room = &mut self.plain[self.unpacked..end];
            let status = self
                .inflate
                .decompress(rest, room, FlushDecompress::None)
                .map_err(|error| DecodeError::Zlib(error.to_string()))?;
            self.unpacked = self.inflate.total_out() as usize;
            self.ended = status == Status::StreamEnd;
            if !self.ended
                && (consumed, produced) == (self.inflate.total_in(), self.inflate.total_out())
            {
                return Err(DecodeError::Zlib("it ends too early".into()));
            }
        }
        Ok(())
    }
}

/// Counts that were iterated once and are valid.
struct Plain<'a> {
    layout: Layout,
    counts: CountsEncoding,
    bytes: &'a [u8],
    /// The indices of the first and the last count above zero; `first > last` if there is none.
    first: usize,
    last: usize,
    total: u64,
}

impl<'a> Plain<'a> {
    fn check(layout: Layout, counts: CountsEncoding, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut total = 0_u128;
        let (mut first, mut last) = (usize::MAX, 0);
        // No branch depends on the counts, here and below: they come in no order.
        walk(counts, bytes, |index, number| {
            total += u128::from(count(number));
            first = first.min(if number > 0 { index } else { usize::MAX });
            last = if number > 0 { index } else { last };
        })?;
        Ok(Self {
            layout,
            counts,
            bytes,
            first,
            last,
            total: checked(&layout, last, total)?,
        })
    }

    fn is_empty(&self) -> bool {
        self.first > self.last
    }

    fn add_to(&self, sum: &mut Histogram) {
        if self.is_empty() {
            return;
        }
        let counters = sum.counts_to_add(&self.layout, self.first, self.last, self.total);
        let added = if let Some(counters) = counters {
            walk(self.counts, self.bytes, |index, number| {
                // Beyond the last count there are at most zeros.
                if let Some(counter) = counters.get_mut(index) {
                    *counter = counter.saturating_add(count(number));
                }
            })
        } else {
            walk(self.counts, self.bytes, |index, number| {
                sum.add_from(&self.layout, index, count(number));
            })
        };
        debug_assert_eq!(added, Ok(()), "the counts were checked");
    }
}

/// Puts the counts above zero into `cells`, which has room for every counter that `counts` can name, and returns
/// how many there are and their sum.
fn fill(cells: &mut [Cell], header: &Header, counts: &[u8]) -> Result<(usize, u64), DecodeError> {
    let (mut found, mut total, mut last) = (0_usize, 0_u128, 0);
    walk(header.counts, counts, |index, number| {
        // Every number is written and only counts above zero advance the place: again no branch on a count.
        if let Some(cell) = cells.get_mut(found) {
            cell.index = index;
            cell.count = count(number);
        }
        total += u128::from(count(number));
        found += usize::from(number > 0);
        last = if number > 0 { index } else { last };
    })?;
    Ok((found, checked(&header.layout, last, total)?))
}

/// The total, if counts that end at index `last` can add up to it.
fn checked(layout: &Layout, last: usize, total: u128) -> Result<u64, DecodeError> {
    if last >= layout.len() {
        return Err(DecodeError::TooManyCounts(layout.len()));
    }
    let total = i64::try_from(total).map_err(|_| DecodeError::TotalTooLarge)?;
    Ok(total.unsigned_abs())
}

/// The count of a number: zero where the number stands for a run of zeros.
fn count(number: i64) -> u64 {
    number.max(0).unsigned_abs()
}

/// Calls `each` with every number and its index.
#[inline]
fn walk(
    counts: CountsEncoding,
    bytes: &[u8],
    each: impl FnMut(usize, i64),
) -> Result<(), DecodeError> {
    match counts {
        CountsEncoding::Numbers => walk_numbers(bytes, each),
        CountsEncoding::Words(size) => walk_words(size, bytes, each),
    }
}

#[inline]
fn walk_numbers(mut bytes: &[u8], mut each: impl FnMut(usize, i64)) -> Result<(), DecodeError> {
    let all = bytes.len();
    let mut index = 0_usize;
    while !bytes.is_empty() {
        let Some((number, rest)) = super::take(bytes) else {
            return Err(DecodeError::TooShort {
                have: all,
                need: all + 1,
            });
        };
        bytes = rest;
        // As in the original, no more zeros than its array could have.
        if number < -i64::from(i32::MAX) {
            return Err(DecodeError::Count(number));
        }
        each(index, number);
        let covered = if number < 0 { number.unsigned_abs() } else { 1 };
        index = index.saturating_add(covered as usize);
    }
    Ok(())
}

#[inline]
fn walk_words(
    size: usize,
    bytes: &[u8],
    mut each: impl FnMut(usize, i64),
) -> Result<(), DecodeError> {
    for (index, word) in bytes.chunks_exact(size).enumerate() {
        let mut wide = if word[0] < 0x80 { [0; 8] } else { [0xff; 8] };
        wide[8 - size..].copy_from_slice(word);
        let number = i64::from_be_bytes(wide);
        if number < 0 {
            return Err(DecodeError::Count(number));
        }
        each(index, number);
    }
    match bytes.len() % size {
        0 => Ok(()),
        odd => Err(DecodeError::TooShort {
            have: bytes.len(),
            need: bytes.len() + size - odd,
        }),
    }
}
