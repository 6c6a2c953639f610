//! A small encoder of baseline JPEG (ITU-T T.81), 4:2:0, with the standard's own tables (annex K).
//!
//! For the simulator's HTTP server; the fastest one it is not. Samples are written as they are: a picture of limited
//! range shows a little pale.

/// Table K.1.
const LUMA_STEPS: [u8; 64] = [
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113,
    92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
];

/// Table K.2 from its upper left corner; the rest is 99.
const CHROMA_STEPS: [[u8; 4]; 4] = [
    [17, 18, 24, 47],
    [18, 21, 26, 66],
    [24, 26, 56, 99],
    [47, 66, 99, 99],
];

/// Tables K.3 to K.6: how many codes there are of each length, and what they stand for.
const DC_LENGTHS: [[u8; 16]; 2] = [
    [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
    [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0],
];
const DC_VALUES: [u8; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
const AC_LENGTHS: [[u8; 16]; 2] = [
    [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d],
    [0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 0x77],
];
/// The first values of the AC tables; the others follow by size and run, see [`ac_values`].
const AC_LUMA: &[u8] = &[
    0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07,
    0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0,
    0x24, 0x33, 0x62, 0x72, 0x82,
];
const AC_CHROMA: &[u8] = &[
    0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71,
    0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33, 0x52, 0xf0,
    0x15, 0x62, 0x72, 0xd1, 0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1,
];

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

/// All values of an AC table: its first, and then the 16-bit codes, which stand in order of their number.
fn ac_values(first: &[u8]) -> Vec<u8> {
    let rest =
        (0..=0xff).filter(|value| (1..=10).contains(&(value & 15)) && !first.contains(value));
    first.iter().copied().chain(rest).collect()
}

/// The order of coefficients (figure A.6): index by place in the zigzag.
fn zigzag() -> [usize; 64] {
    let mut order: [usize; 64] = std::array::from_fn(|at| at);
    order.sort_by_key(|at| {
        let (x, y) = (at % 8, at / 8);
        let along = if (x + y) % 2 == 0 { x } else { y };
        (x + y, along)
    });
    order
}

/// An encoder for pictures of any even size.
pub struct JpegEncoder {
    /// Of luma and of chroma, in rows.
    steps: [[u8; 64]; 2],
    dc: [Codes; 2],
    ac: [Codes; 2],
    zigzag: [usize; 64],
    /// `cosines[u][x]`: the matrix of the transform (A.3.3), scaled to be orthogonal.
    cosines: [[f32; 8]; 8],
}

impl JpegEncoder {
    /// An encoder of a quality from 1 to 100, by the formula of the Independent JPEG Group's library.
    #[must_use]
    pub fn new(quality: u32) -> Self {
        let quality = quality.clamp(1, 100);
        let scale = if quality < 50 {
            5000 / quality
        } else {
            200 - 2 * quality
        };
        let scaled = |step: u8| ((u32::from(step) * scale + 50) / 100).clamp(1, 255) as u8;
        let chroma = |at: usize| {
            let row = CHROMA_STEPS.get(at / 8);
            *row.and_then(|row| row.get(at % 8)).unwrap_or(&99)
        };
        let cosine = |u: usize, x: usize| {
            let angle = ((2 * x + 1) * u) as f32 * std::f32::consts::PI / 16.0;
            angle.cos() * if u == 0 { 0.125_f32.sqrt() } else { 0.5 }
        };
        Self {
            steps: [
                LUMA_STEPS.map(scaled),
                std::array::from_fn(|at| scaled(chroma(at))),
            ],
            dc: DC_LENGTHS.each_ref().map(|it| codes(it, &DC_VALUES)),
            ac: [
                codes(&AC_LENGTHS[0], &ac_values(AC_LUMA)),
                codes(&AC_LENGTHS[1], &ac_values(AC_CHROMA)),
            ],
            zigzag: zigzag(),
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
        let mut head = vec![0xff, 0xd8];
        let mut segment = |marker: u8, content: &[u8]| {
            head.extend([0xff, marker]);
            head.extend((content.len() as u16 + 2).to_be_bytes());
            head.extend(content);
        };
        segment(0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
        for (table, steps) in (0..).zip(&self.steps) {
            let ordered = self.zigzag.iter().map(|at| steps[*at]);
            segment(
                0xdb,
                &std::iter::once(table).chain(ordered).collect::<Vec<_>>(),
            );
        }
        let [width, height] = [width, height].map(|side| (side as u16).to_be_bytes());
        let mut frame = vec![8, height[0], height[1], width[0], width[1], 3];
        frame.extend([1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
        segment(0xc0, &frame);
        for (table, first) in [(0, AC_LUMA), (1, AC_CHROMA)] {
            let lengths = DC_LENGTHS[usize::from(table)];
            segment(0xc4, &[&[table], &lengths[..], &DC_VALUES].concat());
            let lengths = AC_LENGTHS[usize::from(table)];
            segment(
                0xc4,
                &[&[0x10 | table], &lengths[..], &ac_values(first)].concat(),
            );
        }
        segment(0xda, &[3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0]);
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
        let level = |at: &usize| {
            let step = f32::from(self.steps[table][*at]);
            (spectrum[*at] / step).round() as i32
        };
        let mut levels = self.zigzag.iter().map(level);
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
