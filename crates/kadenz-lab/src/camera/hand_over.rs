//! What handing a frame over costs the thread that wants it: the five ways of \[Enner2017b\], and two of ours.
//!
//! Work of other threads (compressing, laying out, publishing) is done before the clock is read. The measured time is
//! the main thread's part, until the frame stands as planes of columns in an array.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

use kadenz_camera::barcode::Code;
use kadenz_camera::client::{Camera, FrameError, OpenCameraError, OpenOptions};
use kadenz_camera::decode::{self, DecodeError};
use kadenz_camera::layout::{Channels, Converter, Layout, LayoutError, Order};
use kadenz_camera::picture::{Picture, PictureError, Pixels, Plane, Range, Size};
use kadenz_camera::ring::{FrameInfo, RingError, RingReader, RingWriter, Shape};
use kadenz_camera::sim::JpegEncoder;
use kadenz_camera::source::test_pattern::Pattern;
use kadenz_camera::source::{Capture, Coding, Content, Unit};
use kadenz_rt::beat::{Beat, Rate};
use kadenz_rt::clock;

use crate::stop::Stop;

/// A way to hand a frame over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// A JPEG file on a disk in memory: read it, decode it, lay it out.
    JpegFile,
    /// An array of rows of pixels of channels, each an object: walk it.
    NestedArray,
    /// Interleaved rows in one array: lay them out.
    Interleaved,
    /// An array that is laid out already: copy it into a new one.
    LaidOut,
    /// Shared memory that is laid out already: copy it into a new array.
    SharedNew,
    /// The same into an array that is there.
    SharedInto,
    /// The same without a copy: the frame where it lies, and whether it is still valid.
    SharedView,
}

impl Method {
    /// All of them, the slowest first.
    pub const ALL: [Self; 7] = [
        Self::JpegFile,
        Self::NestedArray,
        Self::Interleaved,
        Self::LaidOut,
        Self::SharedNew,
        Self::SharedInto,
        Self::SharedView,
    ];

    /// Its name in tables and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::JpegFile => "jpeg-file",
            Self::NestedArray => "3-d-array",
            Self::Interleaved => "interleaved-1-d",
            Self::LaidOut => "laid-out-1-d",
            Self::SharedNew => "shared-memory",
            Self::SharedInto => "shared-memory-into",
            Self::SharedView => "shared-memory-view",
        }
    }

    /// The cost that figure 2 of \[Enner2017b\] states for MATLAB 2017b and Java on an Intel NUC6i7KYK; absent where
    /// it states none.
    #[must_use]
    pub fn published(self, size: Size, channels: Channels) -> Option<Duration> {
        let (name, _) = Size::NAMED.iter().find(|(_, it)| *it == size)?;
        let row_ms: [f64; 5] = match (*name, channels) {
            ("480p", Channels::Gray) => [7.67, 0.68, 0.40, 0.20, 0.23],
            ("1080p", Channels::Gray) => [16.0, 3.96, 3.77, 1.97, 0.99],
            ("4K", Channels::Gray) => [80.1, 39.2, 16.0, 8.23, 3.15],
            ("480p", Channels::Rgb) => [10.6, 193.0, 1.87, 0.52, 0.30],
            ("720p", Channels::Rgb) => [21.5, 555.0, 6.96, 2.59, 1.37],
            ("1080p", Channels::Rgb) => [44.8, 1240.0, 19.2, 6.17, 2.59],
            ("4K", Channels::Rgb) => [187.0, 5089.0, 71.6, 25.0, 9.83],
            _ => return None,
        };
        let place = Self::ALL.iter().position(|it| *it == self)?;
        row_ms
            .get(place)
            .map(|ms| Duration::from_secs_f64(ms / 1e3))
    }
}

/// Why the cost could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum HandOverError {
    /// The ring in shared memory failed.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The frame could not be laid out.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The test picture could not be made.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// The JPEG decoder failed.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The file in memory could not be used.
    #[error("cannot use a file in /dev/shm: {0}")]
    File(#[from] std::io::Error),
    /// The writer overwrote a frame while it was read.
    #[error(
        "a frame was overwritten while it was copied: the machine does not keep this rate; take a smaller size or rate"
    )]
    Overwritten,
    /// A camera did not open.
    #[error(transparent)]
    Open(#[from] OpenCameraError),
    /// A camera gave no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Times of one method, sorted, in nanoseconds.
///
/// # Errors
/// [`HandOverError`].
pub fn measure(
    method: Method,
    size: Size,
    channels: Channels,
    span: Duration,
) -> Result<Vec<u64>, HandOverError> {
    let prepared = FrameForms::new(size, channels)?;
    let mut array = vec![0; prepared.laid_out.len()];
    let mut times = Vec::new();
    let end = clock::now() + span;
    // Five samples at least, however long each takes.
    while clock::now() < end || times.len() < 5 {
        let begin = clock::now();
        prepared.hand_over(method, &mut array)?;
        black_box(&mut array);
        let taken = clock::now().since(begin);
        times.push(u64::try_from(taken).unwrap_or(0));
    }
    times.sort_unstable();
    Ok(times)
}

/// What a thread pays in each interval for the newest frame of each of several cameras.
#[derive(Debug, Default)]
pub struct AtOnce {
    /// Times to look at all frames where they lie, sorted, in nanoseconds.
    pub views: Vec<u64>,
    /// Times to copy all frames into existing arrays, sorted, in nanoseconds.
    pub copies: Vec<u64>,
    /// Frames per second of the slowest camera.
    pub rate_hz: f64,
    /// Intervals in which a frame was overwritten before it was taken; no time includes them.
    pub overwritten: u64,
}

impl AtOnce {
    /// The measurement fails at this many overwritten frames.
    const MAX_OVERWRITTEN: u64 = 100;

    fn is_enough(&self) -> bool {
        self.views.len().min(self.copies.len()) >= 5 || self.overwritten >= Self::MAX_OVERWRITTEN
    }

    fn take(
        &mut self,
        cameras: &mut [Camera],
        arrays: &mut [Vec<u8>],
    ) -> Result<(), HandOverError> {
        let taken = [
            (&mut self.views, timed(|| view_all(cameras))),
            (&mut self.copies, timed(|| copy_all(cameras, arrays))),
        ];
        for (times, taken) in taken {
            match taken {
                Err(HandOverError::Overwritten) => self.overwritten += 1,
                taken => times.push(taken?),
            }
        }
        Ok(())
    }
}

/// The cameras of [`at_once`].
#[derive(Debug, Clone, Copy)]
pub struct AtOncePlan {
    /// The number of cameras.
    pub cameras: usize,
    /// The size of their frames.
    pub size: Size,
    /// The pictures per second of each camera.
    pub rate: Rate,
    /// Gray or colour.
    pub channels: Channels,
    /// How long to measure.
    pub span: Duration,
}

/// Serves test patterns by threads of this process, and takes the newest frame of each, as planes of columns,
/// once an interval, as a control loop does: first by view, then by copy. A stop ends it with the times so far,
/// which may be none.
///
/// # Errors
/// [`HandOverError`].
pub fn at_once(plan: &AtOncePlan, stop: &Stop) -> Result<AtOnce, HandOverError> {
    if stop.requested() {
        return Ok(AtOnce::default());
    }
    let options = OpenOptions {
        layout: Layout::whole(plan.channels, Order::ColumnMajor),
        ..OpenOptions::default()
    };
    let url = format!("test://{}?rate={}", plan.size, plan.rate);
    let opened = (0..plan.cameras).map(|_| Camera::open_with(&url, &options));
    let mut cameras = opened.collect::<Result<Vec<_>, _>>()?;
    let mut arrays: Vec<Vec<u8>> = cameras
        .iter()
        .map(|camera| vec![1; camera.ring().shape().bytes()])
        .collect();
    let mut at_once = AtOnce::default();
    let first = frames_of(&cameras);
    let begin = clock::now();
    let end = begin + plan.span;
    let mut beat = Beat::at(begin, plan.rate.interval());
    while !stop.requested() && (clock::now() < end || !at_once.is_enough()) {
        std::thread::sleep(beat.next().remaining(clock::now()));
        at_once.take(&mut cameras, &mut arrays)?;
        black_box(&mut arrays);
    }
    let is_empty = at_once.views.is_empty() || at_once.copies.is_empty();
    if is_empty && !stop.requested() {
        return Err(HandOverError::Overwritten);
    }
    let seconds = clock::now().since(begin) as f64 / 1e9;
    let came = frames_of(&cameras).into_iter().zip(first);
    let least = came.map(|(last, first)| last - first).min();
    at_once.rate_hz = least.unwrap_or(0) as f64 / seconds;
    at_once.views.sort_unstable();
    at_once.copies.sort_unstable();
    Ok(at_once)
}

fn frames_of(cameras: &[Camera]) -> Vec<u64> {
    cameras
        .iter()
        .map(|camera| camera.ring().newest())
        .collect()
}

fn timed(work: impl FnOnce() -> Result<(), HandOverError>) -> Result<u64, HandOverError> {
    let begin = clock::now();
    work()?;
    Ok(u64::try_from(clock::now().since(begin)).unwrap_or(0))
}

fn view_all(cameras: &mut [Camera]) -> Result<(), HandOverError> {
    for camera in cameras {
        let frame = camera.latest(Duration::MAX)?;
        black_box(frame.pixels());
        if !frame.is_valid() {
            return Err(HandOverError::Overwritten);
        }
    }
    Ok(())
}

fn copy_all(cameras: &mut [Camera], arrays: &mut [Vec<u8>]) -> Result<(), HandOverError> {
    for (camera, array) in cameras.iter_mut().zip(arrays) {
        let copied = camera.latest(Duration::MAX)?.copy_to(array);
        copied.map_err(|_| HandOverError::Overwritten)?;
    }
    Ok(())
}

/// A frame in every form in which it may be handed over.
struct FrameForms {
    size: Size,
    channels: Channels,
    file: tempfile::NamedTempFile,
    nested: Vec<Vec<Vec<u8>>>,
    interleaved: Vec<u8>,
    laid_out: Vec<u8>,
    reader: RingReader,
    /// Kept because its drop would end the ring.
    _writer: RingWriter,
}

impl FrameForms {
    fn new(size: Size, channels: Channels) -> Result<Self, HandOverError> {
        let mut pattern = Pattern::new(size)?;
        pattern.paint(Code {
            number: 1,
            time_ns: 0,
            period_us: 0,
        });
        let converted = |order| -> Result<Vec<u8>, HandOverError> {
            let layout = Layout::whole(channels, order);
            let mut bytes = vec![0; layout.bytes(size)?];
            Converter::new(layout).convert(&pattern.picture(), &mut bytes)?;
            Ok(bytes)
        };
        let (interleaved, laid_out) = (
            converted(Order::Interleaved)?,
            converted(Order::ColumnMajor)?,
        );
        let (width, height) = (size.width as usize, size.height as usize);
        let jpeg = JpegEncoder::new(90).encode(width, height, pattern.planes());
        let file = tempfile::NamedTempFile::new_in(PathBuf::from("/dev/shm"))?;
        std::fs::write(file.path(), jpeg)?;
        let rows = interleaved.chunks_exact(width * channels.count());
        let nested = rows.map(|row| {
            row.chunks_exact(channels.count())
                .map(<[u8]>::to_vec)
                .collect()
        });
        let shape = Shape {
            size,
            channels,
            order: Order::ColumnMajor,
        };
        let name = format!("kadenz-hand-over-{}", std::process::id());
        let mut writer = RingWriter::create(&name, shape, 4, Duration::ZERO)?;
        writer.publish(|bytes| {
            bytes.copy_from_slice(&laid_out);
            Some(FrameInfo::default())
        });
        Ok(Self {
            size,
            channels,
            file,
            nested: nested.collect(),
            reader: RingReader::open(&name)?,
            interleaved,
            laid_out,
            _writer: writer,
        })
    }

    fn hand_over(&self, method: Method, array: &mut Vec<u8>) -> Result<(), HandOverError> {
        let overwritten = || HandOverError::Overwritten;
        let latest = || self.reader.latest().ok_or_else(overwritten);
        match method {
            Method::JpegFile => self.read_jpeg(array)?,
            Method::NestedArray => self.walk(array),
            Method::Interleaved => self.lay_out(array)?,
            Method::LaidOut => *array = self.laid_out.clone(),
            Method::SharedNew => {
                *array = latest()?.to_vec().map_err(|_| overwritten())?;
            }
            Method::SharedInto => {
                latest()?.copy_to(array).map_err(|_| overwritten())?;
            }
            Method::SharedView => {
                let frame = latest()?;
                black_box(frame.pixels());
                if !frame.is_valid() {
                    return Err(overwritten());
                }
            }
        }
        Ok(())
    }

    fn read_jpeg(&self, array: &mut [u8]) -> Result<(), HandOverError> {
        let bytes = std::fs::read(self.file.path())?;
        let now = clock::now();
        let unit = Unit {
            content: Content::Encoded(Coding::Jpeg, &bytes),
            is_key: true,
            capture: Capture::Unknown,
            first_byte: now,
            arrival: now,
            missed: 0,
            is_damaged: false,
        };
        let mut converter = Converter::new(Layout::whole(self.channels, Order::ColumnMajor));
        let mut outcome = Ok(());
        decode::open(Coding::Jpeg)?.decode(0, &unit, &mut |_, picture| {
            outcome = converter.convert(picture, array).map(drop);
        })?;
        Ok(outcome?)
    }

    fn walk(&self, array: &mut [u8]) {
        let (width, height) = (self.size.width as usize, self.size.height as usize);
        for (y, row) in self.nested.iter().enumerate() {
            for (x, pixel) in row.iter().enumerate() {
                for (channel, value) in pixel.iter().enumerate() {
                    array[(channel * width + x) * height + y] = *value;
                }
            }
        }
    }

    fn lay_out(&self, array: &mut [u8]) -> Result<(), HandOverError> {
        let (width, height) = (self.size.width as usize, self.size.height as usize);
        let plane = Plane::new(
            &self.interleaved,
            width * self.channels.count(),
            height,
            width * self.channels.count(),
        )?;
        let pixels = match self.channels {
            Channels::Gray => Pixels::Gray {
                y: plane,
                range: Range::Full,
            },
            Channels::Rgb | Channels::Bgr => Pixels::Rgb(plane),
        };
        let picture = Picture::new(self.size, pixels)?;
        Converter::new(Layout::whole(self.channels, Order::ColumnMajor))
            .convert(&picture, array)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use super::*;

    #[test]
    fn every_way_gives_the_same_picture() {
        let size = Size::new(160, 144).unwrap();
        for channels in [Channels::Gray, Channels::Rgb] {
            let prepared = FrameForms::new(size, channels).unwrap();
            for method in Method::ALL {
                if method == Method::SharedView {
                    continue; // It fills no array.
                }
                let mut array = vec![0; prepared.laid_out.len()];
                prepared.hand_over(method, &mut array).unwrap();
                let differ = array
                    .iter()
                    .zip(&prepared.laid_out)
                    .filter(|(one, other)| one.abs_diff(**other) > 40);
                let differ = differ.count();
                // JPEG loses a little at edges; the other methods lose nothing.
                let allowed = if method == Method::JpegFile {
                    array.len() / 10
                } else {
                    0
                };
                assert!(
                    differ <= allowed,
                    "{method:?} {channels:?}: {differ} of {}",
                    array.len()
                );
            }
            prepared
                .hand_over(Method::SharedView, &mut Vec::new())
                .unwrap();
        }
    }

    #[test]
    fn cameras_are_taken_at_once() {
        let size = Size::new(160, 144).unwrap();
        let plan = AtOncePlan {
            cameras: 2,
            size,
            rate: "50Hz".parse().unwrap(),
            channels: Channels::Rgb,
            span: Duration::from_millis(300),
        };
        let stop = Stop::default();
        let taken = at_once(&plan, &stop).unwrap();
        assert_eq!(taken.views.len(), taken.copies.len());
        assert!(taken.views.len() >= 5 && taken.copies.is_sorted());
        assert!(taken.rate_hz > 0.0, "{taken:?}");
        stop.request();
        let none = at_once(&plan, &stop).unwrap();
        assert!(none.views.is_empty() && none.copies.is_empty());
    }
}
