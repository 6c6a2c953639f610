//! From a picture to the bytes that a program wants.
//!
//! A [`Layout`] says which bytes: the channels, their order in memory, the region of the picture and the size
//! it is scaled to. A [`Converter`] writes them into memory that the caller has.
//!
//! As text: `rgb`, `bgr` and `gray` are rows of interleaved pixels, as OpenCV, ROS and JPEG have them;
//! `rgb-column-major`, `bgr-column-major`, `gray-column-major` are planes of columns, as MATLAB, Octave and
//! Fortran have them. `rgb@640x360` scales; `rgb[320x240+100+50]` takes a region (X11's geometry: size, then
//! left and top); `rgb[320x240+100+50]@160x120` does both, the region first.
//!
//! All codes of the output are full range, 0 to 255, also those of `gray`: luma of limited range is expanded,
//! as MATLAB's and OpenCV's functions expect it. Chroma is upsampled by the nearest sample, as swscale's
//! default and OpenCV do. Shrinking averages the area of a pixel, enlarging is bilinear.

mod colour;
mod convert;
mod lines;
mod samples;
mod scale;
#[cfg(test)]
mod tests;
mod transpose;
mod vector;

pub use convert::Converter;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::picture::{PictureError, Size};

/// Which channels, in which order; a ring of frames states them by these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channels {
    /// Brightness alone, one byte a pixel.
    Gray = 0,
    /// Red, green, blue.
    Rgb = 1,
    /// Blue, green, red.
    Bgr = 2,
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
    /// The width and height in pixels.
    pub size: Size,
    /// Pixels from the left edge.
    pub left: u32,
    /// Rows from the top.
    pub top: u32,
}

/// The bytes that a program wants of a picture. Serialized as its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct Layout {
    /// Which channels a pixel has, and in which order.
    pub channels: Channels,
    /// How they follow one another.
    pub order: Order,
    /// The part of the picture; all of it where none is stated.
    pub region: Option<Region>,
    /// The size it is scaled to; its own where none is stated.
    pub scaled: Option<Size>,
}

/// Why a text is not a layout, or a picture cannot be had in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The text names no channels.
    #[error(
        "`{0}` is not a layout; write rgb, bgr, gray, rgb-column-major, bgr-column-major or gray-column-major, \
         then [WIDTHxHEIGHT+LEFT+TOP] for a region and @WIDTHxHEIGHT for a size"
    )]
    Text(String),
    /// A region is not written as one.
    #[error(
        "`{0}` is not a region; write it as [320x240+100+50]: its size, its left edge, its top"
    )]
    Region(String),
    /// The text is not a size.
    #[error("the layout's size: {0}")]
    Size(#[from] PictureError),
    /// A region lies partly outside the picture.
    #[error("the region {region} leaves the picture of {picture}; choose one inside it")]
    Outside {
        /// The region that was requested.
        region: Region,
        /// The size of the picture.
        picture: Size,
    },
    /// The caller's memory is too short.
    #[error(
        "the layout needs {needed} bytes, and has {given}; give it at least as many as `Layout::bytes` says"
    )]
    Short {
        /// Bytes that it takes.
        needed: usize,
        /// Bytes that were given.
        given: usize,
    },
}

impl Layout {
    /// Layouts without a region and a scale.
    const NAMED: [(&'static str, Channels, Order); 6] = [
        ("rgb", Channels::Rgb, Order::Interleaved),
        ("bgr", Channels::Bgr, Order::Interleaved),
        ("gray", Channels::Gray, Order::Interleaved),
        ("rgb-column-major", Channels::Rgb, Order::ColumnMajor),
        ("bgr-column-major", Channels::Bgr, Order::ColumnMajor),
        ("gray-column-major", Channels::Gray, Order::ColumnMajor),
    ];

    /// All of a picture, in its own size.
    #[must_use]
    pub fn whole(channels: Channels, order: Order) -> Self {
        Self {
            channels,
            order,
            region: None,
            scaled: None,
        }
    }

    /// Returns the part of a picture of this size that is converted.
    ///
    /// # Errors
    /// [`LayoutError::Outside`].
    pub(crate) fn region_of(&self, picture: Size) -> Result<Region, LayoutError> {
        let Some(region) = self.region else {
            return Ok(Region {
                size: picture,
                left: 0,
                top: 0,
            });
        };
        let end = |start: u32, length: u32| u64::from(start) + u64::from(length);
        let inside = end(region.left, region.size.width) <= u64::from(picture.width)
            && end(region.top, region.size.height) <= u64::from(picture.height);
        inside
            .then_some(region)
            .ok_or(LayoutError::Outside { region, picture })
    }

    /// Returns the output's size for a picture of this size.
    ///
    /// # Errors
    /// [`LayoutError::Outside`].
    pub fn output_size(&self, picture: Size) -> Result<Size, LayoutError> {
        let region = self.region_of(picture)?;
        Ok(self.scaled.unwrap_or(region.size))
    }

    /// Returns the output's length in bytes for a picture of this size.
    ///
    /// # Errors
    /// [`LayoutError::Outside`].
    pub fn bytes(&self, picture: Size) -> Result<usize, LayoutError> {
        Ok(self.output_size(picture)?.pixels() * self.channels.count())
    }

    /// A name for files and shared memory, unique to the layout: letters, digits, `-`, `_` and `.` alone.
    #[must_use]
    pub fn file_name(&self) -> String {
        let mut name = self.name().to_owned();
        if let Some(Region { size, left, top }) = self.region {
            name += &format!("_region-{size}-{left}-{top}");
        }
        if let Some(size) = self.scaled {
            name += &format!("_scaled-{size}");
        }
        name
    }

    /// The layout that has this [`file_name`](Self::file_name).
    #[must_use]
    pub(crate) fn from_file_name(name: &str) -> Option<Self> {
        let (rest, scaled) = match name.split_once("_scaled-") {
            Some((rest, size)) => (rest, Some(size.parse().ok()?)),
            None => (name, None),
        };
        let (name, region) = match rest.split_once("_region-") {
            Some((name, region)) => (name, Some(region.replace('-', "+").parse().ok()?)),
            None => (rest, None),
        };
        Self::named(name, region, scaled)
    }

    /// The layout of these channels in this order.
    fn named(name: &str, region: Option<Region>, scaled: Option<Size>) -> Option<Self> {
        let mut known = Self::NAMED.into_iter();
        let (_, channels, order) = known.find(|(known, ..)| *known == name)?;
        Some(Self {
            channels,
            order,
            region,
            scaled,
        })
    }

    fn name(&self) -> &'static str {
        let own = |(_, channels, order): &&(_, Channels, Order)| {
            (*channels, *order) == (self.channels, self.order)
        };
        Self::NAMED.iter().find(own).map_or("", |(name, ..)| name)
    }
}

impl FromStr for Region {
    type Err = LayoutError;

    /// As `320x240+100+50`.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let wrong = || LayoutError::Region(text.to_owned());
        let mut parts = text.split('+');
        let size = parts.next().ok_or_else(wrong)?.parse()?;
        let mut number = || parts.next()?.parse().ok();
        let (left, top) = (number().ok_or_else(wrong)?, number().ok_or_else(wrong)?);
        match parts.next() {
            None => Ok(Self { size, left, top }),
            Some(_) => Err(wrong()),
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}+{}", self.size, self.left, self.top)
    }
}

impl FromStr for Layout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let (rest, scaled) = match text.split_once('@') {
            Some((rest, size)) => (rest, Some(size.parse()?)),
            None => (text, None),
        };
        let (name, region) = match rest.split_once('[') {
            Some((name, region)) => {
                let wrong = || LayoutError::Region(region.to_owned());
                let inner = region.strip_suffix(']').ok_or_else(wrong)?;
                (name, Some(inner.parse()?))
            }
            None => (rest, None),
        };
        Self::named(name, region, scaled).ok_or_else(|| LayoutError::Text(text.to_owned()))
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        if let Some(region) = &self.region {
            write!(f, "[{region}]")?;
        }
        if let Some(size) = &self.scaled {
            write!(f, "@{size}")?;
        }
        Ok(())
    }
}

impl Serialize for Layout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
