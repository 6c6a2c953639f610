//! Cameras of Video4Linux2: frames that the driver of `/dev/video0` captures, in the driver's own memory.
//!
//! Only devices with single-planar capture and streaming are opened: USB cameras, capture cards, `vivid` and
//! `v4l2loopback`. The documentation of the kernel is "Linux Media Infrastructure userspace API", part I.
//!
//! ```no_run
//! use std::time::Duration;
//! let mut camera = kadenz_rt::video::VideoDevice::open("/dev/video0".as_ref())?;
//! let format = camera.set_format(*b"MJPG", 1280, 720)?;
//! camera.start(4)?;
//! camera.wait(Duration::from_secs(1));
//! if let Some(frame) = camera.take()? {
//!     println!("{} bytes of {}x{}", frame.bytes.len(), format.width, format.height);
//! }
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::MonotonicTime;
use crate::os::linux::video as system;

/// The code of a pixel format or a compression, as videodev2.h writes it: `*b"YUYV"`, `*b"MJPG"`.
pub type FourCc = [u8; 4];

/// `V4L2_CAP_VIDEO_CAPTURE`.
const CAPTURES: u32 = 1;
/// `V4L2_CAP_STREAMING`.
const STREAMS: u32 = 0x0400_0000;
/// `V4L2_FIELD_NONE`: whole frames, no fields.
const PROGRESSIVE: u32 = 1;
/// At most so many formats are listed.
const MAX_FORMATS: u32 = 64;

/// A format as the driver set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VideoFormat {
    /// How pixels are coded.
    pub code: FourCc,
    /// Pixels of a row.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Bytes from row to row of the first plane; 0 where it is compressed.
    pub stride: u32,
    /// Whether the coefficients of its colours are those of ITU-R BT.709, else those of BT.601.
    pub is_bt709: bool,
    /// Whether its codes run from 0 to 255, else from 16 on.
    pub is_full_range: bool,
}

impl VideoFormat {
    fn of(pix: &system::PixFormat) -> Self {
        // `enum v4l2_colorspace`, `v4l2_ycbcr_encoding`, `v4l2_quantization`: 0 is the default of the colour space.
        const REC709: u32 = 3;
        const JPEG: u32 = 7;
        Self {
            code: pix.pixel_format.to_le_bytes(),
            width: pix.width,
            height: pix.height,
            stride: pix.bytes_per_line,
            is_bt709: match pix.ycbcr_encoding {
                0 => pix.colorspace == REC709,
                encoding => encoding == 2,
            },
            is_full_range: match pix.quantization {
                0 => pix.colorspace == JPEG,
                quantization => quantization == 1,
            },
        }
    }
}

/// A frame in the driver's memory.
#[derive(Debug, Clone, Copy)]
pub struct VideoFrame<'a> {
    /// The bytes that the driver filled.
    pub bytes: &'a [u8],
    /// The driver's number, from 0 on; a missing number is a lost frame.
    pub sequence: u32,
    /// When it was taken, on the clock of [`now`](crate::clock::now), where the driver says so.
    pub captured: Option<MonotonicTime>,
    /// Whether the driver knows that its content is damaged.
    pub is_damaged: bool,
}

/// A device that captures video.
#[derive(Debug)]
pub struct VideoDevice {
    file: File,
    card: String,
    memory: Vec<system::DriverMemory>,
    /// The buffer that the last frame lies in.
    taken: Option<u32>,
}

impl VideoDevice {
    /// Opens a device.
    ///
    /// # Errors
    /// Where it cannot be opened, and [`Unsupported`](io::ErrorKind::Unsupported) where it does not capture and stream
    /// in single planes.
    ///
    /// # Real-time safety
    /// Calls the system; not for a real-time path.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)?;
        let refused = |what: &str| io::Error::new(io::ErrorKind::Unsupported, what);
        let capability =
            system::capability(&file).map_err(|_| refused("it is not a Video4Linux2 device"))?;
        if capability.of_node() & (CAPTURES | STREAMS) != CAPTURES | STREAMS {
            return Err(refused(
                "the device does not stream what it captures in single planes",
            ));
        }
        let card = capability.card.split(|byte| *byte == 0).next();
        Ok(Self {
            card: String::from_utf8_lossy(card.unwrap_or_default()).into_owned(),
            file,
            memory: Vec::new(),
            taken: None,
        })
    }

    /// The device's name, as its driver says; foreign text.
    #[must_use]
    pub fn card(&self) -> &str {
        &self.card
    }

    /// The formats that it offers, in the driver's order. Calls the system.
    #[must_use]
    pub fn formats(&self) -> Vec<FourCc> {
        (0..MAX_FORMATS)
            .map_while(|index| system::format_at(&self.file, index))
            .map(u32::to_le_bytes)
            .collect()
    }

    /// The format that is set. Calls the system.
    ///
    /// # Errors
    /// The driver's error.
    pub fn format(&self) -> io::Result<VideoFormat> {
        Ok(VideoFormat::of(&system::format(&self.file, None)?))
    }

    /// Sets the nearest format that the device has, and returns it. Calls the system.
    ///
    /// # Errors
    /// The driver's error; [`ResourceBusy`](io::ErrorKind::ResourceBusy) while a program streams.
    pub fn set_format(&mut self, code: FourCc, width: u32, height: u32) -> io::Result<VideoFormat> {
        let wanted = system::PixFormat {
            width,
            height,
            pixel_format: u32::from_le_bytes(code),
            field: PROGRESSIVE,
            ..system::PixFormat::default()
        };
        Ok(VideoFormat::of(&system::format(&self.file, Some(wanted))?))
    }

    /// The present time from frame to frame; zero where the driver does not know. Calls the system.
    ///
    /// # Errors
    /// The driver's error.
    pub fn interval(&self) -> io::Result<Duration> {
        Ok(duration(system::interval(&self.file, None)?))
    }

    /// Sets the nearest time from frame to frame that the device has, and returns it. Calls the system.
    ///
    /// # Errors
    /// The driver's error; many devices have no choice.
    pub fn set_interval(&mut self, wanted: Duration) -> io::Result<Duration> {
        let microseconds = u32::try_from(wanted.as_micros()).unwrap_or(u32::MAX);
        let set = system::interval(&self.file, Some((microseconds, 1_000_000)))?;
        Ok(duration(set))
    }

    /// Makes the device capture into so many buffers of the driver. Calls the system and allocates.
    ///
    /// # Errors
    /// The driver's error; [`ResourceBusy`](io::ErrorKind::ResourceBusy) where another program streams.
    pub fn start(&mut self, buffers: u32) -> io::Result<()> {
        let count = system::request_buffers(&self.file, buffers)?;
        for index in 0..count {
            self.memory
                .push(system::DriverMemory::of(&self.file, index)?);
            system::enqueue(&self.file, index)?;
        }
        system::stream_on(&self.file)
    }

    /// Waits until a frame is there, for at most a span; returns whether one is, or [`take`](Self::take) would
    /// return an error.
    ///
    /// # Real-time safety
    /// It makes one system call, which blocks.
    #[must_use]
    pub fn wait(&self, at_most: Duration) -> bool {
        system::wait(&self.file, at_most)
    }

    /// Takes the oldest waiting frame; the frame that was taken before goes back to the driver.
    ///
    /// # Errors
    /// The driver's error: for example, the device was unplugged.
    ///
    /// # Real-time safety
    /// It makes two system calls, which do not block, and allocates nothing.
    pub fn take(&mut self) -> io::Result<Option<VideoFrame<'_>>> {
        /// `V4L2_BUF_FLAG_ERROR`.
        const ERROR: u32 = 0x40;
        /// `V4L2_BUF_FLAG_TIMESTAMP_MASK` and `..._MONOTONIC`.
        const STAMPED: (u32, u32) = (0xe000, 0x2000);
        if let Some(index) = self.taken.take() {
            system::enqueue(&self.file, index)?;
        }
        let Some(buffer) = system::dequeue(&self.file)? else {
            return Ok(None);
        };
        let memory = self.memory.get(buffer.index as usize);
        let memory =
            memory.ok_or_else(|| io::Error::other("the driver names no buffer of its own"))?;
        self.taken = Some(buffer.index);
        let is_monotonic = buffer.flags & STAMPED.0 == STAMPED.1;
        Ok(Some(VideoFrame {
            bytes: memory.filled(buffer.bytes_used as usize),
            sequence: buffer.sequence,
            captured: is_monotonic.then(|| MonotonicTime::default() + buffer.stamp()),
            is_damaged: buffer.flags & ERROR != 0,
        }))
    }
}

fn duration((numerator, denominator): (u32, u32)) -> Duration {
    let ns = u64::from(numerator) * 1_000_000_000;
    Duration::from_nanos(ns.checked_div(denominator.into()).unwrap_or(0))
}

/// The devices of this machine that capture: their paths and names, sorted. Opens each; calls the system.
#[must_use]
pub fn devices() -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir("/sys/class/video4linux");
    let names = entries.into_iter().flatten().flatten();
    let devices = names.filter_map(|entry| {
        let path = Path::new("/dev").join(entry.file_name());
        let device = VideoDevice::open(&path).ok()?;
        Some((path, device.card))
    });
    let mut devices: Vec<_> = devices.collect();
    devices.sort();
    devices
}
