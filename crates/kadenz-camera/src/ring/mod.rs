//! The newest frames in shared memory: one writer, any number of readers in any process and any language.
//!
//! The memory is the file `/dev/shm/kadenz-camera-NAME.LAYOUT`, made and pre-faulted by the writer, which readers map
//! for reading alone. All numbers are unsigned 64-bit words in the machine's byte order (little-endian on every
//! machine that Kadenz is built for today), all times nanoseconds of `CLOCK_MONOTONIC`.
//!
//! | byte | header |
//! |---|---|
//! | 0 | the letters `KADENZCM` |
//! | 8 | version of this description: 1 |
//! | 16 | bytes of the header: where the first slot begins (4096) |
//! | 24 | number of slots |
//! | 32 | bytes from slot to slot |
//! | 40 | bytes from a slot's begin to its pixels (4096) |
//! | 48 | width in pixels |
//! | 56 | height in pixels |
//! | 64 | channels: 1 or 3 |
//! | 72 | channels' order: 0 gray, 1 red green blue, 2 blue green red |
//! | 80 | pixels' order: 0 interleaved rows, 1 planes of columns |
//! | 88 | bytes of a frame |
//! | 96 | generation: when this ring was made |
//! | 104 | process number of the writer |
//! | 112 | **newest**: how many frames were published; the newest is in slot (newest - 1) mod slots. A futex word |
//! | 120 | **state**: 0 in use, 1 replaced by a ring of the same name (another size), 2 ended |
//! | 128 | the camera's interval between frames, 0 where unknown |
//!
//! | byte | slot |
//! |---|---|
//! | 0 | **sequence**: 2k when the slot holds frame k of this ring (counted from 1), 2k - 1 while it is written |
//! | 8 | number of the frame, lost ones counted, since the server's start |
//! | 16 | capture time; 0 where unknown |
//! | 24 | clock of the capture time: 0 unknown, 1 driver or generator, 2 the camera's own, by an RTCP sender report |
//! | 32 | when its first byte came |
//! | 40 | when it was complete |
//! | 48 | when it was decoded |
//! | 56 | when it was converted and published |
//! | 64 | frames missed before it, in all: lost on the way, damaged or undecodable |
//! | 72 | frames with the same bytes as the frame before, in all |
//! | 80 | frames skipped before it, in all, to keep up when decoding fell behind |
//! | 88 | how long its decoding took |
//! | 96 | how long its conversion into this layout took |
//! | 104 | flags: bit 0 damaged |
//!
//! To read: load *newest* (acquire); 0 means no frame yet. In its slot, *sequence* must be twice that. Copy the fields
//! and pixels, then load *sequence* again: where it changed, the copy is invalid; try again. No process waits for
//! another, so neither a killed reader nor a killed writer harms the others. Where *state* is not 0, or the writer's
//! lock on the file (`flock`) is gone, open the name again.

mod reader;
#[cfg(test)]
mod tests;
mod writer;

use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::shared::SharedError;
use serde::Serialize;

pub use reader::{Frame, Overwritten, RingReader, RingState};
pub use writer::RingWriter;

use crate::layout::{Channels, Layout, Order};
use crate::picture::Size;

const MAGIC: u64 = u64::from_le_bytes(*b"KADENZCM");
const VERSION: u64 = 1;
const HEADER_BYTES: usize = 4096;
/// A page, so that every frame begins on one.
const PIXELS_AT: usize = 4096;
/// Frames that a ring holds by default: a view stays valid for two intervals and more.
pub const DEFAULT_SLOTS: usize = 4;
pub(crate) const MAX_SLOTS: usize = 64;

/// Words of the header, in order.
mod header {
    pub(super) const MAGIC: usize = 0;
    pub(super) const VERSION: usize = 1;
    pub(super) const HEADER_BYTES: usize = 2;
    pub(super) const SLOTS: usize = 3;
    pub(super) const STRIDE: usize = 4;
    pub(super) const PIXELS_AT: usize = 5;
    pub(super) const WIDTH: usize = 6;
    pub(super) const HEIGHT: usize = 7;
    pub(super) const CHANNELS: usize = 8;
    pub(super) const CHANNEL_ORDER: usize = 9;
    pub(super) const ORDER: usize = 10;
    pub(super) const BYTES: usize = 11;
    pub(super) const GENERATION: usize = 12;
    pub(super) const WRITER: usize = 13;
    pub(super) const NEWEST: usize = 14;
    pub(super) const STATE: usize = 15;
    pub(super) const INTERVAL: usize = 16;
}

/// Words of a slot that [`FrameInfo`] fills, after the sequence.
const INFO_WORDS: usize = 13;

/// Why a ring cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// The shared memory of the ring cannot be made or opened.
    #[error(transparent)]
    Shared(#[from] SharedError),
    /// The memory is not a ring as described here.
    #[error(
        "`{name}` is not a valid ring of frames: {why}; start its camera server again, or update this program"
    )]
    Foreign {
        /// The name of the shared memory.
        name: String,
        /// What is wrong with its content, in words.
        why: &'static str,
    },
    /// A frame of that size and so many slots do not fit into shared memory.
    #[error(
        "{slots} frames of {bytes} bytes do not fit; take 2 to {MAX_SLOTS} slots and at most 1 GiB in all, or scale the layout down"
    )]
    TooLarge {
        /// The requested number of slots.
        slots: usize,
        /// Bytes of a frame.
        bytes: usize,
    },
}

/// How the pixels of a ring lie in memory.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The width and height of a frame in pixels.
    pub size: Size,
    /// Which channels, in which order.
    pub channels: Channels,
    /// How pixels follow one another.
    pub order: Order,
}

impl Shape {
    /// The shape of a layout's output for a picture of this size.
    #[must_use]
    pub fn of(layout: &Layout, size: Size) -> Self {
        Self {
            size,
            channels: layout.channels,
            order: layout.order,
        }
    }

    /// Bytes of a frame.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.size.pixels() * self.channels.count()
    }
}

/// The clock that gave a frame's capture time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CaptureClock {
    /// None: the arrival of the first byte stands for the capture time.
    #[default]
    Unknown,
    /// The driver or the generator, on this machine's clock.
    Local,
    /// The camera, on its own clock; as right as that is set.
    Camera,
}

/// What is known of a frame. Times are of `CLOCK_MONOTONIC`.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameInfo {
    /// Its number since the server's start; lost frames count.
    pub number: u64,
    /// When the camera took it, where that is known.
    pub capture: Option<MonotonicTime>,
    /// The clock of `capture`.
    pub capture_clock: CaptureClock,
    /// When its first byte came.
    pub first_byte: MonotonicTime,
    /// When it was complete.
    pub arrival: MonotonicTime,
    /// When it was decoded.
    pub decoded: MonotonicTime,
    /// When it was converted and published.
    pub published: MonotonicTime,
    /// Frames missed before it since the server's start: lost on the way, damaged or undecodable.
    pub missed: u64,
    /// Frames whose bytes were those of the one before.
    pub duplicated: u64,
    /// Frames skipped because decoding fell behind.
    pub skipped: u64,
    /// How long its decoding took, in nanoseconds.
    pub decode_ns: u64,
    /// How long its conversion took, in nanoseconds.
    pub convert_ns: u64,
    /// Whether a part of it is missing.
    pub is_damaged: bool,
}

impl FrameInfo {
    /// The time from which the frame's age counts: when the camera took it, or else when its first byte came.
    #[must_use]
    pub fn begin(&self) -> MonotonicTime {
        self.capture.unwrap_or(self.first_byte)
    }

    fn to_words(self) -> [u64; INFO_WORDS] {
        [
            self.number,
            self.capture.map_or(0, MonotonicTime::as_ns),
            self.capture_clock as u64,
            self.first_byte.as_ns(),
            self.arrival.as_ns(),
            self.decoded.as_ns(),
            self.published.as_ns(),
            self.missed,
            self.duplicated,
            self.skipped,
            self.decode_ns,
            self.convert_ns,
            u64::from(self.is_damaged),
        ]
    }

    fn from_words(words: &[u64; INFO_WORDS]) -> Self {
        let time = |at: usize| MonotonicTime::from_ns(words[at]);
        Self {
            number: words[0],
            capture: (words[2] != 0).then(|| time(1)),
            capture_clock: match words[2] {
                1 => CaptureClock::Local,
                2 => CaptureClock::Camera,
                _ => CaptureClock::Unknown,
            },
            first_byte: time(3),
            arrival: time(4),
            decoded: time(5),
            published: time(6),
            missed: words[7],
            duplicated: words[8],
            skipped: words[9],
            decode_ns: words[10],
            convert_ns: words[11],
            is_damaged: words[12] & 1 != 0,
        }
    }
}
