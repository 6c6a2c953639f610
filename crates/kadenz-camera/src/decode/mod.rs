//! Decoders: encoded pictures to samples.
//!
//! [`open`] gives the decoder for a [`Coding`]. A decoder allocates when the size of the pictures changes, and a
//! JPEG decoder with each picture: it belongs on a thread of its own, not on a real-time path.

#[cfg(feature = "ffmpeg")]
mod ffmpeg;
#[cfg(feature = "h264")]
mod h264;
mod jpeg;
#[cfg(any(feature = "h264", feature = "ffmpeg"))]
mod references;
mod sps;

#[cfg(test)]
mod tests;

pub use sps::Sps;

use crate::picture::Picture;
use crate::source::{Coding, Unit};

/// Why a unit gave no picture. Decoding may succeed again from the next key picture on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot decode {what}: {cause}")]
pub struct DecodeError {
    /// The format of the picture, in words.
    pub what: &'static str,
    /// The decoder's error text.
    pub cause: String,
}

impl DecodeError {
    fn new(what: &'static str, cause: impl std::fmt::Display) -> Self {
        let cause = cause.to_string();
        Self { what, cause }
    }
}

/// A decoder of one stream.
pub trait Decoder: Send {
    /// Takes a unit, and calls `each` for every picture that comes out, with the `token` of the unit that held it. In
    /// streams with B-frames pictures come out after later units, and in another order.
    ///
    /// # Errors
    /// [`DecodeError`]; the decoder can continue with the next key picture.
    fn decode(
        &mut self,
        token: u64,
        unit: &Unit<'_>,
        each: &mut dyn FnMut(u64, &Picture<'_>),
    ) -> Result<(), DecodeError>;

    /// Its name, for people and runs: `openh264`.
    fn name(&self) -> &'static str;
}

/// The decoder for a coding: libavcodec where this build has it, else Kadenz's own.
/// [`Content::Picture`](crate::source::Content::Picture) needs none, and so has no coding.
///
/// # Errors
/// Where this build has none; the error names a build that has one.
pub fn open(coding: Coding) -> Result<Box<dyn Decoder>, DecodeError> {
    #[cfg(feature = "ffmpeg")]
    if let Ok(decoder) = ffmpeg::Libavcodec::new(coding) {
        return Ok(Box::new(decoder));
    }
    open_own(coding)
}

/// The decoder that needs no library of the system.
///
/// # Errors
/// Where this build has none; the error names a build that has one.
pub fn open_own(coding: Coding) -> Result<Box<dyn Decoder>, DecodeError> {
    match coding {
        Coding::Jpeg => Ok(Box::new(jpeg::Jpeg::default())),
        #[cfg(feature = "h264")]
        Coding::H264 => Ok(Box::new(h264::H264::new()?)),
        #[cfg(not(feature = "h264"))]
        Coding::H264 => Err(DecodeError::new(
            "H.264",
            "this build has no decoder for it; build with the feature `h264` or `ffmpeg`",
        )),
        Coding::H265 => Err(DecodeError::new(
            "H.265",
            "this build has no decoder for it; build with the feature `ffmpeg`, or set the camera to H.264",
        )),
    }
}

/// The error of a unit with another coding than the decoder's.
fn other_coding(what: &'static str) -> DecodeError {
    DecodeError::new(what, "the source changed its coding; open a decoder for it")
}
