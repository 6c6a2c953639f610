//! Rows of samples to rows of planes of red, green and blue, or of gray.
//!
//! With `E_Y`, `E_B`, `E_R` the codes less their offset, R = a E_Y + r E_R, G = a E_Y - (b E_B + c E_R),
//! B = a E_Y + d E_B. The luma coefficients `Kr` and `Kb` are those of ITU-R BT.601-7, section 2.5.1 (0.299, 0.114) and
//! ITU-R BT.709-6, item 3.2 (0.2126, 0.0722): r = 2 (1 - Kr), d = 2 (1 - Kb), b = d Kb / Kg, c = r Kr / Kg.
//! In limited range luma has 219 steps and chroma 224 (both standards' quantisation), in full range both have
//! 255, as JFIF has it.
//!
//! The arithmetic is 16-bit: every product is the upper half of a 16-by-16-bit multiplication, with 5 bits of fraction;
//! the sum is rounded once. The output is the same with every instruction set and differs by less than 1 from the
//! real-valued formula, and gray stays gray: without chroma, R = G = B = gray.
//!
//! `fearless_simd` compiles it to the instruction sets of the machine.

use fearless_simd::{Simd, i16x32, prelude::*, u8x32, u8x64, u16x32};

use super::vector;
use crate::picture::{Matrix, Pixels, Range};

/// Pixels that are converted at once.
pub(super) const BLOCK: usize = 64;
/// Chroma samples of a block, at most one for two pixels; or pixels with an even number.
pub(super) const HALF: usize = BLOCK / 2;
/// Bits of fraction of the sums.
const FRACTION: u32 = 5;

pub(super) type Block = [u8; BLOCK];
/// Half of a block's pixels: of each 16 the first 8, or the last.
type Lanes<S> = i16x32<S>;
/// Both halves of a block.
type Halves<S> = [Lanes<S>; 2];

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
    /// Whether the codes of luma are those of gray.
    #[inline(always)]
    pub(super) fn is_luma_gray(&self) -> bool {
        (self.luma, self.bias) == (1 << 14, 1 << (FRACTION - 1))
    }

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

/// The coefficients of a picture in every lane.
#[derive(Clone, Copy)]
pub(super) struct Factors<S: Simd> {
    luma: Lanes<S>,
    bias: Lanes<S>,
    red_of_v: Lanes<S>,
    green_of_u: Lanes<S>,
    green_of_v: Lanes<S>,
    blue_of_u: Lanes<S>,
}

impl<S: Simd> Factors<S> {
    #[inline(always)]
    pub(super) fn new(simd: S, of: &Coefficients) -> Self {
        Self {
            luma: i16x32::splat(simd, of.luma),
            bias: i16x32::splat(simd, of.bias),
            red_of_v: i16x32::splat(simd, of.red_of_v),
            green_of_u: i16x32::splat(simd, of.green_of_u),
            green_of_v: i16x32::splat(simd, of.green_of_v),
            blue_of_u: i16x32::splat(simd, of.blue_of_u),
        }
    }
}

/// The terms that chroma adds to each channel, in both halves of a block's pixels.
#[derive(Clone, Copy)]
pub(super) struct Terms<S: Simd> {
    pub(super) red: Halves<S>,
    pub(super) green: Halves<S>,
    pub(super) blue: Halves<S>,
}

impl<S: Simd> Terms<S> {
    /// Of no chroma.
    #[inline(always)]
    pub(super) fn none(simd: S) -> Self {
        let none = [i16x32::splat(simd, 0); 2];
        Self {
            red: none,
            green: none,
            blue: none,
        }
    }

    /// Of a sample of chroma for two pixels.
    #[inline(always)]
    pub(super) fn of_pairs(simd: S, u: &[u8; HALF], v: &[u8; HALF], by: &Factors<S>) -> Self {
        let widened = |bytes: &[u8; HALF]| -> Lanes<S> {
            let (low, high) = simd.widen_u8x32(u8x32::load_array_ref(simd, bytes));
            (simd.combine_u16x16(low, high) << 8).bitcast()
        };
        let [red, green, blue] = terms(simd, widened(u), widened(v), by);
        Self {
            red: doubled(simd, red),
            green: doubled(simd, green),
            blue: doubled(simd, blue),
        }
    }

    /// Of a sample for each.
    #[inline(always)]
    pub(super) fn of_each(simd: S, u: &Block, v: &Block, by: &Factors<S>) -> Self {
        let (u, v) = (halves(simd, u), halves(simd, v));
        let [red0, green0, blue0] = terms(simd, u[0], v[0], by);
        let [red1, green1, blue1] = terms(simd, u[1], v[1], by);
        Self {
            red: [red0, red1],
            green: [green0, green1],
            blue: [blue0, blue1],
        }
    }
}

/// Of codes of chroma times 2^8.
#[inline(always)]
fn terms<S: Simd>(simd: S, u: Lanes<S>, v: Lanes<S>, by: &Factors<S>) -> [Lanes<S>; 3] {
    // The code 128 is not a colour.
    let (u, v) = (u ^ i16::MIN, v ^ i16::MIN);
    [
        upper(simd, v, by.red_of_v),
        upper(simd, u, by.green_of_u) + upper(simd, v, by.green_of_v),
        upper(simd, u, by.blue_of_u),
    ]
}

#[inline(always)]
fn upper<S: Simd>(simd: S, a: Lanes<S>, b: Lanes<S>) -> Lanes<S> {
    vector::upper(simd, a.bitcast(), b.bitcast()).bitcast()
}

/// Each number twice.
#[inline(always)]
fn doubled<S: Simd>(simd: S, of: Lanes<S>) -> Halves<S> {
    let bytes = of.bitcast();
    [
        vector::low_pairs(simd, bytes, bytes).bitcast(),
        vector::high_pairs(simd, bytes, bytes).bitcast(),
    ]
}

/// The codes of a block times 2^8.
#[inline(always)]
fn halves<S: Simd>(simd: S, block: &Block) -> Halves<S> {
    let (zero, bytes) = (u8x64::splat(simd, 0), u8x64::load_array_ref(simd, block));
    [
        vector::low_bytes(simd, zero, bytes).bitcast(),
        vector::high_bytes(simd, zero, bytes).bitcast(),
    ]
}

/// Luma with 5 bits of fraction.
#[inline(always)]
pub(super) fn luma<S: Simd>(simd: S, block: &Block, by: &Factors<S>) -> Halves<S> {
    let [low, high] = halves(simd, block);
    let lanes = |codes: Lanes<S>| {
        let codes = codes.bitcast::<u16x32<S>>() >> 1;
        upper(simd, codes.bitcast(), by.luma) + by.bias
    };
    [lanes(low), lanes(high)]
}

/// A channel: luma and what chroma adds to it.
#[inline(always)]
pub(super) fn channel<S: Simd>(simd: S, luma: &Halves<S>, term: &Halves<S>, out: &mut Block) {
    let (low, high) = (luma[0] + term[0], luma[1] + term[1]);
    let (low, high) = (low >> FRACTION, high >> FRACTION);
    vector::packed(simd, low.bitcast(), high.bitcast()).store_array(out);
}

/// 0.299 R + 0.587 G + 0.114 B, rounded, with 16 bits of fraction.
#[inline(always)]
pub(super) fn luma_of([red, green, blue]: [u8; 3]) -> u8 {
    let (red, green, blue) = (u32::from(red), u32::from(green), u32::from(blue));
    ((19_595 * red + 38_470 * green + 7471 * blue + 32_768) >> 16) as u8
}
