//! The destination of converted lines, and the blocks of them that are whole.

use super::colour::{BLOCK, Block};

/// The lines that are converted at once, from an even pixel on.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineGroup {
    pub(super) first: usize,
    pub(super) count: usize,
    /// The number of the first pixel of each line; it is even.
    pub(super) start: usize,
    pub(super) blocks: usize,
}

/// The destination of converted lines.
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
    pub(super) fn is_gray(&self) -> bool {
        self.planes[1].is_empty()
    }

    #[inline(always)]
    pub(super) fn put(&mut self, plane: usize, line: usize, at: usize, pixels: &Block) {
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

    /// The whole blocks of a line's three channels, and of the line behind it.
    #[inline(always)]
    pub(super) fn whole_lines(
        &mut self,
        line: usize,
        run: Run,
    ) -> ([&mut [Block]; 3], [&mut [Block]; 3]) {
        let (stride, skip) = (self.stride, self.skip);
        let [red, green, blue] = &mut self.planes;
        let (red, green, blue) = (
            two_lines(red, line * stride, stride),
            two_lines(green, line * stride, stride),
            two_lines(blue, line * stride, stride),
        );
        let of = |line| run.of_output(line, skip);
        (
            [of(red.0), of(green.0), of(blue.0)],
            [of(red.1), of(green.1), of(blue.1)],
        )
    }
}

#[inline(always)]
fn two_lines(plane: &mut [u8], start: usize, stride: usize) -> (&mut [u8], &mut [u8]) {
    let lines = plane.get_mut(start..).unwrap_or_default();
    lines.split_at_mut(stride.min(lines.len()))
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

/// Blocks of a line that are whole in the input and in the output.
#[derive(Clone, Copy)]
pub(super) struct Run {
    /// Pixels from the part's start.
    from: usize,
    pub(super) blocks: usize,
}

impl Run {
    /// Its bytes in a line that has `N` for a block.
    #[inline(always)]
    pub(super) fn of_line<'a, const N: usize>(
        &self,
        line: &'a [u8],
        start: usize,
    ) -> &'a [[u8; N]] {
        let bytes = line
            .get(start + self.from * N / BLOCK..)
            .unwrap_or_default();
        bytes.as_chunks().0.get(..self.blocks).unwrap_or_default()
    }

    /// Their place in a line of the output.
    #[inline(always)]
    pub(super) fn of_output<'a>(&self, line: &'a mut [u8], skip: usize) -> &'a mut [Block] {
        let bytes = line.get_mut(self.from - skip..).unwrap_or_default();
        bytes
            .as_chunks_mut()
            .0
            .get_mut(..self.blocks)
            .unwrap_or_default()
    }
}

/// The blocks of a line by the way they are converted.
pub(super) struct Whole {
    /// Most blocks; and the last one, which ends with the line and begins within the block before.
    pub(super) runs: [Run; 2],
    /// Blocks that are not among them.
    before: usize,
    after: usize,
}

impl Whole {
    /// `inputs` are the pixels that each line has from the part's start on.
    #[inline(always)]
    pub(super) fn of(part: LineGroup, inputs: usize, out: &Lines<'_>) -> Self {
        let before = usize::from(out.skip > 0).min(part.blocks);
        let pixels = inputs.min(out.width + out.skip);
        let end = part.blocks.min(pixels / BLOCK).max(before);
        let length = (part.blocks * BLOCK).min(out.width + out.skip);
        let is_overlapping = end < part.blocks
            && length.is_multiple_of(2)
            && length <= inputs
            && length >= BLOCK + 2 * before;
        Self {
            runs: [
                Run {
                    from: before * BLOCK,
                    blocks: end - before,
                },
                Run {
                    from: if is_overlapping {
                        length - BLOCK
                    } else {
                        before * BLOCK
                    },
                    blocks: usize::from(is_overlapping),
                },
            ],
            before,
            after: if is_overlapping { part.blocks } else { end },
        }
    }

    /// The blocks that are not whole.
    #[inline(always)]
    pub(super) fn others(&self, part: LineGroup) -> impl Iterator<Item = usize> {
        (0..self.before).chain(self.after..part.blocks)
    }
}
