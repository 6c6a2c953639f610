//! Operations on 64 bytes that `fearless_simd` lacks: all work within each 16 bytes, as x86's do, so that two
//! operations that undo each other keep the order.

#[cfg(target_arch = "x86_64")]
use fearless_simd::Level;
use fearless_simd::{Simd, i16x8, prelude::*, u8x16, u8x64};

/// An operation by the instructions of AVX-512, AVX2 and SSE2, and by a function for all others.
macro_rules! within_16 {
    ($(#[$doc:meta])* $name:ident, $kernels:ident: $of_64:ident, $of_32:ident, $of_16:ident, $portable:ident) => {
        #[cfg(target_arch = "x86_64")]
        mod $kernels {
            use std::arch::x86_64::{__m128i, __m256i, __m512i, $of_16, $of_32, $of_64};

            fearless_simd::kernel!(
                #[inline]
                pub(super) fn of_64(_avx512: Avx512, a: __m512i, b: __m512i) -> __m512i {
                    $of_64(a, b)
                }
            );
            fearless_simd::kernel!(
                #[inline]
                pub(super) fn of_32(_avx2: Avx2, a: __m256i, b: __m256i) -> __m256i {
                    $of_32(a, b)
                }
            );
            fearless_simd::kernel!(
                #[inline]
                pub(super) fn of_16(_sse2: Sse2, a: __m128i, b: __m128i) -> __m128i {
                    $of_16(a, b)
                }
            );
        }

        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name<S: Simd>(simd: S, a: u8x64<S>, b: u8x64<S>) -> u8x64<S> {
            #[cfg(target_arch = "x86_64")]
            if let Level::Avx512(avx512) = simd.level() {
                return $kernels::of_64(avx512, a.into(), b.into()).simd_into(simd);
            }
            let ((a0, a1), (b0, b1)) = (simd.split_u8x64(a), simd.split_u8x64(b));
            #[cfg(target_arch = "x86_64")]
            if let Level::Avx2(avx2) = simd.level() {
                let low = $kernels::of_32(avx2, a0.into(), b0.into()).simd_into(simd);
                let high = $kernels::of_32(avx2, a1.into(), b1.into()).simd_into(simd);
                return simd.combine_u8x32(low, high);
            }
            let ((a0, a1), (a2, a3)) = (simd.split_u8x32(a0), simd.split_u8x32(a1));
            let ((b0, b1), (b2, b3)) = (simd.split_u8x32(b0), simd.split_u8x32(b1));
            #[cfg(target_arch = "x86_64")]
            if let Some(sse2) = simd.level().as_sse2() {
                let c0 = $kernels::of_16(sse2, a0.into(), b0.into()).simd_into(simd);
                let c1 = $kernels::of_16(sse2, a1.into(), b1.into()).simd_into(simd);
                let c2 = $kernels::of_16(sse2, a2.into(), b2.into()).simd_into(simd);
                let c3 = $kernels::of_16(sse2, a3.into(), b3.into()).simd_into(simd);
                return simd.combine_u8x32(simd.combine_u8x16(c0, c1), simd.combine_u8x16(c2, c3));
            }
            let low = simd.combine_u8x16($portable(simd, a0, b0), $portable(simd, a1, b1));
            let high = simd.combine_u8x16($portable(simd, a2, b2), $portable(simd, a3, b3));
            simd.combine_u8x32(low, high)
        }
    };
}

within_16!(
    /// The upper halves of products of 16-bit numbers with a sign.
    upper, upper_kernels: _mm512_mulhi_epi16, _mm256_mulhi_epi16, _mm_mulhi_epi16, upper_of_16
);
within_16!(
    /// Bytes of the lower halves, alternating.
    low_bytes, low_bytes_kernels: _mm512_unpacklo_epi8, _mm256_unpacklo_epi8, _mm_unpacklo_epi8, low_of_16
);
within_16!(
    /// Bytes of the upper halves, alternating.
    high_bytes, high_bytes_kernels: _mm512_unpackhi_epi8, _mm256_unpackhi_epi8, _mm_unpackhi_epi8, high_of_16
);
within_16!(
    /// Pairs of bytes of the lower halves, alternating.
    low_pairs, low_pairs_kernels: _mm512_unpacklo_epi16, _mm256_unpacklo_epi16, _mm_unpacklo_epi16, low_pairs_of_16
);
within_16!(
    /// Pairs of bytes of the upper halves, alternating.
    high_pairs, high_pairs_kernels: _mm512_unpackhi_epi16, _mm256_unpackhi_epi16, _mm_unpackhi_epi16, high_pairs_of_16
);
within_16!(
    /// 16-bit numbers with a sign as bytes, those out of range as 0 or 255: of the first, then of the second.
    packed, packed_kernels: _mm512_packus_epi16, _mm256_packus_epi16, _mm_packus_epi16, packed_of_16
);

#[inline(always)]
fn upper_of_16<S: Simd>(simd: S, a: u8x16<S>, b: u8x16<S>) -> u8x16<S> {
    let (low, high) = simd.widening_mul_i16x8(a.bitcast(), b.bitcast());
    simd.narrow_i32x4(low >> 16, high >> 16).bitcast()
}

#[inline(always)]
fn low_of_16<S: Simd>(simd: S, a: u8x16<S>, b: u8x16<S>) -> u8x16<S> {
    simd.zip_low_u8x16(a, b)
}

#[inline(always)]
fn high_of_16<S: Simd>(simd: S, a: u8x16<S>, b: u8x16<S>) -> u8x16<S> {
    simd.zip_high_u8x16(a, b)
}

#[inline(always)]
fn low_pairs_of_16<S: Simd>(simd: S, a: u8x16<S>, b: u8x16<S>) -> u8x16<S> {
    simd.zip_low_i16x8(a.bitcast(), b.bitcast()).bitcast()
}

#[inline(always)]
fn high_pairs_of_16<S: Simd>(simd: S, a: u8x16<S>, b: u8x16<S>) -> u8x16<S> {
    simd.zip_high_i16x8(a.bitcast(), b.bitcast()).bitcast()
}

#[inline(always)]
fn packed_of_16<S: Simd>(simd: S, a: u8x16<S>, b: u8x16<S>) -> u8x16<S> {
    let (black, white) = (i16x8::splat(simd, 0), i16x8::splat(simd, 255));
    let a = a.bitcast::<i16x8<S>>().max(black).min(white);
    let b = b.bitcast::<i16x8<S>>().max(black).min(white);
    simd.narrow_i16x8(a, b).bitcast()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The functions for machines without any of these instructions, which no test runs on here, beside them.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn other_machines_compute_the_same() {
        type Operation<V> = fn(fearless_simd::Sse2, V, V) -> V;
        type Both = (
            Operation<u8x64<fearless_simd::Sse2>>,
            Operation<u8x16<fearless_simd::Sse2>>,
        );
        let sse2 = Level::new().as_sse2().expect("every x86-64 has it");
        let all: [Both; 6] = [
            (upper, upper_of_16),
            (low_bytes, low_of_16),
            (high_bytes, high_of_16),
            (low_pairs, low_pairs_of_16),
            (high_pairs, high_pairs_of_16),
            (packed, packed_of_16),
        ];
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        for (nth, (by_16, portable)) in (0..600).map(|it| (it, all[it % 6])) {
            let (a, b): ([u8; 64], [u8; 64]) = ([0; 64].map(|_| next()), [0; 64].map(|_| next()));
            let made = by_16(sse2, u8x64::load_array(sse2, a), u8x64::load_array(sse2, b));
            for (i, made) in made.to_array().chunks(16).enumerate() {
                let part = |of: &[u8; 64]| u8x16::from_slice(sse2, &of[16 * i..][..16]);
                assert_eq!(portable(sse2, part(&a), part(&b)).to_array(), made, "{nth}");
            }
        }
    }
}
