//! The way of a picture through bands of rows into memory.

use fearless_simd::{Level, Simd, dispatch};

use super::colour::{self, BLOCK, Band, Coefficients, Part};
use super::scale::{Axis, Sums};
use super::transpose::{Tile, transpose};
use super::{Channels, Layout, LayoutError, Order, Region};
use crate::picture::{Matrix, Picture, Range, Size};

/// Converts pictures into a layout.
///
/// It keeps memory for intermediate rows, as much as the last size of a picture needed. A converter is for one
/// thread; it starts none.
#[derive(Debug)]
pub struct Converter {
    layout: Layout,
    level: Level,
    plan: Option<Plan>,
}

impl Converter {
    /// A converter into this layout.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        Self::by(Level::new(), layout)
    }

    /// A converter that uses no more than these instructions.
    pub(super) fn by(level: Level, layout: Layout) -> Self {
        Self {
            layout,
            level,
            plan: None,
        }
    }

    /// The layout.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Writes a picture into the first [`Layout::bytes`] of `into`, and returns the size that it has there.
    /// Other bytes are left as they are.
    ///
    /// # Errors
    /// [`LayoutError::Outside`] where the layout's region leaves the picture; [`LayoutError::Short`]. Nothing
    /// is written then.
    ///
    /// # Real-time safety
    /// It allocates when the size of pictures differs from that of the picture before; else neither allocates, waits nor
    /// calls the system. Its time grows with the pixels, not with their values.
    pub fn convert(&mut self, picture: &Picture<'_>, into: &mut [u8]) -> Result<Size, LayoutError> {
        let size = self.layout.output_size(picture.size())?;
        let (needed, given) = (self.layout.bytes(picture.size())?, into.len());
        let into = into
            .get_mut(..needed)
            .ok_or(LayoutError::Short { needed, given })?;
        let plan = match &mut self.plan {
            Some(plan) if plan.picture == picture.size() => plan,
            plan => plan.insert(Plan::new(&self.layout, picture.size())?),
        };
        dispatch!(self.level, simd => plan.run(simd, picture, into));
        Ok(size)
    }
}

/// How pictures of one size are converted, and the memory for it.
#[derive(Debug)]
struct Plan {
    picture: Size,
    layout: Layout,
    region: Region,
    out: Size,
    /// Of the picture that is converted.
    by: Coefficients,
    /// Converted rows, on their way into the output.
    band: Band,
    tile: Box<Tile>,
    scale: Option<Scale>,
}

/// What scaling needs beside.
#[derive(Debug)]
struct Scale {
    columns: Axis,
    rows: Axis,
    sums: Vec<Sums>,
    /// The last rows that were converted, in their own size: even ones first, odd ones second.
    source: Band,
    held: [Option<usize>; 2],
}

impl Plan {
    fn new(layout: &Layout, picture: Size) -> Result<Self, LayoutError> {
        let region = layout.region_of(picture)?;
        let out = layout.output_size(picture)?;
        let planes = layout.channels.count();
        let (width, skipped) = (region.size.width as usize, (region.left % 2) as usize);
        let scale = (out != region.size).then(|| Scale {
            columns: Axis::new(width, out.width as usize),
            rows: Axis::new(region.size.height as usize, out.height as usize),
            sums: (0..planes).map(|_| Sums::new(width)).collect(),
            source: Band::new(planes, 2, skipped + width),
            held: [None; 2],
        });
        let (rows, columns) = match (layout.order, &scale) {
            (Order::ColumnMajor, None) => (BLOCK, BLOCK),
            (Order::ColumnMajor, Some(_)) => (BLOCK, out.width as usize),
            (Order::Interleaved, None) => (2, skipped + width),
            (Order::Interleaved, Some(_)) => (1, out.width as usize),
        };
        Ok(Self {
            picture,
            layout: *layout,
            region,
            out,
            by: Coefficients::new(Matrix::Bt601, Range::Full),
            band: Band::new(planes, rows, columns),
            tile: Box::new([[0; BLOCK]; BLOCK]),
            scale,
        })
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, simd: S, picture: &Picture<'_>, into: &mut [u8]) {
        self.by = Coefficients::of(picture.pixels());
        match (self.layout.order, self.scale.is_some()) {
            (Order::ColumnMajor, false) => self.tiles(simd, picture, into),
            (Order::ColumnMajor, true) => self.scaled_columns(simd, picture, into),
            (Order::Interleaved, false) => self.rows(picture, into),
            (Order::Interleaved, true) => self.scaled_rows(picture, into),
        }
    }

    /// The region's left edge, rounded down to an even pixel, and the pixels to skip there.
    fn left(&self) -> (usize, usize) {
        let left = self.region.left as usize;
        (left & !1, left & 1)
    }

    /// Column-major, in its own size: tile by tile.
    #[inline(always)]
    fn tiles<S: Simd>(&mut self, simd: S, picture: &Picture<'_>, into: &mut [u8]) {
        let (left, skipped) = self.left();
        let (width, height) = (self.out.width as usize, self.out.height as usize);
        for top in tops(height) {
            for start in (0..skipped + width).step_by(BLOCK) {
                let part = Part {
                    top: self.region.top as usize + top,
                    rows: height.min(BLOCK),
                    left: left + start,
                    blocks: 1,
                    to: 0,
                };
                colour::convert(picture, &self.by, part, &mut self.band);
                let skip = if start == 0 { skipped } else { 0 };
                let first = start + skip - skipped;
                let columns = (width - first).min(BLOCK - skip);
                self.columns(simd, 0, skip, first..first + columns, top, into);
            }
        }
    }

    /// Transposes a block of the band, less `skip` columns, into `columns` of the output.
    #[inline(always)]
    fn columns<S: Simd>(
        &mut self,
        simd: S,
        block: usize,
        skip: usize,
        columns: std::ops::Range<usize>,
        top: usize,
        into: &mut [u8],
    ) {
        let height = self.out.height as usize;
        let rows = height.min(BLOCK);
        for plane in 0..self.band.planes.len() {
            let source = &self.band.planes[plane][block * BLOCK..];
            transpose(simd, source, self.band.stride, rows, &mut self.tile);
            let out = &mut into[self.plane_of(plane) * self.out.pixels()..];
            let out = out[columns.start * height..].chunks_exact_mut(height);
            for (out, column) in out.take(columns.len()).zip(&self.tile[skip..]) {
                match out[top..].first_chunk_mut::<BLOCK>() {
                    Some(out) => *out = *column,
                    None => out[top..].copy_from_slice(&column[..rows]),
                }
            }
        }
    }

    /// Where a plane of the band stands among the layout's channels.
    #[inline(always)]
    fn plane_of(&self, plane: usize) -> usize {
        match self.layout.channels {
            Channels::Bgr => 2 - plane,
            Channels::Gray | Channels::Rgb => plane,
        }
    }

    /// Interleaved, in its own size: two rows by two, which have their chroma in common.
    #[inline(always)]
    fn rows(&mut self, picture: &Picture<'_>, into: &mut [u8]) {
        let (left, skipped) = self.left();
        let (width, top) = (self.out.width as usize, self.region.top as usize);
        let bottom = top + self.out.height as usize;
        let mut row = top;
        while row < bottom {
            let rows = (2 - row % 2).min(bottom - row);
            let part = Part {
                top: row,
                rows,
                left,
                blocks: self.band.stride / BLOCK,
                to: 0,
            };
            colour::convert(picture, &self.by, part, &mut self.band);
            for nth in 0..rows {
                self.interleave(nth, skipped, width, row + nth - top, into);
            }
            row += rows;
        }
    }

    /// Interleaves a row of the band, less `skip` pixels, into a row of the output.
    #[inline(always)]
    fn interleave(&self, row: usize, skip: usize, width: usize, to: usize, into: &mut [u8]) {
        let channels = self.layout.channels.count();
        let out = &mut into[to * width * channels..][..width * channels];
        let plane = |channel: usize| &self.band.row(self.plane_of(channel), row)[skip..][..width];
        if channels == 1 {
            out.copy_from_slice(plane(0));
            return;
        }
        let pixels = plane(0).iter().zip(plane(1)).zip(plane(2));
        for (out, ((a, b), c)) in out.as_chunks_mut().0.iter_mut().zip(pixels) {
            *out = [*a, *b, *c];
        }
    }

    /// Interleaved and scaled.
    #[inline(always)]
    fn scaled_rows(&mut self, picture: &Picture<'_>, into: &mut [u8]) {
        self.forget();
        for row in 0..self.out.height as usize {
            self.scaled_row(picture, row, 0);
            self.interleave(0, 0, self.out.width as usize, row, into);
        }
    }

    /// Column-major and scaled: bands of rows, then their tiles.
    #[inline(always)]
    fn scaled_columns<S: Simd>(&mut self, simd: S, picture: &Picture<'_>, into: &mut [u8]) {
        self.forget();
        let (width, height) = (self.out.width as usize, self.out.height as usize);
        for top in tops(height) {
            for row in 0..height.min(BLOCK) {
                self.scaled_row(picture, top + row, row);
            }
            for (block, first) in (0..width).step_by(BLOCK).enumerate() {
                self.columns(simd, block, 0, first..width.min(first + BLOCK), top, into);
            }
        }
    }

    /// The rows that are held are those of another picture.
    fn forget(&mut self) {
        if let Some(scale) = &mut self.scale {
            scale.held = [None; 2];
        }
    }

    /// Scales into a row of the band.
    #[inline(always)]
    fn scaled_row(&mut self, picture: &Picture<'_>, row: usize, to: usize) {
        let (left, skipped) = self.left();
        let Some(scale) = &mut self.scale else { return };
        for (nth, source) in scale.rows.inputs(row).enumerate() {
            let slot = source % 2;
            if scale.held[slot] != Some(source) {
                let part = Part {
                    top: self.region.top as usize + source,
                    rows: 1,
                    left,
                    blocks: scale.source.stride / BLOCK,
                    to: slot,
                };
                colour::convert(picture, &self.by, part, &mut scale.source);
                scale.held[slot] = Some(source);
            }
            for (plane, sums) in scale.sums.iter_mut().enumerate() {
                let pixels = &scale.source.row(plane, slot)[skipped..];
                sums.add(&scale.rows, row, nth, pixels);
            }
        }
        for (plane, sums) in scale.sums.iter_mut().enumerate() {
            let start = to * self.band.stride;
            sums.finish(&scale.columns, &mut self.band.planes[plane][start..]);
        }
    }
}

/// The first rows of bands of [`BLOCK`] rows. The last band ends with the last row: it overlaps the one before,
/// so that all bands are whole where there are as many rows.
fn tops(height: usize) -> impl Iterator<Item = usize> {
    let last = height.saturating_sub(BLOCK);
    (0..height.div_ceil(BLOCK)).map(move |band| (band * BLOCK).min(last))
}
