//! Rows of samples to rows of planes of red, green and blue, or of gray.
//!
//! With `E_Y`, `E_B`, `E_R` the codes less their offset, R = a E_Y + r E_R, G = a E_Y - (b E_B + c E_R),
//! B = a E_Y + d E_B. The luma coefficients `Kr` and `Kb` are those of ITU-R BT.601-7, section 2.5.1 (0.299, 0.114) and
//! ITU-R BT.709-6, item 3.2 (0.2126, 0.0722): r = 2 (1 - Kr), d = 2 (1 - Kb), b = d Kb / Kg, c = r Kr / Kg.
//! In limited range luma has 219 steps and chroma 224 (both standards' quantisation), in full range both have
//! 255, as JFIF has it.
//!
//! The arithmetic is 16-bit: every product is the upper half of a 16-by-16-bit multiplication, with 5 bits of
//! fraction; the sum is rounded once. What comes out is the same whatever instructions compute it, differs by less than 1
//! from the real-valued formula, and gray goes in as gray comes out: without chroma, R = G = B = gray.
//!
//! The code is plain loops over arrays of [`BLOCK`] pixels. It has no instructions of its own: compiled
//! within `Simd::vectorize`, the compiler makes vectors of it.

use crate::picture::{Chroma, Matrix, Picture, Pixels, Plane, Range};

/// Pixels that are converted at once.
pub(super) const BLOCK: usize = 64;
/// Chroma samples of a block, at most one for two pixels; or pixels with an even number.
const HALF: usize = BLOCK / 2;
/// Bits of fraction of the sums.
const FRACTION: i32 = 5;

type Block = [u8; BLOCK];
type Lanes = [i16; HALF];

/// The factors of a matrix and a range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coefficients {
    /// Of luma, times 2^14.
    luma: i16,
    /// The offset of black and a half, for rounding, times 2^5.
    bias: i16,
    /// Times 2^13, as the others.
    red_of_v: i16,
    green_of_u: i16,
    green_of_v: i16,
    blue_of_u: i16,
}

impl Coefficients {
    /// From the standards' formulas.
    pub(super) fn new(matrix: Matrix, range: Range) -> Self {
        let (kr, kb) = match matrix {
            Matrix::Bt601 => (0.299, 0.114),
            Matrix::Bt709 => (0.2126, 0.0722),
        };
        let (black, luma, chroma) = match range {
            Range::Limited => (16.0, 255.0 / 219.0, 255.0 / 224.0),
            Range::Full => (0.0, 1.0, 1.0),
        };
        let kg: f64 = 1.0 - kr - kb;
        let (red, blue) = (2.0 * (1.0 - kr) * chroma, 2.0 * (1.0 - kb) * chroma);
        // A product is rounded down, by half a step of its fraction in the mean unless it is exact.
        let lost = if luma == 1.0 { 0.0 } else { 0.5 };
        let one = f64::from(1 << FRACTION);
        let fixed = |value: f64, one: f64| (value * one).round() as i16;
        Self {
            luma: fixed(luma, 16_384.0),
            bias: fixed(one / 2.0 + lost - black * luma * one, 1.0),
            red_of_v: fixed(red, 8192.0),
            green_of_u: fixed(-blue * kb / kg, 8192.0),
            green_of_v: fixed(-red * kr / kg, 8192.0),
            blue_of_u: fixed(blue, 8192.0),
        }
    }

    /// Those of a picture.
    pub(super) fn of(pixels: &Pixels<'_>) -> Self {
        match *pixels {
            Pixels::Gray { range, .. } => Self::new(Matrix::Bt601, range),
            Pixels::Yuv { matrix, range, .. } | Pixels::Yuyv { matrix, range, .. } => {
                Self::new(matrix, range)
            }
            Pixels::Rgb(_) => Self::new(Matrix::Bt601, Range::Full),
        }
    }
}

/// The upper half of a product.
#[inline(always)]
fn upper(a: i16, b: i16) -> i16 {
    ((i32::from(a) * i32::from(b)) >> 16) as i16
}

/// What chroma adds to each channel.
struct Terms {
    red: Lanes,
    green: Lanes,
    blue: Lanes,
}

impl Terms {
    const NONE: Self = Self {
        red: [0; HALF],
        green: [0; HALF],
        blue: [0; HALF],
    };

    /// Chroma samples in the low bytes of `u` and `v`.
    #[inline(always)]
    fn set(&mut self, u: &[u16; HALF], v: &[u16; HALF], by: &Coefficients) {
        for i in 0..HALF {
            // 128 is no colour: the code less 128, times 2^8.
            let u = ((u[i] << 8) ^ 0x8000) as i16;
            let v = ((v[i] << 8) ^ 0x8000) as i16;
            self.red[i] = upper(v, by.red_of_v);
            self.green[i] = upper(u, by.green_of_u) + upper(v, by.green_of_v);
            self.blue[i] = upper(u, by.blue_of_u);
        }
    }
}

/// A sum, rounded.
#[inline(always)]
fn code(sum: i16) -> u16 {
    (sum >> FRACTION).clamp(0, 255) as u16
}

/// A channel of the pixels with an even number, of `even`, and of those with an odd one, of `odd`.
#[inline(always)]
fn channel(luma: &[Lanes; 2], even: &Lanes, odd: &Lanes, out: &mut Block) {
    for i in 0..HALF {
        let pair = code(luma[0][i] + even[i]) | (code(luma[1][i] + odd[i]) << 8);
        [out[2 * i], out[2 * i + 1]] = pair.to_le_bytes();
    }
}

/// Bytes of a block with an even number, and those with an odd one.
#[inline(always)]
fn halves(block: &Block) -> [[u16; HALF]; 2] {
    let (mut even, mut odd) = ([0; HALF], [0; HALF]);
    for (i, [first, second]) in block.as_chunks().0.iter().enumerate() {
        let pair = u16::from_le_bytes([*first, *second]);
        (even[i], odd[i]) = (pair & 0xff, pair >> 8);
    }
    [even, odd]
}

/// Bytes as numbers.
#[inline(always)]
fn widened(bytes: &[u8; HALF]) -> [u16; HALF] {
    let mut wide = [0; HALF];
    for (wide, byte) in wide.iter_mut().zip(bytes) {
        *wide = u16::from(*byte);
    }
    wide
}

/// Luma with 5 bits of fraction, of the pixels with an even and an odd number.
#[inline(always)]
fn luma_lanes(block: &Block, by: &Coefficients) -> [Lanes; 2] {
    let mut lanes = [[0; HALF]; 2];
    for (lanes, codes) in lanes.iter_mut().zip(halves(block)) {
        for (lane, code) in lanes.iter_mut().zip(codes) {
            *lane = upper((code << 7) as i16, by.luma) + by.bias;
        }
    }
    lanes
}

/// Where converted rows are put: planes of rows of whole blocks.
#[derive(Debug, Default)]
pub(super) struct Band {
    /// Red, green, blue; or gray alone.
    pub(super) planes: Vec<Vec<u8>>,
    /// Bytes from row to row, a multiple of [`BLOCK`].
    pub(super) stride: usize,
}

impl Band {
    /// Planes for `rows` rows of `width` pixels.
    pub(super) fn new(planes: usize, rows: usize, width: usize) -> Self {
        let stride = width.next_multiple_of(BLOCK);
        Self {
            planes: vec![vec![0; rows * stride]; planes],
            stride,
        }
    }

    /// A row of a plane.
    #[inline(always)]
    pub(super) fn row(&self, plane: usize, row: usize) -> &[u8] {
        &self.planes[plane][row * self.stride..][..self.stride]
    }

    #[inline(always)]
    fn block(&mut self, plane: usize, row: usize, block: usize) -> &mut Block {
        let start = row * self.stride + block * BLOCK;
        self.planes[plane][start..]
            .first_chunk_mut()
            .expect("a row holds whole blocks")
    }
}

/// `N` bytes from `at` on. Beyond the last of the plane: zeros, made in `room`.
#[inline(always)]
fn bytes_at<'a, const N: usize>(row: &'a [u8], at: usize, room: &'a mut [u8; N]) -> &'a [u8; N] {
    let rest = row.get(at..).unwrap_or_default();
    if let Some(bytes) = rest.first_chunk() {
        return bytes;
    }
    *room = [0; N];
    room[..rest.len()].copy_from_slice(rest);
    room
}

/// The part of a picture that is converted at once: rows, and columns from an even one on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) top: usize,
    pub(super) rows: usize,
    /// Even.
    pub(super) left: usize,
    pub(super) blocks: usize,
    /// Where the first row goes to in the band.
    pub(super) to: usize,
}

/// Converts a part of a picture into a band, of one plane for gray, of three for red, green and blue.
#[inline(always)]
pub(super) fn convert(picture: &Picture<'_>, by: &Coefficients, part: Part, band: &mut Band) {
    match *picture.pixels() {
        Pixels::Rgb(plane) => rgb(&plane, part, band),
        Pixels::Gray { y, .. } => gray(&y, part, by, band),
        Pixels::Yuv { y, .. } if band.planes.len() == 1 => gray(&y, part, by, band),
        Pixels::Yuv {
            y, u, v, chroma, ..
        } => match chroma {
            Chroma::Yuv420 => halved(&y, &u, &v, 1, part, by, band),
            Chroma::Yuv422 => halved(&y, &u, &v, 0, part, by, band),
            Chroma::Yuv444 => full(&y, &u, &v, part, by, band),
        },
        Pixels::Yuyv { pairs, .. } => yuyv(&pairs, part, by, band),
    }
}

/// Writes one block: of luma alone where the band is gray.
#[inline(always)]
fn write(
    luma: &Block,
    [even, odd]: [&Terms; 2],
    by: &Coefficients,
    band: &mut Band,
    row: usize,
    block: usize,
) {
    let luma = luma_lanes(luma, by);
    channel(&luma, &even.red, &odd.red, band.block(0, row, block));
    if band.planes.len() > 1 {
        channel(&luma, &even.green, &odd.green, band.block(1, row, block));
        channel(&luma, &even.blue, &odd.blue, band.block(2, row, block));
    }
}

#[inline(always)]
fn gray(y: &Plane<'_>, part: Part, by: &Coefficients, band: &mut Band) {
    for row in 0..part.rows {
        for block in 0..part.blocks {
            let mut room = [0; BLOCK];
            let at = part.left + block * BLOCK;
            let luma = bytes_at(y.row(part.top + row), at, &mut room);
            write(luma, [&Terms::NONE; 2], by, band, part.to + row, block);
        }
    }
}

/// Chroma for two pixels of a row, and for one or, shifted by 1, two rows.
#[inline(always)]
fn halved(
    y: &Plane<'_>,
    u: &Plane<'_>,
    v: &Plane<'_>,
    shift: usize,
    part: Part,
    by: &Coefficients,
    band: &mut Band,
) {
    for block in 0..part.blocks {
        let at = part.left + block * BLOCK;
        let mut terms = Terms::NONE;
        for row in 0..part.rows {
            let source = part.top + row;
            let chroma = source >> shift;
            if row == 0 || chroma != (source - 1) >> shift {
                let mut room = [[0; HALF]; 2];
                let [in_u, in_v] = &mut room;
                let u = widened(bytes_at(u.row(chroma), at / 2, in_u));
                let v = widened(bytes_at(v.row(chroma), at / 2, in_v));
                terms.set(&u, &v, by);
            }
            let mut room = [0; BLOCK];
            let luma = bytes_at(y.row(source), at, &mut room);
            write(luma, [&terms; 2], by, band, part.to + row, block);
        }
    }
}

/// Chroma for each pixel.
#[inline(always)]
fn full(
    y: &Plane<'_>,
    u: &Plane<'_>,
    v: &Plane<'_>,
    part: Part,
    by: &Coefficients,
    band: &mut Band,
) {
    let (mut even, mut odd) = (Terms::NONE, Terms::NONE);
    for block in 0..part.blocks {
        let at = part.left + block * BLOCK;
        for row in 0..part.rows {
            let source = part.top + row;
            let mut rooms = [[0; BLOCK]; 3];
            let [in_y, in_u, in_v] = &mut rooms;
            let u = halves(bytes_at(u.row(source), at, in_u));
            let v = halves(bytes_at(v.row(source), at, in_v));
            even.set(&u[0], &v[0], by);
            odd.set(&u[1], &v[1], by);
            let luma = bytes_at(y.row(source), at, in_y);
            write(luma, [&even, &odd], by, band, part.to + row, block);
        }
    }
}

/// Y0 U Y1 V.
#[inline(always)]
fn yuyv(plane: &Plane<'_>, part: Part, by: &Coefficients, band: &mut Band) {
    let mut terms = Terms::NONE;
    for row in 0..part.rows {
        for block in 0..part.blocks {
            let mut room = [0; 2 * BLOCK];
            let at = 2 * (part.left + block * BLOCK);
            let bytes = bytes_at(plane.row(part.top + row), at, &mut room);
            let mut luma = [0; BLOCK];
            let (mut u, mut v) = ([0; HALF], [0; HALF]);
            for i in 0..HALF {
                [luma[2 * i], luma[2 * i + 1]] = [bytes[4 * i], bytes[4 * i + 2]];
                (u[i], v[i]) = (u16::from(bytes[4 * i + 1]), u16::from(bytes[4 * i + 3]));
            }
            if band.planes.len() > 1 {
                terms.set(&u, &v, by);
            }
            write(&luma, [&terms; 2], by, band, part.to + row, block);
        }
    }
}

/// R G B. Its gray is the luma of BT.601, as that of JPEG, OpenCV and MATLAB.
#[inline(always)]
fn rgb(plane: &Plane<'_>, part: Part, band: &mut Band) {
    for row in 0..part.rows {
        for block in 0..part.blocks {
            let mut room = [0; 3 * BLOCK];
            let at = 3 * (part.left + block * BLOCK);
            let bytes = bytes_at(plane.row(part.top + row), at, &mut room);
            if band.planes.len() == 1 {
                let out = band.block(0, part.to + row, block);
                for (out, pixel) in out.iter_mut().zip(bytes.as_chunks().0) {
                    *out = luma_of(*pixel);
                }
            } else {
                for plane in 0..3 {
                    let out = band.block(plane, part.to + row, block);
                    for (i, out) in out.iter_mut().enumerate() {
                        *out = bytes[3 * i + plane];
                    }
                }
            }
        }
    }
}

/// 0.299 R + 0.587 G + 0.114 B, rounded, with 16 bits of fraction.
#[inline(always)]
fn luma_of([red, green, blue]: [u8; 3]) -> u8 {
    let (red, green, blue) = (u32::from(red), u32::from(green), u32::from(blue));
    ((19_595 * red + 38_470 * green + 7471 * blue + 32_768) >> 16) as u8
}
