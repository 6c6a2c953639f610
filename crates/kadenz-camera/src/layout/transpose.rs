//! Rows to columns, in tiles that fit into the first-level cache.

use super::colour::BLOCK;

/// A tile of columns: `tile[column][row]`.
pub(super) type Tile = [[u8; BLOCK]; BLOCK];

/// Turns up to [`BLOCK`] rows of a block into columns.
///
/// `rows` begins with the block's first row; the rows follow one another with a stride.
#[inline(always)]
pub(super) fn transpose(rows: &[u8], stride: usize, count: usize, tile: &mut Tile) {
    for row in 0..count {
        let pixels = &rows[row * stride..][..BLOCK];
        for (column, pixel) in tile.iter_mut().zip(pixels) {
            column[row] = *pixel;
        }
    }
}
