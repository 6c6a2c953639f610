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
//! `fearless_simd` makes instructions of it, for whatever the machine has. Every second pixel of a block is computed at
//! once, then the others: that needs no shuffles where two have their chroma in common.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_mulhi_epi16, _mm256_mulhi_epi16, _mm512_mulhi_epi16,
};

#[cfg(target_arch = "x86_64")]
use fearless_simd::Level;
use fearless_simd::{Simd, i16x8, i16x16, i16x32, prelude::*, u8x32, u8x64, u16x32};

use crate::picture::{Matrix, Pixels, Range};

/// Pixels that are converted at once.
pub(super) const BLOCK: usize = 64;
/// Chroma samples of a block, at most one for two pixels; or pixels with an even number.
pub(super) const HALF: usize = BLOCK / 2;
/// Bits of fraction of the sums.
const FRACTION: u32 = 5;

pub(super) type Block = [u8; BLOCK];
/// Sums of every second pixel of a block, or of every sample of its chroma.
type Lanes<S> = i16x32<S>;
/// The same of bytes.
pub(super) type Codes<S> = u16x32<S>;

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

/// What chroma adds to each channel.
#[derive(Clone, Copy)]
pub(super) struct Terms<S: Simd> {
    pub(super) red: Lanes<S>,
    pub(super) green: Lanes<S>,
    pub(super) blue: Lanes<S>,
}

impl<S: Simd> Terms<S> {
    /// Of no chroma.
    #[inline(always)]
    pub(super) fn none(simd: S) -> Self {
        let none = i16x32::splat(simd, 0);
        Self {
            red: none,
            green: none,
            blue: none,
        }
    }

    /// Of samples of chroma.
    #[inline(always)]
    pub(super) fn new(simd: S, u: Codes<S>, v: Codes<S>, by: &Factors<S>) -> Self {
        // 128 is no colour: the code less 128, times 2^8.
        let u = ((u << 8) ^ 0x8000).bitcast();
        let v = ((v << 8) ^ 0x8000).bitcast();
        Self {
            red: upper(simd, v, by.red_of_v),
            green: upper(simd, u, by.green_of_u) + upper(simd, v, by.green_of_v),
            blue: upper(simd, u, by.blue_of_u),
        }
    }
}

/// Luma with 5 bits of fraction, of the pixels with an even and an odd number.
#[inline(always)]
pub(super) fn luma<S: Simd>(simd: S, block: &Block, by: &Factors<S>) -> [Lanes<S>; 2] {
    let [even, odd] = halves(simd, block);
    [
        upper(simd, (even << 7).bitcast(), by.luma) + by.bias,
        upper(simd, (odd << 7).bitcast(), by.luma) + by.bias,
    ]
}

/// A channel of the pixels with an even number, of `even`, and of those with an odd one, of `odd`.
#[inline(always)]
pub(super) fn channel<S: Simd>(
    simd: S,
    luma: &[Lanes<S>; 2],
    even: Lanes<S>,
    odd: Lanes<S>,
    out: &mut Block,
) {
    let (black, white) = (i16x32::splat(simd, 0), i16x32::splat(simd, 255));
    let even = ((luma[0] + even) >> FRACTION).max(black).min(white);
    let odd = ((luma[1] + odd) >> FRACTION).max(black).min(white);
    let pixels: u8x64<S> = (even | (odd << 8)).bitcast();
    pixels.store_array(out);
}

/// Bytes of a block with an even number, and those with an odd one.
#[inline(always)]
pub(super) fn halves<S: Simd>(simd: S, block: &Block) -> [Codes<S>; 2] {
    let pairs: Codes<S> = u8x64::load_array_ref(simd, block).bitcast();
    [pairs & 0xff, pairs >> 8]
}

/// Bytes as numbers.
#[inline(always)]
pub(super) fn widened<S: Simd>(simd: S, bytes: &[u8; HALF]) -> Codes<S> {
    let (low, high) = simd.widen_u8x32(u8x32::load_array_ref(simd, bytes));
    simd.combine_u16x16(low, high)
}

/// The upper halves of products.
#[inline(always)]
fn upper<S: Simd>(simd: S, a: Lanes<S>, b: Lanes<S>) -> Lanes<S> {
    #[cfg(target_arch = "x86_64")]
    if let Level::Avx512(avx512) = simd.level() {
        return upper_avx512(avx512, a.into(), b.into()).simd_into(simd);
    }
    let ((a0, a1), (b0, b1)) = (simd.split_i16x32(a), simd.split_i16x32(b));
    #[cfg(target_arch = "x86_64")]
    if let Level::Avx2(avx2) = simd.level() {
        let low = upper_avx2(avx2, a0.into(), b0.into()).simd_into(simd);
        let high = upper_avx2(avx2, a1.into(), b1.into()).simd_into(simd);
        return simd.combine_i16x16(low, high);
    }
    simd.combine_i16x16(upper_of_16(simd, a0, b0), upper_of_16(simd, a1, b1))
}

#[inline(always)]
fn upper_of_16<S: Simd>(simd: S, a: i16x16<S>, b: i16x16<S>) -> i16x16<S> {
    let ((a0, a1), (b0, b1)) = (simd.split_i16x16(a), simd.split_i16x16(b));
    #[cfg(target_arch = "x86_64")]
    if let Some(sse2) = simd.level().as_sse2() {
        let low = upper_sse2(sse2, a0.into(), b0.into()).simd_into(simd);
        let high = upper_sse2(sse2, a1.into(), b1.into()).simd_into(simd);
        return simd.combine_i16x8(low, high);
    }
    let of_8 = |a: i16x8<S>, b: i16x8<S>| {
        let (low, high) = simd.widening_mul_i16x8(a, b);
        simd.narrow_i32x4(low >> 16, high >> 16)
    };
    simd.combine_i16x8(of_8(a0, b0), of_8(a1, b1))
}

fearless_simd::kernel!(
    #[inline]
    fn upper_avx512(avx512: Avx512, a: __m512i, b: __m512i) -> __m512i {
        let _ = avx512;
        _mm512_mulhi_epi16(a, b)
    }
);
fearless_simd::kernel!(
    #[inline]
    fn upper_avx2(avx2: Avx2, a: __m256i, b: __m256i) -> __m256i {
        let _ = avx2;
        _mm256_mulhi_epi16(a, b)
    }
);
fearless_simd::kernel!(
    #[inline]
    fn upper_sse2(sse2: Sse2, a: __m128i, b: __m128i) -> __m128i {
        let _ = sse2;
        _mm_mulhi_epi16(a, b)
    }
);

/// 0.299 R + 0.587 G + 0.114 B, rounded, with 16 bits of fraction.
#[inline(always)]
pub(super) fn luma_of([red, green, blue]: [u8; 3]) -> u8 {
    let (red, green, blue) = (u32::from(red), u32::from(green), u32::from(blue));
    ((19_595 * red + 38_470 * green + 7471 * blue + 32_768) >> 16) as u8
}
