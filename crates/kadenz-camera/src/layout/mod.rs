//! From a picture to the bytes that a program wants.
//!
//! A [`Layout`] says which bytes: the channels, their order in memory, the region of the picture and the size
//! it is scaled to. [`Layout::convert`] writes them into memory that the caller has.
//!
//! As text: `rgb`, `bgr` and `gray` are rows of interleaved pixels, as OpenCV, ROS and JPEG have them;
//! `rgb-column-major`, `gray-column-major` are planes of columns, as MATLAB, Octave and Fortran have them.
//! `rgb@640x360` scales; `rgb[320x240+100+50]` takes a region (X11's geometry: size, then left and top);
//! `rgb[320x240+100+50]@160x120` does both, the region first.

use std::fmt;
use std::str::FromStr;

use crate::picture::{PictureError, Size};

/// Which channels, in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channels {
    /// Luma.
    Gray,
    /// Red, green, blue.
    Rgb,
    /// Blue, green, red.
    Bgr,
}

impl Channels {
    /// How many there are.
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::Rgb | Self::Bgr => 3,
        }
    }
}

/// How pixels follow one another in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// Row after row, the channels of a pixel side by side: an array of height x width x channels in C order.
    Interleaved,
    /// Channel after channel, in each column after column: an array of height x width x channels in Fortran order.
    ColumnMajor,
}

/// A part of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Region {
    /// Its size.
    pub size: Size,
    /// Pixels from the left edge.
    pub left: u32,
    /// Rows from the top.
    pub top: u32,
}

/// The bytes that a program wants of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Which channels.
    pub channels: Channels,
    /// How they follow one another.
    pub order: Order,
    /// The part of the picture; all of it where none is stated.
    pub region: Option<Region>,
    /// The size it is scaled to; its own where none is stated.
    pub scaled: Option<Size>,
}

impl FromStr for Layout {
    type Err = PictureError;

    fn from_str(text: &str) -> Result<Self, PictureError> {
        let (channels, order) = match text {
            "gray" => (Channels::Gray, Order::Interleaved),
            "rgb" => (Channels::Rgb, Order::Interleaved),
            "bgr" => (Channels::Bgr, Order::Interleaved),
            "gray-column-major" => (Channels::Gray, Order::ColumnMajor),
            "rgb-column-major" => (Channels::Rgb, Order::ColumnMajor),
            _ => return Err(PictureError::Text(text.to_owned())),
        };
        Ok(Self {
            channels,
            order,
            region: None,
            scaled: None,
        })
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let channels = match self.channels {
            Channels::Gray => "gray",
            Channels::Rgb => "rgb",
            Channels::Bgr => "bgr",
        };
        f.write_str(channels)?;
        if self.order == Order::ColumnMajor {
            f.write_str("-column-major")?;
        }
        Ok(())
    }
}
