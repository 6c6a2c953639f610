//! Rows to columns.
//!
//! The unit is a square of [`BLOCK`] by [`BLOCK`] bytes. Its columns are made of 16 by 16 bytes by a perfect shuffle,
//! four times; wider instructions do it for several groups of 16 rows at once.

#[cfg(target_arch = "x86_64")]
use fearless_simd::Level;
use fearless_simd::{Simd, prelude::*, u8x16};

use super::colour::BLOCK;
use crate::picture::Plane;

/// A square of columns: `tile[column][row]`.
pub(super) type Tile = [[u8; BLOCK]; BLOCK];

/// Bytes of a plane, from a row and a column on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rectangle {
    pub(super) top: usize,
    pub(super) left: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

/// Writes columns of a plane as lines of `stride` bytes, which is as long as [`BLOCK`]s that hold the rows: what
/// stands beyond the last row there is anything, as are lines beyond the last column.
#[inline(always)]
pub(super) fn plane<S: Simd>(
    simd: S,
    from: &Plane<'_>,
    of: Rectangle,
    out: &mut [u8],
    stride: usize,
    room: &mut Tile,
) {
    for row in (0..of.rows).step_by(BLOCK) {
        let rows = from.row(of.top + row);
        for column in (0..of.columns).step_by(BLOCK) {
            let bytes = &rows[of.left + column..];
            let out = &mut out[column * stride + row..];
            let is_whole =
                of.rows - row >= BLOCK && bytes.len() >= (BLOCK - 1) * from.stride() + BLOCK;
            if is_whole {
                square(simd, bytes, from.stride(), out, stride, room);
                continue;
            }
            let count = (of.rows - row).min(BLOCK);
            let mut edge = [[0; BLOCK]; BLOCK];
            for (i, line) in edge.iter_mut().take(count).enumerate() {
                let bytes = &bytes[i * from.stride()..];
                let length = bytes.len().min(BLOCK);
                line[..length].copy_from_slice(&bytes[..length]);
            }
            square(simd, edge.as_flattened(), BLOCK, out, stride, room);
        }
    }
}

/// Turns a square of rows that begin `stride` bytes apart into columns that begin `out_stride` bytes apart.
///
/// # Panics
/// Where either has fewer bytes.
#[inline(always)]
pub(super) fn square<S: Simd>(
    simd: S,
    rows: &[u8],
    stride: usize,
    out: &mut [u8],
    out_stride: usize,
    room: &mut Tile,
) {
    match simd.level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(avx512) => square_avx512(avx512, rows, stride, out, out_stride, room),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(avx2) => square_avx2(avx2, rows, stride, out, out_stride),
        _ => square_of_16(simd, rows, stride, out, out_stride),
    }
}

/// By 16 bytes, which all instructions have.
#[inline(always)]
fn square_of_16<S: Simd>(simd: S, rows: &[u8], stride: usize, out: &mut [u8], out_stride: usize) {
    for row in (0..BLOCK).step_by(16) {
        for column in (0..BLOCK).step_by(16) {
            let mut block = [u8x16::splat(simd, 0); 16];
            for (i, pixels) in block.iter_mut().enumerate() {
                let bytes = rows[(row + i) * stride + column..].first_chunk();
                *pixels = u8x16::load_array_ref(simd, bytes.expect("whole squares"));
            }
            for _ in 0..4 {
                let before = block;
                for i in 0..8 {
                    block[2 * i] = simd.zip_low_u8x16(before[i], before[i + 8]);
                    block[2 * i + 1] = simd.zip_high_u8x16(before[i], before[i + 8]);
                }
            }
            for (i, pixels) in block.iter().enumerate() {
                let bytes = out[(column + i) * out_stride + row..].first_chunk_mut();
                pixels.store_array(bytes.expect("whole squares"));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn bytes_of(avx512: fearless_simd::Avx512, vector: std::arch::x86_64::__m512i) -> [u8; BLOCK] {
    let bytes: fearless_simd::u8x64<_> = vector.simd_into(avx512);
    bytes.to_array()
}

fearless_simd::kernel!(
    #[inline]
    fn square_avx512(
        avx512: Avx512,
        rows: &[u8],
        stride: usize,
        out: &mut [u8],
        out_stride: usize,
        room: &mut Tile,
    ) {
        use std::arch::x86_64::*;

        use fearless_simd::u8x64;

        // For each group of 16 columns, 16 lines: those of a row, and of the 16th, 32nd, 48th after it.
        let (groups, _) = room.as_chunks_mut::<16>();
        let [group0, group1, group2, group3] = &mut *groups else {
            return;
        };
        for i in 0..16 {
            let mut four = [_mm512_setzero_si512(); 4];
            for (nth, row) in four.iter_mut().enumerate() {
                let bytes = rows[(16 * nth + i) * stride..].first_chunk();
                let bytes = bytes.expect("whole squares");
                *row = u8x64::load_array_ref(avx512, bytes).into();
            }
            let [a, b, c, d] = four;
            let (ab, cd) = (
                _mm512_shuffle_i32x4::<0x44>(a, b),
                _mm512_shuffle_i32x4::<0x44>(c, d),
            );
            group0[i] = bytes_of(avx512, _mm512_shuffle_i32x4::<0x88>(ab, cd));
            group1[i] = bytes_of(avx512, _mm512_shuffle_i32x4::<0xdd>(ab, cd));
            let (ab, cd) = (
                _mm512_shuffle_i32x4::<0xee>(a, b),
                _mm512_shuffle_i32x4::<0xee>(c, d),
            );
            group2[i] = bytes_of(avx512, _mm512_shuffle_i32x4::<0x88>(ab, cd));
            group3[i] = bytes_of(avx512, _mm512_shuffle_i32x4::<0xdd>(ab, cd));
        }
        for (group, lines) in groups.iter().enumerate() {
            let mut block = [_mm512_setzero_si512(); 16];
            for (pixels, line) in block.iter_mut().zip(lines) {
                *pixels = u8x64::load_array_ref(avx512, line).into();
            }
            for _ in 0..4 {
                let before = block;
                for i in 0..8 {
                    block[2 * i] = _mm512_unpacklo_epi8(before[i], before[i + 8]);
                    block[2 * i + 1] = _mm512_unpackhi_epi8(before[i], before[i + 8]);
                }
            }
            for (i, pixels) in block.iter().enumerate() {
                let bytes = out[(16 * group + i) * out_stride..].first_chunk_mut();
                *bytes.expect("whole squares") = bytes_of(avx512, *pixels);
            }
        }
    }
);

fearless_simd::kernel!(
    #[inline]
    fn square_avx2(avx2: Avx2, rows: &[u8], stride: usize, out: &mut [u8], out_stride: usize) {
        use std::arch::x86_64::*;

        use fearless_simd::u8x32;

        for (row, column) in [(0, 0), (0, 32), (32, 0), (32, 32)] {
            let (mut low, mut high) = ([_mm256_setzero_si256(); 16], [_mm256_setzero_si256(); 16]);
            for (i, (low, high)) in low.iter_mut().zip(&mut high).enumerate() {
                let mut two = [_mm256_setzero_si256(); 2];
                for (nth, pixels) in two.iter_mut().enumerate() {
                    let start = (row + 16 * nth + i) * stride + column;
                    let bytes = rows[start..].first_chunk().expect("whole squares");
                    *pixels = u8x32::load_array_ref(avx2, bytes).into();
                }
                *low = _mm256_permute2x128_si256::<0x20>(two[0], two[1]);
                *high = _mm256_permute2x128_si256::<0x31>(two[0], two[1]);
            }
            for (group, mut block) in [low, high].into_iter().enumerate() {
                for _ in 0..4 {
                    let before = block;
                    for i in 0..8 {
                        block[2 * i] = _mm256_unpacklo_epi8(before[i], before[i + 8]);
                        block[2 * i + 1] = _mm256_unpackhi_epi8(before[i], before[i + 8]);
                    }
                }
                for (i, pixels) in block.iter().enumerate() {
                    let start = (column + 16 * group + i) * out_stride + row;
                    let bytes = out[start..].first_chunk_mut().expect("whole squares");
                    let pixels: u8x32<_> = (*pixels).simd_into(avx2);
                    pixels.store_array(bytes);
                }
            }
        }
    }
);
