//! Pictures as decoders and cameras give them: planes of 8-bit samples.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest side of a picture: what H.264's highest level and JPEG's 16-bit sizes allow in practice.
pub const MAX_SIDE: u32 = 16_384;
/// The most pixels of a picture: 8192 x 8192. Untrusted sizes are compared with it before memory is allocated.
pub const MAX_PIXELS: u64 = 1 << 26;

/// Width and height in pixels, neither zero nor above the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Size {
    /// Pixels of a row.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
}

/// Why a size or a plane is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// A side is zero or too long.
    #[error(
        "{width}x{height} is not a valid size of a picture; a side has 1 to {MAX_SIDE} pixels, both together at most {MAX_PIXELS}"
    )]
    Size {
        /// The stated width in pixels.
        width: u32,
        /// The stated height in rows.
        height: u32,
    },
    /// The text is not a size.
    #[error("`{0}` is not a valid size; write it as 1920x1080, or 480p, 720p, 1080p, 4K")]
    Text(String),
    /// A plane has fewer bytes than its size and stride need.
    #[error(
        "a plane of {rows} rows of {width} bytes with a stride of {stride} does not fit into {bytes} bytes"
    )]
    Plane {
        /// Bytes that a row needs.
        width: usize,
        /// Number of rows.
        rows: usize,
        /// Bytes from row to row.
        stride: usize,
        /// Bytes that are there.
        bytes: usize,
    },
}

impl Size {
    /// 640x480, 1280x720, 1920x1080 and 3840x2160, as the figures of \[Enner2017b\] name them.
    pub const NAMED: [(&'static str, Self); 4] = [
        ("480p", Self::of(640, 480)),
        ("720p", Self::of(1280, 720)),
        ("1080p", Self::of(1920, 1080)),
        ("4K", Self::of(3840, 2160)),
    ];

    const fn of(width: u32, height: u32) -> Self {
        Self { width, height }
    }

    /// A size within the limits.
    ///
    /// # Errors
    /// [`PictureError::Size`].
    pub fn new(width: u32, height: u32) -> Result<Self, PictureError> {
        let sides = 1..=MAX_SIDE;
        let fits = sides.contains(&width)
            && sides.contains(&height)
            && u64::from(width) * u64::from(height) <= MAX_PIXELS;
        fits.then_some(Self { width, height })
            .ok_or(PictureError::Size { width, height })
    }

    /// Number of pixels of the picture.
    #[must_use]
    pub fn pixels(self) -> usize {
        self.width as usize * self.height as usize
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

impl FromStr for Size {
    type Err = PictureError;

    fn from_str(text: &str) -> Result<Self, PictureError> {
        let named = Self::NAMED
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        if let Some((_, size)) = named {
            return Ok(*size);
        }
        let wrong = || PictureError::Text(text.to_owned());
        let (width, height) = text.split_once('x').ok_or_else(wrong)?;
        let number = |text: &str| text.parse().map_err(|_| wrong());
        Self::new(number(width)?, number(height)?)
    }
}

/// The coefficients between R'G'B' and Y'CbCr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Matrix {
    /// ITU-R BT.601-7, table 3: standard definition, and JPEG (JFIF).
    Bt601,
    /// ITU-R BT.709-6, item 3.2: high definition.
    Bt709,
}

impl Matrix {
    /// The matrix of a stream that does not state one: BT.601 below 720 rows, else BT.709.
    #[must_use]
    pub fn of_unspecified(size: Size) -> Self {
        if size.height < 720 {
            Self::Bt601
        } else {
            Self::Bt709
        }
    }
}

/// Which codes stand for black and white.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Range {
    /// Luma 16 to 235, chroma 16 to 240: video.
    Limited,
    /// 0 to 255: JPEG.
    Full,
}

/// How many chroma samples there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Chroma {
    /// One for two by two pixels.
    Yuv420,
    /// One for two pixels of a row.
    Yuv422,
    /// One for each pixel.
    Yuv444,
}

impl Chroma {
    /// The size of a chroma plane, halves rounded up.
    #[must_use]
    pub fn plane(self, luma: Size) -> (usize, usize) {
        let (width, height) = (luma.width as usize, luma.height as usize);
        match self {
            Self::Yuv420 => (width.div_ceil(2), height.div_ceil(2)),
            Self::Yuv422 => (width.div_ceil(2), height),
            Self::Yuv444 => (width, height),
        }
    }
}

/// Rows of bytes, one behind the other with a stride.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plane<'a> {
    bytes: &'a [u8],
    stride: usize,
}

impl<'a> Plane<'a> {
    /// A plane of `rows` rows of `width` bytes.
    ///
    /// # Errors
    /// [`PictureError::Plane`] where the bytes are too few.
    pub fn new(
        bytes: &'a [u8],
        width: usize,
        rows: usize,
        stride: usize,
    ) -> Result<Self, PictureError> {
        let needed = rows
            .checked_sub(1)
            .and_then(|before| before.checked_mul(stride)?.checked_add(width));
        match needed {
            Some(needed) if needed <= bytes.len() && width <= stride => Ok(Self { bytes, stride }),
            _ => Err(PictureError::Plane {
                width,
                rows,
                stride,
                bytes: bytes.len(),
            }),
        }
    }

    /// Bytes from row to row.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// All bytes, from the first row on.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// A row from its first byte on.
    ///
    /// # Panics
    /// Beyond the last row.
    #[inline]
    #[must_use]
    pub fn row(&self, row: usize) -> &'a [u8] {
        &self.bytes[row * self.stride..]
    }
}

/// The samples of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pixels<'a> {
    /// A picture of luma alone.
    Gray {
        /// One byte a pixel.
        y: Plane<'a>,
        /// Which codes stand for black and white.
        range: Range,
    },
    /// Luma and chroma in planes of their own.
    Yuv {
        /// The luma samples, one a pixel.
        y: Plane<'a>,
        /// The samples of the blue difference, Cb.
        u: Plane<'a>,
        /// The samples of the red difference, Cr.
        v: Plane<'a>,
        /// How many samples `u` and `v` have.
        chroma: Chroma,
        /// The coefficients between these samples and RGB.
        matrix: Matrix,
        /// Which codes stand for black and white.
        range: Range,
    },
    /// Y0 U Y1 V: what most USB cameras send (V4L2's YUYV).
    Yuyv {
        /// Two bytes a pixel, an even number of pixels in a row.
        pairs: Plane<'a>,
        /// The coefficients between these samples and RGB.
        matrix: Matrix,
        /// Which codes stand for black and white.
        range: Range,
    },
    /// R G B, three bytes a pixel.
    Rgb(Plane<'a>),
}

/// A picture: its size and its samples, which fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Picture<'a> {
    size: Size,
    pixels: Pixels<'a>,
}

impl<'a> Picture<'a> {
    /// Makes a picture; its planes must have as many bytes as its size needs.
    ///
    /// # Errors
    /// [`PictureError::Plane`] where a plane has fewer.
    pub fn new(size: Size, pixels: Pixels<'a>) -> Result<Self, PictureError> {
        let (width, height) = (size.width as usize, size.height as usize);
        let held =
            |plane: &Plane<'a>, width, rows| Plane::new(plane.bytes, width, rows, plane.stride);
        match &pixels {
            Pixels::Gray { y, .. } => {
                held(y, width, height)?;
            }
            Pixels::Yuv {
                y, u, v, chroma, ..
            } => {
                held(y, width, height)?;
                let (chroma_width, chroma_height) = chroma.plane(size);
                held(u, chroma_width, chroma_height)?;
                held(v, chroma_width, chroma_height)?;
            }
            Pixels::Yuyv { pairs, .. } => {
                held(pairs, width.div_ceil(2) * 4, height)?;
            }
            Pixels::Rgb(plane) => {
                held(plane, width * 3, height)?;
            }
        }
        Ok(Self { size, pixels })
    }

    /// A picture of luma, blue and red difference in planes of their own, each with the bytes from row to row.
    ///
    /// # Errors
    /// [`PictureError::Plane`] where a plane has fewer bytes than its size needs, or a row is longer than from row to
    /// row.
    pub(crate) fn planar(
        size: Size,
        planes: [(&'a [u8], usize); 3],
        chroma: Chroma,
        matrix: Matrix,
        range: Range,
    ) -> Result<Self, PictureError> {
        let [y, u, v] = planes.map(|(bytes, stride)| Plane { bytes, stride });
        let pixels = Pixels::Yuv {
            y,
            u,
            v,
            chroma,
            matrix,
            range,
        };
        Self::new(size, pixels)
    }

    /// The width and height in pixels.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// The samples and their format.
    #[must_use]
    pub fn pixels(&self) -> &Pixels<'a> {
        &self.pixels
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use super::*;

    #[test]
    fn a_size_is_read_as_it_is_written() {
        for (text, width, height) in [("1080p", 1920, 1080), ("4k", 3840, 2160), ("17x3", 17, 3)] {
            assert_eq!(text.parse::<Size>(), Ok(Size { width, height }), "{text}");
        }
        for text in [
            "",
            "x",
            "0x4",
            "4x0",
            "20000x1",
            "16384x16384",
            "1x2x3",
            "-1x2",
        ] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_picture_whose_planes_are_too_short_is_refused() {
        let size = Size::new(5, 3).unwrap();
        let bytes = [0; 64];
        let plane = |length| Plane {
            bytes: &bytes[..length],
            stride: 5,
        };
        let picture = |y, u| {
            let (chroma, matrix, range) = (Chroma::Yuv420, Matrix::Bt601, Range::Full);
            let pixels = Pixels::Yuv {
                y: plane(y),
                u: plane(u),
                v: plane(8),
                chroma,
                matrix,
                range,
            };
            Picture::new(size, pixels)
        };
        assert!(picture(15, 8).is_ok());
        assert!(picture(14, 8).is_err());
        assert!(picture(15, 7).is_err());
    }
}
