//! Lines of samples to lines of planes of red, green and blue, or of gray.
//!
//! A line is a row of a picture, or, where its planes have been transposed, a column.

use fearless_simd::Simd;

use super::colour::{self, BLOCK, Block, Coefficients, Factors, HALF, Terms, luma_of};
use super::lines::{LineGroup, Lines, Whole};
use crate::picture::{Chroma, Pixels, Plane};

/// The samples of lines.
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

/// `N` bytes from `at` on; beyond the end of the line zeros, which it writes into `room`.
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

/// Converts lines, into gray or into red, green and blue.
#[inline(always)]
pub(super) fn convert<S: Simd>(
    simd: S,
    samples: Samples<'_>,
    by: &Coefficients,
    part: LineGroup,
    mut out: Lines<'_>,
) {
    let out = &mut out;
    let is_copy = by.is_luma_gray() && out.is_gray();
    let by = &Factors::new(simd, by);
    match samples {
        Samples::Luma(y) if is_copy => copy(&y, part, out),
        Samples::Luma(y) if out.is_gray() => luma(simd, &y, part, by, out),
        Samples::Luma(y) => gray_in_colour(simd, &y, part, by, out),
        Samples::Yuv {
            y,
            u,
            v,
            is_halved: true,
            shift,
        } => yuv::<S, HALF>(simd, [&y, &u, &v], shift, part, by, out),
        Samples::Yuv { y, u, v, shift, .. } => {
            yuv::<S, BLOCK>(simd, [&y, &u, &v], shift, part, by, out);
        }
        Samples::Yuyv(pairs) => yuyv(simd, &pairs, part, by, out),
        Samples::Rgb(plane) => rgb(&plane, part, out),
    }
}

/// Writes one block, whole or in part: of luma alone where gray is wanted.
#[inline(always)]
fn put<S: Simd>(
    simd: S,
    luma: &Block,
    terms: &Terms<S>,
    by: &Factors<S>,
    (line, at): (usize, usize),
    out: &mut Lines<'_>,
) {
    let luma = colour::luma(simd, luma, by);
    let mut block = [0; BLOCK];
    colour::channel(simd, &luma, &terms.red, &mut block);
    out.put(0, line, at, &block);
    if !out.is_gray() {
        colour::channel(simd, &luma, &terms.green, &mut block);
        out.put(1, line, at, &block);
        colour::channel(simd, &luma, &terms.blue, &mut block);
        out.put(2, line, at, &block);
    }
}

/// Copies luma as gray, where the codes of both are the same.
#[inline(always)]
fn copy(y: &Plane<'_>, part: LineGroup, out: &mut Lines<'_>) {
    for line in 0..part.count {
        let row = &y.row(part.first + line)[part.start + out.skip..];
        let out = &mut out.planes[0][line * out.stride..][..out.width];
        let length = out.len().min(row.len());
        out[..length].copy_from_slice(&row[..length]);
    }
}

#[inline(always)]
fn luma<S: Simd>(simd: S, y: &Plane<'_>, part: LineGroup, by: &Factors<S>, out: &mut Lines<'_>) {
    for line in 0..part.count {
        let row = y.row(part.first + line);
        let whole = Whole::of(part, row.len().saturating_sub(part.start), out);
        for at in whole.others(part).map(|block| block * BLOCK) {
            let mut room = [0; BLOCK];
            let luma = bytes_at(row, part.start + at, &mut room);
            put(simd, luma, &Terms::none(simd), by, (line, at), out);
        }
        for run in whole.runs {
            let out_line = &mut out.planes[0][line * out.stride..];
            let out_blocks = run.of_output(out_line, out.skip);
            whole_blocks_of_luma(simd, run.of_line(row, part.start), by, out_blocks);
        }
    }
}

/// A separate function, for the reason at [`whole_blocks`].
#[inline(never)]
fn whole_blocks_of_luma<S: Simd>(simd: S, luma: &[Block], by: &Factors<S>, out: &mut [Block]) {
    simd.vectorize(
        #[inline(always)]
        || {
            let none = Terms::none(simd);
            for (block, out) in luma.iter().zip(out) {
                let luma = colour::luma(simd, block, by);
                colour::channel(simd, &luma, &none.red, out);
            }
        },
    );
}

/// Luma as red, green and blue.
#[inline(always)]
fn gray_in_colour<S: Simd>(
    simd: S,
    y: &Plane<'_>,
    part: LineGroup,
    by: &Factors<S>,
    out: &mut Lines<'_>,
) {
    let none = Terms::none(simd);
    for line in 0..part.count {
        for at in (0..part.blocks).map(|block| block * BLOCK) {
            let mut room = [0; BLOCK];
            let luma = bytes_at(y.row(part.first + line), part.start + at, &mut room);
            put(simd, luma, &none, by, (line, at), out);
        }
    }
}

/// Computes the chroma terms once for all lines that share their chroma. `C` bytes of chroma belong to a block.
#[inline(always)]
fn yuv<S: Simd, const C: usize>(
    simd: S,
    [y, u, v]: [&Plane<'_>; 3],
    shift: usize,
    part: LineGroup,
    by: &Factors<S>,
    out: &mut Lines<'_>,
) {
    let start = part.start * C / BLOCK;
    let mut line = 0;
    while line < part.count {
        let source = part.first + line;
        let chroma = source >> shift;
        let is_two = line + 1 < part.count && (source + 1) >> shift == chroma;
        let [u, v] = [u.row(chroma), v.row(chroma)];
        let last = y.row(source + usize::from(is_two));
        let inputs = last.len().saturating_sub(part.start);
        let inputs = inputs.min(u.len().min(v.len()).saturating_sub(start) * BLOCK / C);
        let whole = Whole::of(part, inputs, out);
        let lines = 1 + usize::from(is_two);
        for block in whole.others(part) {
            let (mut in_u, mut in_v) = ([0; C], [0; C]);
            let u = bytes_at(u, start + block * C, &mut in_u);
            let v = bytes_at(v, start + block * C, &mut in_v);
            let terms = terms(simd, u, v, by);
            for nth in 0..lines {
                let mut room = [0; BLOCK];
                let luma = bytes_at(y.row(source + nth), part.start + block * BLOCK, &mut room);
                put(simd, luma, &terms, by, (line + nth, block * BLOCK), out);
            }
        }
        for run in whole.runs {
            let chroma = [run.of_line(u, start), run.of_line(v, start)];
            let (first, second) = out.whole_lines(line, run);
            let second = second.map(|it| if is_two { it } else { &mut it[..0] });
            let last = source + usize::from(is_two);
            let luma = [source, last].map(|line| run.of_line(y.row(line), part.start));
            if run.blocks > 0 {
                whole_blocks::<S, C>(simd, luma, chroma, by, [first, second]);
            }
        }
        line += lines;
    }
}

/// The terms that chroma adds to luma.
#[inline(always)]
fn terms<S: Simd, const C: usize>(simd: S, u: &[u8; C], v: &[u8; C], by: &Factors<S>) -> Terms<S> {
    if let (Some(u), Some(v)) = (u.first_chunk(), v.first_chunk()) {
        return Terms::of_each(simd, u, v, by);
    }
    let (u, v) = (u.first_chunk(), v.first_chunk());
    Terms::of_pairs(simd, u.expect("a half"), v.expect("a half"), by)
}

/// Converts the whole blocks of one or two lines that share their chroma.
///
/// A separate function: within a larger one the compiler keeps the addresses in memory, not in registers.
#[inline(never)]
fn whole_blocks<S: Simd, const C: usize>(
    simd: S,
    luma: [&[Block]; 2],
    [u, v]: [&[[u8; C]]; 2],
    by: &Factors<S>,
    [first, second]: [[&mut [Block]; 3]; 2],
) {
    simd.vectorize(
        #[inline(always)]
        || {
            let chroma = u.iter().zip(v);
            if second[0].is_empty() {
                let luma = luma[0].iter().zip(threes(first));
                for ((u, v), (luma, out)) in chroma.zip(luma) {
                    block(simd, luma, &terms(simd, u, v, by), by, out);
                }
                return;
            }
            let first = luma[0].iter().zip(threes(first));
            let second = luma[1].iter().zip(threes(second));
            for (((u, v), first), second) in chroma.zip(first).zip(second) {
                let terms = terms(simd, u, v, by);
                block(simd, first.0, &terms, by, first.1);
                block(simd, second.0, &terms, by, second.1);
            }
        },
    );
}

/// The blocks of three channels.
type Three<'a> = ((&'a mut Block, &'a mut Block), &'a mut Block);

#[inline(always)]
fn threes<'a>([red, green, blue]: [&'a mut [Block]; 3]) -> impl Iterator<Item = Three<'a>> {
    red.iter_mut().zip(green).zip(blue)
}

#[inline(always)]
fn block<S: Simd>(
    simd: S,
    luma: &Block,
    terms: &Terms<S>,
    by: &Factors<S>,
    ((red, green), blue): Three<'_>,
) {
    let luma = colour::luma(simd, luma, by);
    colour::channel(simd, &luma, &terms.red, red);
    colour::channel(simd, &luma, &terms.green, green);
    colour::channel(simd, &luma, &terms.blue, blue);
}

/// Y0 U Y1 V.
#[inline(always)]
fn yuyv<S: Simd>(
    simd: S,
    plane: &Plane<'_>,
    part: LineGroup,
    by: &Factors<S>,
    out: &mut Lines<'_>,
) {
    let mut terms = Terms::none(simd);
    for line in 0..part.count {
        for at in (0..part.blocks).map(|block| block * BLOCK) {
            let mut room = [0; 2 * BLOCK];
            let from = 2 * (part.start + at);
            let bytes = bytes_at(plane.row(part.first + line), from, &mut room);
            let mut luma = [0; BLOCK];
            let (mut u, mut v) = ([0; HALF], [0; HALF]);
            for i in 0..HALF {
                (luma[2 * i], luma[2 * i + 1]) = (bytes[4 * i], bytes[4 * i + 2]);
                (u[i], v[i]) = (bytes[4 * i + 1], bytes[4 * i + 3]);
            }
            if !out.is_gray() {
                terms = Terms::of_pairs(simd, &u, &v, by);
            }
            put(simd, &luma, &terms, by, (line, at), out);
        }
    }
}

/// R G B.
#[inline(always)]
fn rgb(plane: &Plane<'_>, part: LineGroup, out: &mut Lines<'_>) {
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
