//! Converts a picture, by bands of rows, into memory.

use std::ops::Range;

use fearless_simd::{Level, Simd, dispatch};

use super::colour::{BLOCK, Coefficients};
use super::lines::{Band, LineGroup, Lines};
use super::samples::{self, Samples};
use super::scale::{Axis, Sums};
use super::transpose::{self, Rectangle, Tile};
use super::{Channels, Layout, LayoutError, Order, Region};
use crate::picture::{self, Matrix, Picture, Plane, Size};

/// Columns that are transposed before they are converted: with their chroma they stay in a second-level cache.
const STRIP: usize = 2 * BLOCK;

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

    /// The layout that pictures are converted to.
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
    /// It allocates when the size of pictures differs from that of the picture before; else neither allocates, waits
    /// nor calls the system. Its time grows with the pixels, not with their values.
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
        plan.run(self.level, picture, into);
        Ok(size)
    }
}

/// The steps and the memory for pictures of one size.
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
    /// For transposing.
    room: Box<Tile>,
    /// Columns of luma and chroma, on their way to be converted.
    strip: [Vec<u8>; 3],
    strip_stride: usize,
    scale: Option<Scale>,
}

/// The additional memory of scaling.
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
        let is_strip = layout.order == Order::ColumnMajor && scale.is_none();
        // An odd number of blocks: columns a power of two apart would compete for the same lines of a cache.
        let strip_stride = ((region.size.height as usize + 1).div_ceil(BLOCK) | 1) * BLOCK;
        let strip_bytes = |of: usize| {
            if is_strip && of < planes {
                STRIP * strip_stride
            } else {
                0
            }
        };
        Ok(Self {
            picture,
            layout: *layout,
            region,
            out,
            by: Coefficients::new(Matrix::Bt601, picture::Range::Full),
            band: Band::new(planes, rows, columns),
            tile: Box::new([[0; BLOCK]; BLOCK]),
            room: Box::new([[0; BLOCK]; BLOCK]),
            strip: [0, 1, 2].map(|plane| vec![0; strip_bytes(plane)]),
            strip_stride,
            scale,
        })
    }

    /// Each way is dispatched by itself: without optimisation, what a function inlines adds to its stack frame, and one
    /// of all ways would have 5 MB.
    fn run(&mut self, level: Level, picture: &Picture<'_>, into: &mut [u8]) {
        self.by = Coefficients::of(picture.pixels());
        let is_gray = self.layout.channels == Channels::Gray;
        let samples = Samples::rows(picture.pixels(), is_gray);
        match (self.layout.order, self.scale.is_some()) {
            (Order::ColumnMajor, false) => match samples {
                Samples::Luma(y) if is_gray && self.by.is_luma_gray() => {
                    dispatch!(level, simd => self.gray_columns(simd, &y, into));
                }
                Samples::Luma(_) | Samples::Yuv { .. } => {
                    dispatch!(level, simd => self.strips(simd, samples, into));
                }
                Samples::Yuyv(_) | Samples::Rgb(_) => {
                    dispatch!(level, simd => self.tiles(simd, samples, into));
                }
            },
            (Order::ColumnMajor, true) => {
                dispatch!(level, simd => self.scaled_columns(simd, samples, into));
            }
            (Order::Interleaved, false) => dispatch!(level, simd => self.rows(simd, samples, into)),
            (Order::Interleaved, true) => {
                dispatch!(level, simd => self.scaled_rows(simd, samples, into));
            }
        }
    }

    /// The region's left edge, rounded down to an even pixel, and the pixels to skip there.
    fn left(&self) -> (usize, usize) {
        let left = self.region.left as usize;
        (left & !1, left & 1)
    }

    /// Writes columns of luma whose codes are those of gray, without scaling.
    #[inline(always)]
    fn gray_columns<S: Simd>(&mut self, simd: S, y: &Plane<'_>, into: &mut [u8]) {
        let (width, height) = (self.out.width as usize, self.out.height as usize);
        let (left, stride) = (self.region.left as usize, y.stride());
        for top in tops(height) {
            let rows = &y.row(self.region.top as usize + top)[left..];
            for first in (0..width).step_by(BLOCK) {
                let (rows, columns) = (&rows[first..], BLOCK.min(width - first));
                let out = &mut into[first * height..][..columns * height];
                let is_whole = columns == BLOCK
                    && height >= BLOCK
                    && rows.len() >= (BLOCK - 1) * stride + BLOCK;
                if is_whole {
                    let out = &mut out[top..];
                    transpose::square(simd, rows, stride, out, height, &mut self.room);
                    continue;
                }
                for (x, column) in out.chunks_exact_mut(height).enumerate() {
                    let rows = rows[x..].iter().step_by(stride);
                    for (out, pixel) in column[top..].iter_mut().zip(rows).take(BLOCK) {
                        *out = *pixel;
                    }
                }
            }
        }
    }

    /// Column-major, of planes, in its own size: some columns of samples at once, which stay in the cache.
    #[inline(always)]
    fn strips<S: Simd>(&mut self, simd: S, samples: Samples<'_>, into: &mut [u8]) {
        let (left, skipped) = self.left();
        let top = self.region.top as usize;
        let (width, height) = (self.out.width as usize, self.out.height as usize);
        for start in (0..skipped + width).step_by(STRIP) {
            let columns = (skipped + width - start).min(STRIP);
            let part = Rectangle {
                top: top & !1,
                left: left + start,
                rows: height + top % 2,
                columns,
            };
            let samples = transposed(
                simd,
                samples,
                part,
                &mut self.strip,
                self.strip_stride,
                &mut self.room,
            );
            let skip = if start == 0 { skipped } else { 0 };
            for (first, count) in pairs(skip, columns) {
                let part = LineGroup {
                    first,
                    count,
                    start: 0,
                    blocks: part.rows.div_ceil(BLOCK),
                };
                let column = start + first - skipped;
                let mut planes = into.chunks_exact_mut(width * height);
                let mut next = || match planes.next() {
                    Some(plane) => &mut plane[column * height..],
                    None => &mut [],
                };
                let mut planes = [next(), next(), next()];
                if self.layout.channels == Channels::Bgr {
                    planes.swap(0, 2);
                }
                let lines = Lines {
                    planes,
                    stride: height,
                    width: height,
                    skip: top % 2,
                };
                samples::convert(simd, samples, &self.by, part, lines);
            }
        }
    }

    /// Column-major, of interleaved pixels, in its own size: converted before it is transposed, tile by tile.
    #[inline(always)]
    fn tiles<S: Simd>(&mut self, simd: S, samples: Samples<'_>, into: &mut [u8]) {
        let (left, skipped) = self.left();
        let (width, height) = (self.out.width as usize, self.out.height as usize);
        for top in tops(height) {
            for start in (0..skipped + width).step_by(BLOCK) {
                let part = LineGroup {
                    first: self.region.top as usize + top,
                    count: height.min(BLOCK),
                    start: left + start,
                    blocks: 1,
                };
                samples::convert(simd, samples, &self.by, part, self.band.lines(0, 0));
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
        columns: Range<usize>,
        top: usize,
        into: &mut [u8],
    ) {
        let (height, stride) = (self.out.height as usize, self.band.stride);
        for plane in 0..self.band.planes.len() {
            let rows = &self.band.planes[plane][block * BLOCK..];
            let out = &mut into[self.plane_of(plane) * self.out.pixels()..];
            let out = &mut out[columns.start * height..][..columns.len() * height];
            if columns.len() == BLOCK && height >= BLOCK {
                transpose::square(simd, rows, stride, &mut out[top..], height, &mut self.room);
                continue;
            }
            let tile = self.tile.as_flattened_mut();
            transpose::square(simd, rows, stride, tile, BLOCK, &mut self.room);
            let lines = tile.as_chunks::<BLOCK>().0.iter().skip(skip);
            for (out, line) in out.chunks_exact_mut(height).zip(lines) {
                let out = &mut out[top..];
                let length = out.len().min(BLOCK);
                out[..length].copy_from_slice(&line[..length]);
            }
        }
    }

    /// The place of a band's plane among the layout's channels.
    #[inline(always)]
    fn plane_of(&self, plane: usize) -> usize {
        match self.layout.channels {
            Channels::Bgr => 2 - plane,
            Channels::Gray | Channels::Rgb => plane,
        }
    }

    /// Interleaved, in its own size: two rows by two, which may have their chroma in common.
    #[inline(always)]
    fn rows<S: Simd>(&mut self, simd: S, samples: Samples<'_>, into: &mut [u8]) {
        let (start, skip) = self.left();
        let top = self.region.top as usize;
        for (first, count) in pairs(top, top + self.out.height as usize) {
            let part = LineGroup {
                first,
                count,
                start,
                blocks: self.band.stride / BLOCK,
            };
            let to = first - top;
            if self.layout.channels == Channels::Gray {
                let width = self.out.width as usize;
                let lines = Lines {
                    planes: [&mut into[to * width..], &mut [], &mut []],
                    stride: width,
                    width,
                    skip,
                };
                samples::convert(simd, samples, &self.by, part, lines);
                continue;
            }
            samples::convert(simd, samples, &self.by, part, self.band.lines(0, skip));
            for nth in 0..count {
                self.interleave(nth, to + nth, into);
            }
        }
    }

    /// Interleaves a row of the band into a row of the output.
    #[inline(always)]
    fn interleave(&self, row: usize, to: usize, into: &mut [u8]) {
        let width = self.out.width as usize;
        let channels = self.layout.channels.count();
        let out = &mut into[to * width * channels..][..width * channels];
        let plane = |channel: usize| &self.band.line(self.plane_of(channel), row)[..width];
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
    fn scaled_rows<S: Simd>(&mut self, simd: S, samples: Samples<'_>, into: &mut [u8]) {
        self.forget();
        for row in 0..self.out.height as usize {
            self.scaled_row(simd, samples, row, 0);
            self.interleave(0, row, into);
        }
    }

    /// Column-major and scaled: bands of rows, then their tiles.
    #[inline(always)]
    fn scaled_columns<S: Simd>(&mut self, simd: S, samples: Samples<'_>, into: &mut [u8]) {
        self.forget();
        let (width, height) = (self.out.width as usize, self.out.height as usize);
        for top in tops(height) {
            for row in 0..height.min(BLOCK) {
                self.scaled_row(simd, samples, top + row, row);
            }
            for (block, first) in (0..width).step_by(BLOCK).enumerate() {
                self.columns(simd, block, 0, first..width.min(first + BLOCK), top, into);
            }
        }
    }

    /// Forgets the held rows, which belong to another picture.
    fn forget(&mut self) {
        if let Some(scale) = &mut self.scale {
            scale.held = [None; 2];
        }
    }

    /// Scales into a row of the band.
    #[inline(always)]
    fn scaled_row<S: Simd>(&mut self, simd: S, samples: Samples<'_>, row: usize, to: usize) {
        let (start, skip) = self.left();
        let Some(scale) = &mut self.scale else { return };
        for (nth, source) in scale.rows.inputs(row).enumerate() {
            let slot = source % 2;
            if scale.held[slot] != Some(source) {
                let part = LineGroup {
                    first: self.region.top as usize + source,
                    count: 1,
                    start,
                    blocks: scale.source.stride / BLOCK,
                };
                samples::convert(
                    simd,
                    samples,
                    &self.by,
                    part,
                    scale.source.lines(slot, skip),
                );
                scale.held[slot] = Some(source);
            }
            for (plane, sums) in scale.sums.iter_mut().enumerate() {
                sums.add(&scale.rows, row, nth, scale.source.line(plane, slot));
            }
        }
        for (plane, sums) in scale.sums.iter_mut().enumerate() {
            let start = to * self.band.stride;
            sums.finish(&scale.columns, &mut self.band.planes[plane][start..]);
        }
    }
}

/// Columns of planes of samples as lines of the strip, of which each begins with the part's first row.
#[inline(always)]
fn transposed<'a, S: Simd>(
    simd: S,
    samples: Samples<'_>,
    part: Rectangle,
    strip: &'a mut [Vec<u8>; 3],
    stride: usize,
    room: &mut Tile,
) -> Samples<'a> {
    let [in_y, in_u, in_v] = strip;
    let mut plane = |from: &Plane<'_>, part: Rectangle, lines: &'a mut Vec<u8>| {
        transpose::plane(simd, from, part, lines, stride, room);
        Plane::new(lines, stride, STRIP, stride).expect("a strip has so many lines")
    };
    match samples {
        Samples::Yuv {
            y,
            u,
            v,
            is_halved,
            shift,
        } => {
            let halved = usize::from(is_halved);
            let chroma = Rectangle {
                top: part.top >> shift,
                left: part.left >> halved,
                rows: part.rows.div_ceil(1 << shift),
                columns: part.columns.div_ceil(1 << halved),
            };
            Samples::Yuv {
                y: plane(&y, part, in_y),
                u: plane(&u, chroma, in_u),
                v: plane(&v, chroma, in_v),
                is_halved: shift == 1,
                shift: halved,
            }
        }
        Samples::Luma(y) => Samples::Luma(plane(&y, part, in_y)),
        Samples::Yuyv(_) | Samples::Rgb(_) => unreachable!("these do not lie in planes"),
    }
}

/// Lines by twos, an even one first: their number and count.
fn pairs(start: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
    let firsts = (start & !1..end).step_by(2).map(move |it| it.max(start));
    firsts.map(move |first| (first, (2 - first % 2).min(end - first)))
}

/// The first rows of bands of [`BLOCK`] rows. The last band ends with the last row: it overlaps the one before,
/// so that all bands are whole where there are as many rows.
fn tops(height: usize) -> impl Iterator<Item = usize> {
    let last = height.saturating_sub(BLOCK);
    (0..height.div_ceil(BLOCK)).map(move |band| (band * BLOCK).min(last))
}
