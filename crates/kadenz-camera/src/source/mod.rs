//! Where pictures come from: a camera on the network, on USB, in a file, or a pattern of our own.
//!
//! A [`Source`] is the trait; [`open`] chooses by URL.

pub(crate) mod ffmpeg_program;
pub(crate) mod file;
mod mjpeg;
mod network;
mod rtsp;
pub mod test_pattern;
mod v4l;

use kadenz_rt::clock::{MonotonicTime, WallTime};

pub use mjpeg::MjpegSource;
pub use network::NetworkOptions;
pub use rtsp::RtspSource;
pub(crate) use v4l::V4lSource;

use crate::picture::Picture;
pub use crate::wire::Coding;

/// The content of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// An access unit of H.264 or H.265 as a byte stream (annex B), parameter sets before each IDR; or a JPEG picture
    /// (JFIF).
    Encoded(Coding, &'a [u8]),
    /// A picture that needs no decoder.
    Picture(Picture<'a>),
}

/// The capture time of a picture, and the clock that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capture {
    /// The capture time is unknown.
    Unknown,
    /// The driver's or the generator's stamp on this machine's monotonic clock.
    Local(MonotonicTime),
    /// The camera's own time of day, by an RTCP sender report (RFC 3550, section 6.4.1): as right as the camera's
    /// clock.
    Camera(WallTime),
}

/// One picture with its times, as it came.
#[derive(Debug, Clone, Copy)]
pub struct Unit<'a> {
    /// The picture, as the camera encoded it.
    pub content: Content<'a>,
    /// Whether decoding can begin here.
    pub is_key: bool,
    /// When it was taken.
    pub capture: Capture,
    /// When its first byte came.
    pub first_byte: MonotonicTime,
    /// When it was complete.
    pub arrival: MonotonicTime,
    /// Pictures that were lost just before it, as far as the source can tell.
    pub missed: u64,
    /// Whether a part of it is known to be missing; a decoder may show errors until the next key.
    pub is_damaged: bool,
}

/// What a source returns.
#[derive(Debug)]
pub enum Next<'a> {
    /// A picture came.
    Unit(Unit<'a>),
    /// No picture came until the stated time.
    Nothing,
    /// The end: of a file, or by the camera's goodbye (RTCP BYE).
    Ended,
}

/// Why a source gives no (more) pictures.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}; {remedy}")]
pub struct SourceError {
    /// What happened, with the URL, but without its credentials, where that helps.
    pub cause: String,
    /// What the user can do.
    pub remedy: String,
    /// Whether another try may help; a wrong password stays wrong.
    pub is_transient: bool,
}

impl SourceError {
    /// An error after which another try does not help.
    pub(crate) fn permanent(cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            cause: cause.into(),
            remedy: remedy.into(),
            is_transient: false,
        }
    }
}

/// Opens the source that a URL or a file's name names: rtsp://, http:// (MJPEG), test://, /dev/video0, files and
/// folders of pictures; all others by the program `ffmpeg`.
///
/// # Errors
/// [`SourceError`] where the source is not there, or the URL names nothing that can be opened.
pub fn open(url: &str, options: &NetworkOptions) -> Result<Box<dyn Source>, SourceError> {
    let scheme = url.split_once("://").map_or("file", |(scheme, _)| scheme);
    match scheme {
        "test" => Ok(Box::new(test_pattern::TestPattern::open(url)?)),
        "rtsp" | "rtsps" => Ok(Box::new(RtspSource::open(url, options)?)),
        "http" => Ok(Box::new(MjpegSource::open(url, options)?)),
        "file" if V4lSource::is_for(url) => Ok(Box::new(V4lSource::open(url, options)?)),
        "file" if file::FileSource::is_for(url) => Ok(Box::new(file::FileSource::open(url)?)),
        _ => Ok(Box::new(ffmpeg_program::FfmpegProgram::open(url)?)),
    }
}

/// A URL as it may be shown: without a user and a password.
#[must_use]
pub fn without_credentials(url: &str) -> String {
    match url.starts_with("test://") {
        // The part behind the at sign is a rate.
        true => url.to_owned(),
        false => hide_credentials(url, &['/', '?']),
    }
}

/// A text without what stands between `://` and `@` in it; one of `ends` ends the part of a URL that may hold it.
fn hide_credentials(text: &str, ends: &[char]) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        shown.push_str(before);
        let end = after.find(ends).unwrap_or(after.len());
        let host = after[..end].rfind('@').map_or(0, |at| at + 1);
        rest = &after[host..];
    }
    shown + rest
}

/// The path of a file or a device, and the options behind it: `film.mjpeg` and `rate=30Hz`.
fn path_and_query(text: &str) -> (&str, &str) {
    let text = text.strip_prefix("file://").unwrap_or(text);
    text.split_once('?').unwrap_or((text, ""))
}

/// The options of a query.
fn options(query: &str) -> impl Iterator<Item = &str> {
    query.split('&').filter(|it| !it.is_empty())
}

/// A source of pictures.
pub trait Source: Send {
    /// Waits for the next picture until `until`, which may have passed: the source then returns a picture that is
    /// already there.
    ///
    /// # Errors
    /// [`SourceError`]: the source is of no more use; open it again.
    fn next(&mut self, until: MonotonicTime) -> Result<Next<'_>, SourceError>;

    /// A description for people: `H.264 1920x1080 by RTSP over TCP`. It may become more exact with the first picture.
    fn description(&self) -> String;
}
