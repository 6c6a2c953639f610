//! The number and the time of a picture, painted into its luma.
//!
//! A [`Code`] is painted three times, at the top, in the middle and at the bottom, as black and white cells with a
//! finder mark in each corner. It survives H.264 and JPEG, scaling, cropped borders, and a camera that films the
//! screen it is shown on. [`Reader`] finds it again in any gray picture. Three codes that differ are a torn
//! picture: [`whole`] says so.
//!
//! ```text
//! 27 x 15 cells, one cell of white around:
//! #######           #######    #: finder marks, 7 x 7, ratio 1:1:3:1:1
//! #     #...........#     #    .: 11 x 15 cells of data, row by row, most significant bit first,
//! # ### #...........# ### #       a bit of 1 is black
//! ...
//! ```
//!
//! 20 bytes, big-endian, each combined by exclusive or with a byte of a fixed sequence, so that no part of the code
//! is all black or white: number (4), time (8), period (4), CRC-32 of the 16 before it (4).

mod find;
mod read;

#[cfg(test)]
mod tests;

pub use read::{DecodedCode, Gray, ReadError, Reader, whole};

use crate::picture::{PictureError, Size};

/// The content of a barcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code {
    /// Counts pictures; in a stream that repeats, counts those of one period.
    pub number: u32,
    /// When the picture is meant to be sent, on the monotonic clock of the machine that sends, in nanoseconds.
    pub time_ns: u64,
    /// The period of a stream that repeats itself, in microseconds; 0 otherwise. The picture was then meant to be sent
    /// at `time_ns` plus a whole number of periods.
    pub period_us: u32,
}

const COLUMNS: usize = 27;
const ROWS: usize = 15;
/// Cells of a finder mark's side.
const MARK: usize = 7;
/// The first column of data, and how many there are.
const DATA_COLUMN: usize = 8;
const DATA_COLUMNS: usize = 11;
const BYTES: usize = 20;

/// Luma of the cells: limited range's black and white, which full range shows as well.
const BLACK: u8 = 16;
const WHITE: u8 = 235;

impl Code {
    /// When the picture was meant to be sent, given that this was the last time before `seen_ns` that it was: the
    /// painted time, or the painted time and as many periods as have passed.
    #[must_use]
    pub fn sent_ns(&self, seen_ns: u64) -> u64 {
        let period_ns = u64::from(self.period_us) * 1000;
        let passed = seen_ns
            .saturating_sub(self.time_ns)
            .checked_div(period_ns)
            .unwrap_or(0);
        self.time_ns
            .saturating_add(passed.saturating_mul(period_ns))
    }

    fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&self.number.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.time_ns.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.period_us.to_be_bytes());
        let check = crc32fast::hash(&bytes[..16]);
        bytes[16..].copy_from_slice(&check.to_be_bytes());
        scramble(&mut bytes);
        bytes
    }

    /// `None` where the check is wrong.
    fn from_bytes(mut bytes: [u8; BYTES]) -> Option<Self> {
        scramble(&mut bytes);
        let word = |at: usize| u32::from_be_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        (crc32fast::hash(&bytes[..16]) == word(16)).then(|| Self {
            number: word(0),
            time_ns: u64::from(word(4)) << 32 | u64::from(word(8)),
            period_us: word(12),
        })
    }
}

/// A byte sequence without long runs of equal bits: Fibonacci hashing of the index.
fn scramble(bytes: &mut [u8; BYTES]) {
    for (byte, index) in bytes.iter_mut().zip(1_u32..) {
        *byte ^= index.wrapping_mul(0x9E37_79B9).to_be_bytes()[0];
    }
}

/// Whether a cell is black, by column and row.
fn is_black(bytes: &[u8; BYTES], column: usize, row: usize) -> bool {
    if (DATA_COLUMN..DATA_COLUMN + DATA_COLUMNS).contains(&column) {
        let bit = row * DATA_COLUMNS + column - DATA_COLUMN;
        return bytes
            .get(bit / 8)
            .is_some_and(|byte| byte >> (7 - bit % 8) & 1 == 1);
    }
    // Distance from the middle of the nearest mark.
    let from = |at: usize, cells: usize| {
        let near = at.min(cells - 1 - at);
        near.abs_diff(MARK / 2)
    };
    let ring = from(column, COLUMNS).max(from(row, ROWS));
    matches!(ring, 0 | 1 | 3)
}

/// Where codes are painted in pictures of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Painter {
    size: Size,
    /// Pixels of a cell's side.
    cell: usize,
}

impl Painter {
    /// The smallest picture that carries a code.
    pub const MIN: Size = Size {
        width: 64,
        height: 132,
    };

    /// A painter for pictures of a size.
    ///
    /// # Errors
    /// [`PictureError::Size`] below [`Self::MIN`].
    pub fn new(size: Size) -> Result<Self, PictureError> {
        let Size { width, height } = size;
        if width < Self::MIN.width || height < Self::MIN.height {
            return Err(PictureError::Size { width, height });
        }
        let cell = (height / 66).min(width / 31) as usize & !1;
        Ok(Self { size, cell })
    }

    /// Paints the code into a luma plane, three times.
    ///
    /// # Panics
    /// Where the plane is smaller than the painter's size.
    pub fn paint(&self, luma: &mut [u8], stride: usize, code: Code) {
        let bytes = code.to_bytes();
        for (left, top, across, down) in self.areas() {
            for y in 0..down {
                let row = &mut luma[(top + y) * stride + left..][..across];
                let cell = (y / self.cell).wrapping_sub(1);
                for (column, pixels) in row.chunks_exact_mut(self.cell).enumerate() {
                    let column = column.wrapping_sub(1);
                    let inside = column < COLUMNS && cell < ROWS;
                    let black = inside && is_black(&bytes, column, cell);
                    pixels.fill(if black { BLACK } else { WHITE });
                }
            }
        }
    }

    /// Removes the colour at the codes' places, in a chroma plane of 4:2:0.
    ///
    /// # Panics
    /// Where the plane is smaller than half the painter's size.
    pub fn clear_chroma(&self, plane: &mut [u8], stride: usize) {
        for (left, top, across, down) in self.areas() {
            let columns = left / 2..(left + across).div_ceil(2);
            for row in top / 2..(top + down).div_ceil(2) {
                plane[row * stride..][columns.clone()].fill(128);
            }
        }
    }

    /// Left, top, width and height of the three codes with the white around them.
    fn areas(&self) -> [(usize, usize, usize, usize); 3] {
        let (width, height) = (self.size.width as usize, self.size.height as usize);
        let across = (COLUMNS + 2) * self.cell;
        let down = (ROWS + 2) * self.cell;
        let left = (width - across) / 2;
        [1, 3, 5].map(|sixth| (left, height * sixth / 6 - down / 2, across, down))
    }
}
