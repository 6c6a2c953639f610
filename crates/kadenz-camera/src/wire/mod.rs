//! The wire formats of cameras, sans-IO: bytes and a time in, bytes and events out.
//!
//! [`rtsp`] opens a stream that [`sdp`] describes; [`rtp`] puts its packets into their order, and [`video`] makes
//! encoded pictures of them. [`multipart`] finds the pictures in an answer of HTTP. Input from the network is bounded
//! in memory and never trusted.

pub mod auth;
pub mod chunked;
pub mod head;
pub(crate) mod jpeg;
pub mod multipart;
pub mod rtp;
pub mod rtsp;
pub mod sdp;
pub mod url;
pub mod video;

use video::annex_b::NalCodec;

/// The coding of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Coding {
    /// ITU-T H.264; over RTP by RFC 6184.
    H264,
    /// ITU-T H.265; over RTP by RFC 7798.
    H265,
    /// JPEG; over RTP by RFC 2435.
    Jpeg,
}

impl Coding {
    /// Its name, for people.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::H264 => "H.264",
            Self::H265 => "H.265",
            Self::Jpeg => "JPEG",
        }
    }

    /// Whether decoding can begin with these bytes.
    pub(crate) fn is_key(self, bytes: &[u8]) -> bool {
        NalCodec::of(self).is_none_or(|format| format.is_key(bytes))
    }
}
