//! Rows of samples to rows of planes of red, green and blue, or of gray.
//!
//! With `E_Y`, `E_B`, `E_R` the codes less their offset, R = a E_Y + r E_R, G = a E_Y - (b E_B + c E_R),
//! B = a E_Y + d E_B. The luma coefficients `Kr` and `Kb` are those of ITU-R BT.601-7, section 2.5.1 (0.299, 0.114) and
//! ITU-R BT.709-6, item 3.2 (0.2126, 0.0722): r = 2 (1 - Kr), d = 2 (1 - Kb), b = d Kb / Kg, c = r Kr / Kg.
//! In limited range luma has 219 steps and chroma 224 (both standards' quantisation), in full range both have
//! 255, as JFIF has it.
//!
//! The arithmetic is 16-bit: every product is the upper half of a 16-by-16-bit multiplication, with 5 bits of
//! fraction; the sum is rounded once. What comes out is the same whatever instructions compute it, differs by less than 1
//! from the real-valued formula, and gray goes in as gray comes out: without chroma, R = G = B = gray.
//!
//! The code is plain loops over arrays of [`BLOCK`] pixels. It has no instructions of its own: compiled
//! within `Simd::vectorize`, the compiler makes vectors of it.

use crate::picture::{Matrix, Pixels, Range};

/// Pixels that are converted at once.
pub(super) const BLOCK: usize = 64;
/// Chroma samples of a block, at most one for two pixels; or pixels with an even number.
pub(super) const HALF: usize = BLOCK / 2;
/// Bits of fraction of the sums.
const FRACTION: i32 = 5;

pub(super) type Block = [u8; BLOCK];
pub(super) type Lanes = [i16; HALF];

/// The factors of a matrix and a range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coefficients {
    /// Of luma, times 2^14.
    luma: i16,
    /// The offset of black and a half, for rounding, times 2^5.
    bias: i16,
    /// Times 2^13, as the others.
    red_of_v: i16,
    green_of_u: i16,
    green_of_v: i16,
    blue_of_u: i16,
}

impl Coefficients {
    /// From the standards' formulas.
    pub(super) fn new(matrix: Matrix, range: Range) -> Self {
        let (kr, kb) = match matrix {
            Matrix::Bt601 => (0.299, 0.114),
            Matrix::Bt709 => (0.2126, 0.0722),
        };
        let (black, luma, chroma) = match range {
            Range::Limited => (16.0, 255.0 / 219.0, 255.0 / 224.0),
            Range::Full => (0.0, 1.0, 1.0),
        };
        let kg: f64 = 1.0 - kr - kb;
        let (red, blue) = (2.0 * (1.0 - kr) * chroma, 2.0 * (1.0 - kb) * chroma);
        // A product is rounded down, by half a step of its fraction in the mean unless it is exact.
        let lost = if luma == 1.0 { 0.0 } else { 0.5 };
        let one = f64::from(1 << FRACTION);
        let fixed = |value: f64, one: f64| (value * one).round() as i16;
        Self {
            luma: fixed(luma, 16_384.0),
            bias: fixed(one / 2.0 + lost - black * luma * one, 1.0),
            red_of_v: fixed(red, 8192.0),
            green_of_u: fixed(-blue * kb / kg, 8192.0),
            green_of_v: fixed(-red * kr / kg, 8192.0),
            blue_of_u: fixed(blue, 8192.0),
        }
    }

    /// Those of a picture.
    pub(super) fn of(pixels: &Pixels<'_>) -> Self {
        match *pixels {
            Pixels::Gray { range, .. } => Self::new(Matrix::Bt601, range),
            Pixels::Yuv { matrix, range, .. } | Pixels::Yuyv { matrix, range, .. } => {
                Self::new(matrix, range)
            }
            Pixels::Rgb(_) => Self::new(Matrix::Bt601, Range::Full),
        }
    }
}

/// The upper half of a product.
#[inline(always)]
fn upper(a: i16, b: i16) -> i16 {
    ((i32::from(a) * i32::from(b)) >> 16) as i16
}

/// What chroma adds to each channel.
pub(super) struct Terms {
    pub(super) red: Lanes,
    pub(super) green: Lanes,
    pub(super) blue: Lanes,
}

impl Terms {
    pub(super) const NONE: Self = Self {
        red: [0; HALF],
        green: [0; HALF],
        blue: [0; HALF],
    };

    /// Chroma samples in the low bytes of `u` and `v`.
    #[inline(always)]
    pub(super) fn set(&mut self, u: &[u16; HALF], v: &[u16; HALF], by: &Coefficients) {
        for i in 0..HALF {
            // 128 is no colour: the code less 128, times 2^8.
            let u = ((u[i] << 8) ^ 0x8000) as i16;
            let v = ((v[i] << 8) ^ 0x8000) as i16;
            self.red[i] = upper(v, by.red_of_v);
            self.green[i] = upper(u, by.green_of_u) + upper(v, by.green_of_v);
            self.blue[i] = upper(u, by.blue_of_u);
        }
    }
}

/// A sum, rounded.
#[inline(always)]
fn code(sum: i16) -> u16 {
    (sum >> FRACTION).clamp(0, 255) as u16
}

/// A channel of the pixels with an even number, of `even`, and of those with an odd one, of `odd`.
#[inline(always)]
pub(super) fn channel(luma: &[Lanes; 2], even: &Lanes, odd: &Lanes) -> Block {
    let mut out = [0; BLOCK];
    for (i, out) in out.as_chunks_mut().0.iter_mut().enumerate() {
        let pair = code(luma[0][i] + even[i]) | (code(luma[1][i] + odd[i]) << 8);
        *out = pair.to_le_bytes();
    }
    out
}

/// Bytes of a block with an even number, and those with an odd one.
#[inline(always)]
pub(super) fn halves(block: &Block) -> [[u16; HALF]; 2] {
    let (mut even, mut odd) = ([0; HALF], [0; HALF]);
    for (i, [first, second]) in block.as_chunks().0.iter().enumerate() {
        let pair = u16::from_le_bytes([*first, *second]);
        (even[i], odd[i]) = (pair & 0xff, pair >> 8);
    }
    [even, odd]
}

/// Bytes as numbers.
#[inline(always)]
pub(super) fn widened(bytes: &[u8; HALF]) -> [u16; HALF] {
    let mut wide = [0; HALF];
    for (wide, byte) in wide.iter_mut().zip(bytes) {
        *wide = u16::from(*byte);
    }
    wide
}

/// Luma with 5 bits of fraction, of the pixels with an even and an odd number.
#[inline(always)]
pub(super) fn luma_lanes(block: &Block, by: &Coefficients) -> [Lanes; 2] {
    let mut lanes = [[0; HALF]; 2];
    for (lanes, codes) in lanes.iter_mut().zip(halves(block)) {
        for (lane, code) in lanes.iter_mut().zip(codes) {
            *lane = upper((code << 7) as i16, by.luma) + by.bias;
        }
    }
    lanes
}

/// 0.299 R + 0.587 G + 0.114 B, rounded, with 16 bits of fraction.
#[inline(always)]
pub(super) fn luma_of([red, green, blue]: [u8; 3]) -> u8 {
    let (red, green, blue) = (u32::from(red), u32::from(green), u32::from(blue));
    ((19_595 * red + 38_470 * green + 7471 * blue + 32_768) >> 16) as u8
}
