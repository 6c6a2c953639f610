//! A small encoder of baseline JPEG (ITU-T T.81), 4:2:0, with the standard's own tables (annex K).
//!
//! For the simulator's HTTP server; it is not optimised for speed. Samples are written unchanged: a picture of limited
//! range looks slightly pale.

use crate::wire::video::jpeg::tables::{self, ac_values};

/// Code and length of each value of a Huffman table.
type Codes = [(u16, u8); 256];

/// The codes of a table (annex C): counted up, and doubled with each length.
fn codes(lengths: &[u8; 16], values: &[u8]) -> Codes {
    let mut codes = [(0, 0); 256];
    let (mut code, mut values) = (0_u16, values.iter());
    for (length, count) in (1..).zip(lengths) {
        for value in values.by_ref().take(usize::from(*count)) {
            codes[usize::from(*value)] = (code, length);
            code += 1;
        }
        code <<= 1;
    }
    codes
}

/// An encoder for pictures of any even size.
pub struct JpegEncoder {
    /// The quantisation steps of luma and of chroma, in zigzag order.
    steps: [[u8; 64]; 2],
    dc: [Codes; 2],
    ac: [Codes; 2],
    /// `cosines[u][x]`: the matrix of the transform (A.3.3), scaled to be orthogonal.
    cosines: [[f32; 8]; 8],
}

impl JpegEncoder {
    /// An encoder of a quality from 1 to 100, by the formula of the Independent JPEG Group's library.
    #[must_use]
    pub fn new(quality: u8) -> Self {
        let (luma, chroma) = tables::scaled(quality);
        let cosine = |u: usize, x: usize| {
            let angle = ((2 * x + 1) * u) as f32 * std::f32::consts::PI / 16.0;
            angle.cos() * if u == 0 { 0.125_f32.sqrt() } else { 0.5 }
        };
        Self {
            steps: [luma, chroma],
            dc: [tables::DC_LUMA, tables::DC_CHROMA].map(|it| codes(&it, &tables::DC_VALUES)),
            ac: [
                codes(&tables::AC_LUMA, &ac_values(&tables::AC_LUMA_SHORT)),
                codes(&tables::AC_CHROMA, &ac_values(&tables::AC_CHROMA_SHORT)),
            ],
            cosines: std::array::from_fn(|u| std::array::from_fn(|x| cosine(u, x))),
        }
    }

    /// Encodes planes of 4:2:0 without gaps between their rows: luma, blue and red difference. Allocates.
    ///
    /// # Panics
    /// Where a plane is shorter than the size says.
    #[must_use]
    pub fn encode(&self, width: usize, height: usize, planes: [&[u8]; 3]) -> Vec<u8> {
        let mut jpeg = self.head(width, height);
        let mut bits = BitWriter {
            bytes: &mut jpeg,
            register: 0,
            count: 0,
        };
        let mut before = [0; 3];
        for y in (0..height).step_by(16) {
            for x in (0..width).step_by(16) {
                for (dx, dy) in [(0, 0), (8, 0), (0, 8), (8, 8)] {
                    let block = block(planes[0], width, height, x + dx, y + dy);
                    self.write_block(&mut bits, &block, 0, &mut before[0]);
                }
                for (plane, before) in planes[1..].iter().zip(&mut before[1..]) {
                    let block = block(plane, width / 2, height / 2, x / 2, y / 2);
                    self.write_block(&mut bits, &block, 1, before);
                }
            }
        }
        // Filled up with ones (F.1.2.3).
        bits.write(0x7f, 7);
        jpeg.extend([0xff, 0xd9]);
        jpeg
    }

    /// All before the coded samples (annex B).
    fn head(&self, width: usize, height: usize) -> Vec<u8> {
        let mut head = Vec::new();
        let size = (width as u16, height as u16);
        let written = tables::write_headers(&mut head, self.steps.as_flattened(), 0, size, true, 0);
        debug_assert!(written.is_some(), "there are two tables");
        head.splice(2..2, *b"\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
        head
    }

    /// Annex F.1.2; `table` is 0 for luma, 1 for chroma.
    fn write_block(
        &self,
        bits: &mut BitWriter<'_>,
        block: &[f32; 64],
        table: usize,
        before: &mut i32,
    ) {
        let spectrum = self.transformed(block);
        let steps = tables::zigzag().zip(&self.steps[table]);
        let mut levels = steps.map(|((row, column), step)| {
            (spectrum[row * 8 + column] / f32::from(*step)).round() as i32
        });
        let dc = levels.next().unwrap_or_default();
        let difference = dc - std::mem::replace(before, dc);
        bits.write_code(self.dc[table][magnitude(difference) as usize]);
        bits.write_signed(difference);
        let mut zeros = 0;
        for level in levels {
            if level == 0 {
                zeros += 1;
                continue;
            }
            for _ in 0..zeros / 16 {
                bits.write_code(self.ac[table][0xf0]);
            }
            let symbol = (zeros % 16) << 4 | magnitude(level) as usize;
            bits.write_code(self.ac[table][symbol]);
            bits.write_signed(level);
            zeros = 0;
        }
        if zeros > 0 {
            bits.write_code(self.ac[table][0]);
        }
    }

    /// The forward transform, rows and then columns.
    fn transformed(&self, block: &[f32; 64]) -> [f32; 64] {
        let mut half = [0.0; 64];
        for y in 0..8 {
            for x in 0..8 {
                for (u, cosines) in self.cosines.iter().enumerate() {
                    half[y * 8 + u] += block[y * 8 + x] * cosines[x];
                }
            }
        }
        let mut whole = [0.0; 64];
        for (v, cosines) in self.cosines.iter().enumerate() {
            for y in 0..8 {
                for u in 0..8 {
                    whole[v * 8 + u] += half[y * 8 + u] * cosines[y];
                }
            }
        }
        whole
    }
}

/// Samples of a block around zero; beyond the edges, the last ones again.
fn block(plane: &[u8], width: usize, height: usize, left: usize, top: usize) -> [f32; 64] {
    std::array::from_fn(|at| {
        let x = (left + at % 8).min(width - 1);
        let y = (top + at / 8).min(height - 1);
        f32::from(plane[y * width + x]) - 128.0
    })
}

/// How many bits a value has (table F.1).
fn magnitude(value: i32) -> u32 {
    32 - value.unsigned_abs().leading_zeros()
}

struct BitWriter<'a> {
    bytes: &'a mut Vec<u8>,
    register: u32,
    count: u32,
}

impl BitWriter<'_> {
    fn write(&mut self, bits: u32, count: u32) {
        self.register = self.register << count | bits;
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            let byte = (self.register >> self.count) as u8;
            self.bytes.push(byte);
            if byte == 0xff {
                self.bytes.push(0);
            }
        }
    }

    fn write_code(&mut self, (code, length): (u16, u8)) {
        self.write(u32::from(code), u32::from(length));
    }

    /// The low bits of a value, of one below zero less one (F.1.2.1).
    fn write_signed(&mut self, value: i32) {
        let count = magnitude(value);
        let low = if value < 0 { value - 1 } else { value };
        self.write(low as u32 & ((1 << count) - 1), count);
    }
}
