//! Cameras of Video4Linux2: `/dev/video0`, USB cameras and capture cards.
//!
//! `/dev/video0?size=1280x720&rate=30Hz&format=MJPG` states size, rate and format. Without them the device keeps its
//! present size, and the source chooses of its formats the one that comes nearest to 30 Hz with the least work.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kadenz_rt::beat::Rate;
use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::video::{self, FourCc, VideoDevice, VideoFormat, VideoFrame};

use super::{Capture, Coding, Content, NetworkOptions, Next, Source, SourceError, Unit};
use crate::picture::{Chroma, Matrix, Picture, PictureError, Pixels, Plane, Range, Size};

/// The formats that can be read, the least work first.
const FORMATS: [FourCc; 9] = [
    *b"YU12", *b"NV12", *b"YUYV", *b"GREY", *b"RGB3", *b"MJPG", *b"JPEG", *b"H264", *b"HEVC",
];
/// Buffers of the driver: one to fill, one to read, two for when reading is late.
const BUFFERS: u32 = 4;
const REMEDY: &str = "write it as /dev/video0?size=1280x720&rate=30Hz&format=MJPG";

/// The parts of this source's URL.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DeviceUrl {
    path: PathBuf,
    size: Option<Size>,
    interval: Duration,
    format: Option<FourCc>,
}

impl DeviceUrl {
    fn read(text: &str) -> Result<Self, String> {
        let (path, query) = super::path_and_query(text);
        let mut stated = Self {
            path: path.into(),
            size: None,
            interval: Duration::from_nanos(33_333_333),
            format: None,
        };
        for option in super::options(query) {
            match option.split_once('=') {
                Some(("size", size)) => {
                    let wrong = |error: PictureError| error.to_string();
                    stated.size = Some(size.parse().map_err(wrong)?);
                }
                Some(("rate", rate)) => {
                    let rate: Rate = rate.parse().map_err(|error| format!("{error}"))?;
                    stated.interval = Duration::from_secs_f64(rate.interval().as_ns_f64() / 1e9);
                }
                Some(("format", format)) => {
                    let code = FORMATS.into_iter().find(|code| code == format.as_bytes());
                    let all = FORMATS.map(|code| name(&code)).join(", ");
                    stated.format =
                        Some(code.ok_or(format!("`{format}` is not a format of {all}"))?);
                }
                _ => return Err(format!("`{option}` is unknown here")),
            }
        }
        Ok(stated)
    }

    /// Sets the nearest format and rate, and returns the interval between frames.
    fn set(&self, device: &mut VideoDevice) -> Result<(VideoFormat, Duration), SourceError> {
        let refused = |error: &std::io::Error| self.refused(error);
        let present = device.format().map_err(|error| refused(&error))?;
        let (width, height) = match self.size {
            Some(size) => (size.width, size.height),
            None => (present.width, present.height),
        };
        let offered = device.formats();
        let wanted =
            |code: &FourCc| offered.contains(code) && self.format.is_none_or(|it| it == *code);
        let mut best: Option<(VideoFormat, Duration)> = None;
        for code in FORMATS.into_iter().filter(wanted) {
            let Ok((format, interval)) = self.try_format(device, code, (width, height)) else {
                continue;
            };
            if (format.code, format.width, format.height) != (code, width, height) {
                continue;
            }
            // A rate that is a tenth lower still wins: 27 Hz by a format that needs no decoder are better than 30.
            if best.is_none_or(|(_, before)| before.mul_f64(0.9) > interval.max(self.interval)) {
                best = Some((format, interval));
            }
        }
        let (format, _) = best.ok_or_else(|| {
            let formats: Vec<_> = offered.iter().map(name).collect();
            let cause = format!(
                "gives no frames of {width}x{height} in {}; its formats are {}",
                self.format
                    .map_or_else(|| "a format that is read here".to_owned(), |it| name(&it)),
                formats.join(", ")
            );
            self.error(
                &cause,
                "state a size and a format that `v4l2-ctl --list-formats-ext` lists",
                false,
            )
        })?;
        self.try_format(device, format.code, (width, height))
            .map_err(|error| refused(&error))
    }

    fn try_format(
        &self,
        device: &mut VideoDevice,
        code: FourCc,
        (width, height): (u32, u32),
    ) -> std::io::Result<(VideoFormat, Duration)> {
        let format = device.set_format(code, width, height)?;
        let interval = device.set_interval(self.interval);
        Ok((
            format,
            interval.or_else(|_| device.interval()).unwrap_or_default(),
        ))
    }

    fn error(
        &self,
        cause: &dyn std::fmt::Display,
        remedy: &str,
        is_transient: bool,
    ) -> SourceError {
        SourceError {
            cause: format!("{}: {cause}", self.path.display()),
            remedy: remedy.to_owned(),
            is_transient,
        }
    }

    /// The meaning of an error of the system. A device that is not there may be plugged in again.
    fn refused(&self, error: &std::io::Error) -> SourceError {
        let remedy = match error.kind() {
            ErrorKind::PermissionDenied => {
                "join the group video: `sudo usermod -aG video $USER`, then log in again"
            }
            ErrorKind::ResourceBusy => "end the other program that streams from it",
            ErrorKind::Unsupported => {
                "name a device that `v4l2-ctl --list-devices` lists, or open it by the program ffmpeg"
            }
            _ => &there_are(),
        };
        let is_permanent = matches!(
            error.kind(),
            ErrorKind::PermissionDenied | ErrorKind::Unsupported
        );
        self.error(error, remedy, !is_permanent)
    }
}

/// A remedy that names the devices of this machine.
fn there_are() -> String {
    let devices = video::devices();
    let devices = devices
        .iter()
        .map(|(path, card)| format!("{} ({card})", path.display()));
    match devices.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "plug a camera in; this machine has none now".to_owned(),
        some => format!("see that it is plugged in; this machine has {some}"),
    }
}

fn name(code: &FourCc) -> String {
    String::from_utf8_lossy(code).escape_debug().to_string()
}

/// A camera of this machine.
#[derive(Debug)]
pub(crate) struct V4lSource {
    stated: DeviceUrl,
    device: VideoDevice,
    format: VideoFormat,
    size: Size,
    interval: Duration,
    silence: Duration,
    heard: MonotonicTime,
    /// The number that the driver gives next.
    next_sequence: Option<u32>,
    /// Both chroma planes of a format that mixes them.
    chroma: [Vec<u8>; 2],
}

impl V4lSource {
    /// Whether this source opens the device of this name.
    #[must_use]
    pub(crate) fn is_for(text: &str) -> bool {
        let (path, _) = super::path_and_query(text);
        Path::new(path).starts_with("/dev/v4l") || path.starts_with("/dev/video")
    }

    /// Opens a device, and lets it capture.
    ///
    /// # Errors
    /// [`SourceError`] where the device is not there, or has no format that can be read.
    pub(crate) fn open(text: &str, options: &NetworkOptions) -> Result<Self, SourceError> {
        let wrong = |cause: String| SourceError::permanent(format!("{text}: {cause}"), REMEDY);
        let stated = DeviceUrl::read(text).map_err(wrong)?;
        let opened = VideoDevice::open(&stated.path);
        let mut device = opened.map_err(|error| stated.refused(&error))?;
        let (format, interval) = stated.set(&mut device)?;
        let wrong = |error: PictureError| stated.error(&error, REMEDY, false);
        let size = Size::new(format.width, format.height).map_err(wrong)?;
        device
            .start(BUFFERS)
            .map_err(|error| stated.refused(&error))?;
        Ok(Self {
            stated,
            device,
            format,
            size,
            interval,
            silence: options.silence,
            heard: clock::now(),
            next_sequence: None,
            chroma: [Vec::new(), Vec::new()],
        })
    }
}

impl Source for V4lSource {
    fn next(&mut self, until: MonotonicTime) -> Result<Next<'_>, SourceError> {
        let silent = self.heard + self.silence;
        let now = clock::now();
        if !self.device.wait(until.min(silent).remaining(now)) {
            let cause = format!("no frame came for {} s", self.silence.as_secs_f32());
            let remedy = "plug the camera in again, and see `dmesg` for what its driver says";
            return match clock::now() >= silent {
                true => Err(self.stated.error(&cause, remedy, true)),
                false => Ok(Next::Nothing),
            };
        }
        let stated = &self.stated;
        let taken = self.device.take();
        let Some(frame) = taken.map_err(|error| stated.refused(&error))? else {
            return Ok(Next::Nothing);
        };
        let arrival = clock::now();
        self.heard = arrival;
        let missed = self
            .next_sequence
            .map_or(0, |next| frame.sequence.wrapping_sub(next));
        self.next_sequence = Some(frame.sequence.wrapping_add(1));
        let content = content(&frame, &self.format, self.size, &mut self.chroma);
        // A truncated frame gives a decoder's error; the next one is shown.
        let content = content.unwrap_or(Content::Encoded(Coding::Jpeg, &[]));
        let is_key = match content {
            Content::Encoded(coding, bytes) => coding.is_key(bytes),
            Content::Picture(_) => true,
        };
        Ok(Next::Unit(Unit {
            content,
            is_key,
            capture: frame.captured.map_or(Capture::Unknown, Capture::Local),
            first_byte: arrival,
            arrival,
            // A driver that counts from 0 again has not reported a loss.
            missed: if missed > 1 << 16 { 0 } else { missed.into() },
            is_damaged: frame.is_damaged,
        }))
    }

    fn description(&self) -> String {
        let coding = name(&self.format.code);
        let card = self.device.card();
        let rate_hz = 1.0 / self.interval.as_secs_f64();
        match rate_hz.is_finite() {
            true => format!("{coding} {} at {rate_hz:.1} Hz of {card}", self.size),
            false => format!("{coding} {} of {card}", self.size),
        }
    }
}

/// The content of a frame, by its format.
fn content<'a>(
    frame: &VideoFrame<'a>,
    format: &VideoFormat,
    size: Size,
    chroma: &'a mut [Vec<u8>; 2],
) -> Result<Content<'a>, PictureError> {
    let (width, height) = (size.width as usize, size.height as usize);
    let bytes = frame.bytes;
    let range = if format.is_full_range {
        Range::Full
    } else {
        Range::Limited
    };
    let matrix = if format.is_bt709 {
        Matrix::Bt709
    } else {
        Matrix::Bt601
    };
    let stride = |least: usize| (format.stride as usize).max(least);
    let plane = |from: usize, width, rows, stride| {
        Plane::new(bytes.get(from..).unwrap_or_default(), width, rows, stride)
    };
    let (chroma_width, chroma_height) = Chroma::Yuv420.plane(size);
    let yuv = |y, u, v| Pixels::Yuv {
        y,
        u,
        v,
        chroma: Chroma::Yuv420,
        matrix,
        range,
    };
    let pixels = match &format.code {
        b"MJPG" | b"JPEG" => return Ok(Content::Encoded(Coding::Jpeg, bytes)),
        b"H264" => return Ok(Content::Encoded(Coding::H264, bytes)),
        b"HEVC" => return Ok(Content::Encoded(Coding::H265, bytes)),
        b"GREY" => Pixels::Gray {
            y: plane(0, width, height, stride(width))?,
            range,
        },
        b"RGB3" => Pixels::Rgb(plane(0, 3 * width, height, stride(3 * width))?),
        b"NV12" => {
            let stride = stride(2 * chroma_width);
            let both = plane(stride * height, 2 * chroma_width, chroma_height, stride)?;
            separate(both, chroma_width, chroma_height, chroma);
            let [u, v] = chroma;
            let of = |bytes| Plane::new(bytes, chroma_width, chroma_height, chroma_width);
            yuv(plane(0, width, height, stride)?, of(u)?, of(v)?)
        }
        b"YU12" => {
            let stride = stride(width);
            let half = stride.div_ceil(2);
            let (u, v) = (stride * height, stride * height + half * chroma_height);
            yuv(
                plane(0, width, height, stride)?,
                plane(u, chroma_width, chroma_height, half)?,
                plane(v, chroma_width, chroma_height, half)?,
            )
        }
        _ => Pixels::Yuyv {
            pairs: plane(0, 4 * chroma_width, height, stride(4 * chroma_width))?,
            matrix,
            range,
        },
    };
    Ok(Content::Picture(Picture::new(size, pixels)?))
}

/// Puts the samples of both chroma components into planes of their own.
fn separate(both: Plane<'_>, width: usize, rows: usize, chroma: &mut [Vec<u8>; 2]) {
    let [u, v] = chroma;
    u.resize(width * rows, 0);
    v.resize(width * rows, 0);
    let rows = u.chunks_exact_mut(width).zip(v.chunks_exact_mut(width));
    for (row, (u, v)) in rows.enumerate() {
        let pairs = both.row(row).as_chunks::<2>().0;
        for ((u, v), pair) in u.iter_mut().zip(v).zip(pairs) {
            [*u, *v] = *pair;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use super::*;

    /// Rows of 4x2 pixels that lie 8 bytes apart, as drivers align them.
    fn picture_of(code: &FourCc, bytes: &[u8]) -> Result<[Vec<u8>; 3], PictureError> {
        let format = VideoFormat {
            code: *code,
            width: 4,
            height: 2,
            stride: 8,
            is_bt709: true,
            is_full_range: false,
        };
        let frame = VideoFrame {
            bytes,
            sequence: 0,
            captured: None,
            is_damaged: false,
        };
        let size = Size::new(4, 2).unwrap();
        let mut chroma = [Vec::new(), Vec::new()];
        let Content::Picture(picture) = content(&frame, &format, size, &mut chroma)? else {
            panic!("not a picture");
        };
        let rows = |plane: &Plane<'_>, width, rows| -> Vec<u8> {
            let row = |row| plane.row(row)[..width].to_vec();
            (0..rows).flat_map(row).collect()
        };
        Ok(match picture.pixels() {
            Pixels::Gray { y, .. } => [rows(y, 4, 2), Vec::new(), Vec::new()],
            Pixels::Yuv { y, u, v, .. } => [rows(y, 4, 2), rows(u, 2, 1), rows(v, 2, 1)],
            Pixels::Yuyv { pairs, .. } => [rows(pairs, 8, 2), Vec::new(), Vec::new()],
            Pixels::Rgb(plane) => [rows(plane, 12, 2), Vec::new(), Vec::new()],
        })
    }

    #[test]
    fn samples_lie_where_the_format_says() {
        let bytes: Vec<u8> = (0..64).collect();
        let luma = [0, 1, 2, 3, 8, 9, 10, 11].to_vec();
        let nv12 = [luma.clone(), vec![16, 18], vec![17, 19]];
        assert_eq!(picture_of(b"NV12", &bytes).unwrap(), nv12);
        let yu12 = [luma.clone(), vec![16, 17], vec![20, 21]];
        assert_eq!(picture_of(b"YU12", &bytes).unwrap(), yu12);
        assert_eq!(picture_of(b"GREY", &bytes).unwrap()[0], luma);
        assert_eq!(picture_of(b"YUYV", &bytes).unwrap()[0], bytes[..16]);
        // A row of 12 bytes does not fit into the 8 that the driver claims.
        assert_eq!(picture_of(b"RGB3", &bytes).unwrap()[0], bytes[..24]);
        for code in [b"NV12", b"YU12", b"GREY", b"YUYV", b"RGB3"] {
            assert!(picture_of(code, &bytes[..11]).is_err(), "{code:?}");
        }
    }

    #[test]
    fn a_url_states_what_is_wanted() {
        let stated = DeviceUrl::read("/dev/video2?size=720p&rate=60Hz&format=MJPG").unwrap();
        assert_eq!(stated.path, Path::new("/dev/video2"));
        assert_eq!(stated.size, Some(Size::new(1280, 720).unwrap()));
        assert_eq!(stated.format, Some(*b"MJPG"));
        assert!((stated.interval.as_secs_f64() * 60.0 - 1.0).abs() < 1e-6);
        for wrong in ["size=x", "rate=0Hz", "format=DIVX", "speed=1", "size"] {
            assert!(
                DeviceUrl::read(&format!("/dev/video0?{wrong}")).is_err(),
                "{wrong}"
            );
        }
        assert!(V4lSource::is_for("/dev/video0") && V4lSource::is_for("file:///dev/v4l/by-id/x"));
        assert!(!V4lSource::is_for("/dev/zero") && !V4lSource::is_for("video.h264"));
    }
}
