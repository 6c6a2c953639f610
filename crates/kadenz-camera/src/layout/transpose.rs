//! Rows to columns, in tiles that fit into the first-level cache.

use fearless_simd::{Simd, prelude::*, u8x16};

use super::colour::BLOCK;

/// A tile of columns: `tile[column][row]`.
pub(super) type Tile = [[u8; BLOCK]; BLOCK];

/// Turns up to [`BLOCK`] rows of a block into columns.
///
/// `rows` begins with the block's first row; the rows follow one another with a stride. Beyond the last row, columns hold anything.
#[inline(always)]
pub(super) fn transpose<S: Simd>(
    simd: S,
    rows: &[u8],
    stride: usize,
    count: usize,
    tile: &mut Tile,
) {
    for row in (0..count).step_by(16) {
        for column in (0..BLOCK).step_by(16) {
            let mut block = [u8x16::splat(simd, 0); 16];
            for (i, pixels) in block.iter_mut().enumerate() {
                let start = (row + i).min(count - 1) * stride + column;
                let bytes = rows[start..].first_chunk().expect("whole blocks");
                *pixels = u8x16::load_array_ref(simd, bytes);
            }
            shuffle(simd, &mut block);
            for (pixels, column) in block.iter().zip(&mut tile[column..]) {
                let bytes = column[row..].first_chunk_mut().expect("whole blocks");
                pixels.store_array(bytes);
            }
        }
    }
}

/// Four times a perfect shuffle: 16 rows of 16 pixels become 16 columns.
#[inline(always)]
fn shuffle<S: Simd>(simd: S, block: &mut [u8x16<S>; 16]) {
    for _ in 0..4 {
        let before = *block;
        for i in 0..8 {
            block[2 * i] = simd.zip_low_u8x16(before[i], before[i + 8]);
            block[2 * i + 1] = simd.zip_high_u8x16(before[i], before[i + 8]);
        }
    }
}
