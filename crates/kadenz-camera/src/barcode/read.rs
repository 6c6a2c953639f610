//! Reads codes at the places of their marks.

use super::find::{ACROSS, Corners, DOWN, Point, each_code};
use super::{BYTES, Code, DATA_COLUMN, DATA_COLUMNS, MARK};
use crate::picture::{PictureError, Pixels, Plane, Size};

/// A gray image: one byte a pixel.
#[derive(Debug, Clone, Copy)]
pub struct Gray<'a> {
    plane: Plane<'a>,
    size: Size,
}

impl<'a> Gray<'a> {
    /// An image of rows with a stride in bytes.
    ///
    /// # Errors
    /// [`PictureError::Plane`] where the bytes are too few.
    pub fn new(bytes: &'a [u8], size: Size, stride: usize) -> Result<Self, PictureError> {
        let plane = Plane::new(bytes, size.width as usize, size.height as usize, stride)?;
        Ok(Self { plane, size })
    }

    /// The luma of a picture; `None` where it has no plane of luma.
    #[must_use]
    pub fn of(picture: &crate::picture::Picture<'a>) -> Option<Self> {
        match picture.pixels() {
            Pixels::Gray { y, .. } | Pixels::Yuv { y, .. } => Some(Self {
                plane: *y,
                size: picture.size(),
            }),
            Pixels::Yuyv { .. } | Pixels::Rgb(_) => None,
        }
    }

    pub(super) fn width(&self) -> usize {
        self.size.width as usize
    }

    pub(super) fn height(&self) -> usize {
        self.size.height as usize
    }

    pub(super) fn row(&self, y: usize) -> &'a [u8] {
        &self.plane.row(y)[..self.width()]
    }

    fn at(&self, point: Point) -> Option<u8> {
        let is_inside = (0.0..self.width() as f32).contains(&point.x)
            && (0.0..self.height() as f32).contains(&point.y);
        // The range is checked, and NaN is in no range.
        is_inside.then(|| self.row(point.y as usize)[point.x as usize])
    }
}

/// A code in an image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodedCode {
    /// What the code says.
    pub code: Code,
    /// The middles of its marks, in pixels: left and right above, left and right below.
    pub corners: [(f32, f32); 4],
}

/// Why a picture gives no code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Fewer codes than are painted.
    #[error("{0} of 3 codes can be read; show the whole picture, larger, sharper or brighter")]
    Missing(usize),
    /// The codes differ: the picture has parts of several pictures.
    #[error("the picture is torn: its parts are of the pictures {numbers:?}")]
    Torn {
        /// Their numbers, from top to bottom.
        numbers: Vec<u32>,
    },
}

/// The code of a picture that has all three and in which they are equal.
///
/// # Errors
/// [`ReadError`], where a code is missing or they differ.
pub fn whole(found: &[DecodedCode]) -> Result<Code, ReadError> {
    let Some(first) = found.first() else {
        return Err(ReadError::Missing(0));
    };
    if found.iter().any(|other| other.code != first.code) {
        let numbers = found.iter().map(|it| it.code.number).collect();
        return Err(ReadError::Torn { numbers });
    }
    if found.len() < 3 {
        return Err(ReadError::Missing(found.len()));
    }
    Ok(first.code)
}

/// Reads the codes of images, and searches first at their places in the image before.
#[derive(Debug, Default)]
pub struct Reader {
    known: Vec<Corners>,
    size: Option<Size>,
    found: Vec<DecodedCode>,
}

/// The most codes in an image.
const MAX_CODES: usize = 8;

impl Reader {
    /// A reader that has not read an image.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The codes of an image, from top to bottom. Work and memory are bounded by the image's size.
    pub fn read(&mut self, gray: &Gray<'_>) -> &[DecodedCode] {
        self.found.clear();
        if self.size == Some(gray.size) {
            self.found
                .extend(self.known.iter().filter_map(|it| code_at(gray, it)));
            if self.found.len() == 3 && self.known.len() == 3 {
                return &self.found;
            }
            self.found.clear();
        }
        self.known.clear();
        self.size = Some(gray.size);
        let (known, found) = (&mut self.known, &mut self.found);
        each_code(gray, |corners| {
            let code = code_at(gray, &corners);
            if let Some(code) = code {
                // A mark may be found twice, and its code with it.
                let is_new = known.iter().all(|it| !is_same_place(it, &corners));
                if is_new && found.len() < MAX_CODES {
                    known.push(corners);
                    found.push(code);
                }
            }
            code.is_some()
        });
        &self.found
    }
}

/// Whether two codes are less than a quarter of a code's width apart.
fn is_same_place(a: &Corners, b: &Corners) -> bool {
    let (dx, dy) = (a[0].x - b[0].x, a[0].y - b[0].y);
    dx.hypot(dy) < (a[1].x - a[0].x).abs() / 4.0
}

fn code_at(gray: &Gray<'_>, corners: &Corners) -> Option<DecodedCode> {
    let grid = Grid::new(corners)?;
    let levels = [(0.0, 0.0), (ACROSS, 0.0), (0.0, DOWN), (ACROSS, DOWN)]
        .map(|(x, y)| mark_level(gray, &grid, x, y));
    let [Some(a), Some(b), Some(c), Some(d)] = levels else {
        return None;
    };
    let mut bytes = [0; BYTES];
    for (index, byte) in bytes.iter_mut().enumerate() {
        for bit in index * 8..index * 8 + 8 {
            let half = (MARK / 2) as f32;
            let x = (DATA_COLUMN + bit % DATA_COLUMNS) as f32 - half;
            let y = (bit / DATA_COLUMNS) as f32 - half;
            let (right, down) = (x / ACROSS, y / DOWN);
            let above = a + (b - a) * right;
            let level = above + (c + (d - c) * right - above) * down;
            *byte = *byte << 1 | u8::from(cell_mean(gray, &grid, x, y)? < level);
        }
    }
    let code = Code::from_bytes(bytes)?;
    let corners = corners.map(|it| (it.x, it.y));
    Some(DecodedCode { code, corners })
}

/// The level between black and white at a mark, from its middle and the ring around it.
fn mark_level(gray: &Gray<'_>, grid: &Grid, x: f32, y: f32) -> Option<f32> {
    let ring = [(-2.0, 0.0), (2.0, 0.0), (0.0, -2.0), (0.0, 2.0)];
    let mut light = 0.0;
    for (dx, dy) in ring {
        light += cell_mean(gray, grid, x + dx, y + dy)? / 4.0;
    }
    let dark = cell_mean(gray, grid, x, y)?;
    (light > dark).then_some((light + dark) / 2.0)
}

/// The mean of nine points of a cell.
fn cell_mean(gray: &Gray<'_>, grid: &Grid, x: f32, y: f32) -> Option<f32> {
    let mut sum = 0.0;
    for dy in [-0.2, 0.0, 0.2] {
        for dx in [-0.2, 0.0, 0.2] {
            sum += f32::from(gray.at(grid.at(x + dx, y + dy))?);
        }
    }
    Some(sum / 9.0)
}

/// From cells, counted from the middle of the upper left mark, to pixels: the projective map that takes the four
/// marks to where they are (Heckbert, "Fundamentals of texture mapping and image warping", section 2.2.3).
struct Grid {
    x: [f32; 3],
    y: [f32; 3],
    w: [f32; 2],
}

impl Grid {
    fn new(&[a, b, c, d]: &Corners) -> Option<Self> {
        let (dx1, dx2, sx) = (b.x - d.x, c.x - d.x, a.x - b.x + d.x - c.x);
        let (dy1, dy2, sy) = (b.y - d.y, c.y - d.y, a.y - b.y + d.y - c.y);
        let area = dx1 * dy2 - dx2 * dy1;
        if area.abs() < 1.0 {
            return None;
        }
        let g = (sx * dy2 - dx2 * sy) / area;
        let h = (dx1 * sy - sx * dy1) / area;
        Some(Self {
            x: [b.x - a.x + g * b.x, c.x - a.x + h * c.x, a.x],
            y: [b.y - a.y + g * b.y, c.y - a.y + h * c.y, a.y],
            w: [g, h],
        })
    }

    fn at(&self, x: f32, y: f32) -> Point {
        let (u, v) = (x / ACROSS, y / DOWN);
        let w = self.w[0] * u + self.w[1] * v + 1.0;
        let of = |row: &[f32; 3]| (row[0] * u + row[1] * v + row[2]) / w;
        Point {
            x: of(&self.x),
            y: of(&self.y),
        }
    }
}
