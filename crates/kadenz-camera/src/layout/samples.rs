//! Lines of samples to lines of planes of red, green and blue, or of gray.
//!
//! A line is a row of a picture, or, where its planes have been transposed, a column.

use super::colour::{
    BLOCK, Block, Coefficients, HALF, Terms, channel, halves, luma_lanes, luma_of, widened,
};
use crate::picture::{Chroma, Pixels, Plane};

/// What lines hold.
#[derive(Debug, Clone, Copy)]
pub(super) enum Samples<'a> {
    Luma(Plane<'a>),
    Yuv {
        y: Plane<'a>,
        u: Plane<'a>,
        v: Plane<'a>,
        /// One sample of chroma for two pixels of a line.
        is_halved: bool,
        /// One line of chroma for two to the power of so many lines.
        shift: usize,
    },
    Yuyv(Plane<'a>),
    Rgb(Plane<'a>),
}

impl<'a> Samples<'a> {
    /// The rows of a picture; luma alone is enough for gray.
    pub(super) fn rows(pixels: &Pixels<'a>, is_gray: bool) -> Self {
        match *pixels {
            Pixels::Gray { y, .. } => Self::Luma(y),
            Pixels::Yuv { y, .. } if is_gray => Self::Luma(y),
            Pixels::Yuv {
                y, u, v, chroma, ..
            } => Self::Yuv {
                y,
                u,
                v,
                is_halved: chroma != Chroma::Yuv444,
                shift: usize::from(chroma == Chroma::Yuv420),
            },
            Pixels::Yuyv { pairs, .. } => Self::Yuyv(pairs),
            Pixels::Rgb(plane) => Self::Rgb(plane),
        }
    }
}

/// Where converted lines are put.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    /// Red, green, blue; or gray and two that are empty.
    pub(super) planes: [&'a mut [u8]; 3],
    /// Bytes from line to line.
    pub(super) stride: usize,
    /// Bytes of a line: no others are written.
    pub(super) width: usize,
    /// Pixels of the first block that are left out.
    pub(super) skip: usize,
}

impl Lines<'_> {
    #[inline(always)]
    fn is_gray(&self) -> bool {
        self.planes[1].is_empty()
    }

    #[inline(always)]
    fn put(&mut self, plane: usize, line: usize, at: usize, pixels: &Block) {
        let out = &mut self.planes[plane][line * self.stride..][..self.width];
        if at == 0 && self.skip > 0 {
            let pixels = &pixels[self.skip..];
            let length = pixels.len().min(out.len());
            out[..length].copy_from_slice(&pixels[..length]);
            return;
        }
        let out = &mut out[at - self.skip..];
        match out.first_chunk_mut() {
            Some(out) => *out = *pixels,
            None => {
                let length = out.len();
                out.copy_from_slice(&pixels[..length]);
            }
        }
    }
}

/// Planes of lines of whole blocks.
#[derive(Debug, Default)]
pub(super) struct Band {
    /// Red, green, blue; or gray alone.
    pub(super) planes: Vec<Vec<u8>>,
    /// Bytes from line to line, a multiple of [`BLOCK`].
    pub(super) stride: usize,
}

impl Band {
    /// Planes for `lines` of `width` pixels.
    pub(super) fn new(planes: usize, lines: usize, width: usize) -> Self {
        let stride = width.next_multiple_of(BLOCK);
        Self {
            planes: vec![vec![0; lines * stride]; planes],
            stride,
        }
    }

    /// A line of a plane.
    #[inline(always)]
    pub(super) fn line(&self, plane: usize, line: usize) -> &[u8] {
        &self.planes[plane][line * self.stride..][..self.stride]
    }

    /// Its lines from one on, to be written.
    #[inline(always)]
    pub(super) fn lines(&mut self, first: usize, skip: usize) -> Lines<'_> {
        let start = first * self.stride;
        let mut planes = self.planes.iter_mut();
        let mut next = || match planes.next() {
            Some(plane) => &mut plane[start..],
            None => &mut [],
        };
        Lines {
            planes: [next(), next(), next()],
            stride: self.stride,
            width: self.stride - skip,
            skip,
        }
    }
}

/// `N` bytes from `at` on. Beyond the last of the plane: zeros, made in `room`.
#[inline(always)]
fn bytes_at<'a, const N: usize>(line: &'a [u8], at: usize, room: &'a mut [u8; N]) -> &'a [u8; N] {
    let rest = line.get(at..).unwrap_or_default();
    if let Some(bytes) = rest.first_chunk() {
        return bytes;
    }
    *room = [0; N];
    room[..rest.len()].copy_from_slice(rest);
    room
}

/// The lines that are converted at once, from an even pixel on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) first: usize,
    pub(super) count: usize,
    /// Even.
    pub(super) start: usize,
    pub(super) blocks: usize,
}

/// Converts lines, into gray or into red, green and blue.
#[inline(always)]
pub(super) fn convert(samples: Samples<'_>, by: &Coefficients, part: Part, mut out: Lines<'_>) {
    let out = &mut out;
    match samples {
        Samples::Luma(y) => luma(&y, part, by, out),
        Samples::Yuv {
            y,
            u,
            v,
            is_halved: true,
            shift,
        } => yuv::<true>([&y, &u, &v], shift, part, by, out),
        Samples::Yuv { y, u, v, shift, .. } => yuv::<false>([&y, &u, &v], shift, part, by, out),
        Samples::Yuyv(pairs) => yuyv(&pairs, part, by, out),
        Samples::Rgb(plane) => rgb(&plane, part, out),
    }
}

/// Writes one block: of luma alone where gray is wanted.
#[inline(always)]
fn put(
    luma: &Block,
    [even, odd]: [&Terms; 2],
    by: &Coefficients,
    (line, at): (usize, usize),
    out: &mut Lines<'_>,
) {
    let luma = luma_lanes(luma, by);
    out.put(0, line, at, &channel(&luma, &even.red, &odd.red));
    if !out.is_gray() {
        out.put(1, line, at, &channel(&luma, &even.green, &odd.green));
        out.put(2, line, at, &channel(&luma, &even.blue, &odd.blue));
    }
}

#[inline(always)]
fn luma(y: &Plane<'_>, part: Part, by: &Coefficients, out: &mut Lines<'_>) {
    for line in 0..part.count {
        for at in (0..part.blocks).map(|block| block * BLOCK) {
            let mut room = [0; BLOCK];
            let luma = bytes_at(y.row(part.first + line), part.start + at, &mut room);
            put(luma, [&Terms::NONE; 2], by, (line, at), out);
        }
    }
}

/// What chroma adds is computed once for all lines that have it in common.
#[inline(always)]
fn yuv<const IS_HALVED: bool>(
    [y, u, v]: [&Plane<'_>; 3],
    shift: usize,
    part: Part,
    by: &Coefficients,
    out: &mut Lines<'_>,
) {
    let (mut even, mut odd) = (Terms::NONE, Terms::NONE);
    for at in (0..part.blocks).map(|block| block * BLOCK) {
        let from = part.start + at;
        for line in 0..part.count {
            let source = part.first + line;
            let chroma = source >> shift;
            let is_new = line == 0 || chroma != (source - 1) >> shift;
            if is_new && IS_HALVED {
                let (mut in_u, mut in_v) = ([0; HALF], [0; HALF]);
                let u = widened(bytes_at(u.row(chroma), from / 2, &mut in_u));
                let v = widened(bytes_at(v.row(chroma), from / 2, &mut in_v));
                even.set(&u, &v, by);
            } else if is_new {
                let (mut in_u, mut in_v) = ([0; BLOCK], [0; BLOCK]);
                let u = halves(bytes_at(u.row(chroma), from, &mut in_u));
                let v = halves(bytes_at(v.row(chroma), from, &mut in_v));
                even.set(&u[0], &v[0], by);
                odd.set(&u[1], &v[1], by);
            }
            let mut room = [0; BLOCK];
            let luma = bytes_at(y.row(source), from, &mut room);
            let terms = [&even, if IS_HALVED { &even } else { &odd }];
            put(luma, terms, by, (line, at), out);
        }
    }
}

/// Y0 U Y1 V.
#[inline(always)]
fn yuyv(plane: &Plane<'_>, part: Part, by: &Coefficients, out: &mut Lines<'_>) {
    let mut terms = Terms::NONE;
    for line in 0..part.count {
        for at in (0..part.blocks).map(|block| block * BLOCK) {
            let mut room = [0; 2 * BLOCK];
            let from = 2 * (part.start + at);
            let bytes = bytes_at(plane.row(part.first + line), from, &mut room);
            let mut luma = [0; BLOCK];
            let (mut u, mut v) = ([0; HALF], [0; HALF]);
            for i in 0..HALF {
                (luma[2 * i], luma[2 * i + 1]) = (bytes[4 * i], bytes[4 * i + 2]);
                (u[i], v[i]) = (bytes[4 * i + 1].into(), bytes[4 * i + 3].into());
            }
            if !out.is_gray() {
                terms.set(&u, &v, by);
            }
            put(&luma, [&terms; 2], by, (line, at), out);
        }
    }
}

/// R G B.
#[inline(always)]
fn rgb(plane: &Plane<'_>, part: Part, out: &mut Lines<'_>) {
    for line in 0..part.count {
        for at in (0..part.blocks).map(|block| block * BLOCK) {
            let mut room = [0; 3 * BLOCK];
            let from = 3 * (part.start + at);
            let bytes = bytes_at(plane.row(part.first + line), from, &mut room);
            let mut block = [0; BLOCK];
            if out.is_gray() {
                for (code, pixel) in block.iter_mut().zip(bytes.as_chunks().0) {
                    *code = luma_of(*pixel);
                }
                out.put(0, line, at, &block);
                continue;
            }
            for channel in 0..3 {
                for (code, pixel) in block.iter_mut().zip(bytes.as_chunks::<3>().0) {
                    *code = pixel[channel];
                }
                out.put(channel, line, at, &block);
            }
        }
    }
}
