//! A reader of a ring.

use std::sync::atomic::{AtomicU8, Ordering, fence};
use std::time::Duration;

use kadenz_rt::clock;
use kadenz_rt::shared::Viewer;

use super::{
    FrameInfo, HEADER_BYTES, INFO_WORDS, MAGIC, MAX_SLOTS, PIXELS_AT, RingError, Shape, VERSION,
    header,
};
use crate::layout::{Channels, Order};
use crate::picture::Size;

/// Reads the frames of a ring, without being able to disturb it.
///
/// # Real-time safety
/// [`RingReader::open`], [`RingReader::state`] and [`RingReader::wait_beyond`] allocate and call the system (`state`
/// tries a file lock); the other methods do neither.
#[derive(Debug)]
pub struct RingReader {
    viewer: Viewer,
    shape: Shape,
    slots: usize,
    stride: usize,
    generation: u64,
    interval: Duration,
}

/// The state of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingState {
    /// The server writes frames into the ring.
    InUse,
    /// A ring of the same name follows: the camera's size changed.
    Replaced,
    /// The server ended.
    Ended,
    /// The server was killed.
    Abandoned,
}

/// The writer has published so many frames since that it overwrote this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the frame was overwritten while it was read; copy it at once, or let the ring have more slots"
)]
pub struct Overwritten;

impl RingReader {
    /// Maps the ring of that name.
    ///
    /// # Errors
    /// [`RingError`], where there is no ring of that name, or none that this program can read.
    ///
    /// # Real-time safety
    /// It allocates and calls the system.
    pub fn open(name: &str) -> Result<Self, RingError> {
        let viewer = Viewer::open(name)?;
        Self::over(viewer).map_err(|why| RingError::Foreign {
            name: name.to_owned(),
            why,
        })
    }

    fn over(viewer: Viewer) -> Result<Self, &'static str> {
        if viewer.count() * 8 < HEADER_BYTES {
            return Err("it is shorter than a header");
        }
        let word = |place| viewer.load(place, Ordering::Relaxed);
        if viewer.load(header::MAGIC, Ordering::Acquire) != MAGIC {
            return Err("it does not begin with KADENZCM");
        }
        if word(header::VERSION) != VERSION {
            return Err("it has another version");
        }
        let places = (word(header::HEADER_BYTES), word(header::PIXELS_AT));
        if places != (HEADER_BYTES as u64, PIXELS_AT as u64) {
            return Err("its parts lie elsewhere than in version 1");
        }
        let shape = shape_of(word)?;
        let number = |place| usize::try_from(word(place)).unwrap_or(usize::MAX);
        let (slots, stride) = (number(header::SLOTS), number(header::STRIDE));
        let is_whole = (2..=MAX_SLOTS).contains(&slots)
            && stride.is_multiple_of(8)
            && stride >= PIXELS_AT + shape.bytes()
            && stride
                .checked_mul(slots)
                .is_some_and(|all| all <= viewer.count() * 8 - HEADER_BYTES);
        if !is_whole {
            return Err("its slots do not fit into it");
        }
        Ok(Self {
            shape,
            slots,
            stride,
            generation: word(header::GENERATION),
            interval: Duration::from_nanos(word(header::INTERVAL)),
            viewer,
        })
    }

    /// The shape of its frames.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The camera's interval between frames; zero where unknown.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Number of frames that the ring holds.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// When the ring was made: rings of one name differ in it.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the ring's state.
    ///
    /// # Real-time safety
    /// It allocates and makes some system calls where the ring says that it is in use: it opens the ring's file again,
    /// tries the lock of the writer, and closes the file.
    #[must_use]
    pub fn state(&self) -> RingState {
        match self.viewer.load(header::STATE, Ordering::Acquire) {
            0 if self.viewer.owner_lives() => RingState::InUse,
            0 => RingState::Abandoned,
            1 => RingState::Replaced,
            _ => RingState::Ended,
        }
    }

    /// The count of frames published so far; the newest one has this count, and 0 means that there is none.
    ///
    /// # Real-time safety
    /// Neither allocates, locks nor calls the system.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.viewer.load(header::NEWEST, Ordering::Acquire)
    }

    /// Returns the newest frame, `None` where there is none yet.
    ///
    /// # Real-time safety
    /// Neither allocates, locks nor calls the system.
    #[must_use]
    pub fn latest(&self) -> Option<Frame<'_>> {
        // The newest is complete; only a writer that is a whole ring ahead can overwrite it.
        (0..self.slots).find_map(|_| self.frame(self.newest()))
    }

    /// Returns frame number `count` of this ring, where the ring still holds it.
    ///
    /// # Real-time safety
    /// Neither allocates, locks nor calls the system.
    #[must_use]
    pub fn frame(&self, count: u64) -> Option<Frame<'_>> {
        let sequence = count.checked_mul(2).filter(|it| *it > 0)?;
        let at = self.place(count);
        if self.viewer.load(at / 8, Ordering::Acquire) != sequence {
            return None;
        }
        let mut words = [0; INFO_WORDS];
        for (place, word) in words.iter_mut().enumerate() {
            *word = self.viewer.load(at / 8 + 1 + place, Ordering::Relaxed);
        }
        let frame = self.view(count, FrameInfo::from_words(&words));
        frame.is_valid().then_some(frame)
    }

    /// A frame that the caller read before, counted from 1; it may be overwritten by now.
    pub(crate) fn view(&self, count: u64, info: FrameInfo) -> Frame<'_> {
        Frame {
            reader: self,
            at: self.place(count),
            sequence: 2 * count,
            info,
        }
    }

    /// Where the slot of a frame begins; frames count from 1.
    fn place(&self, count: u64) -> usize {
        let slot = (count.saturating_sub(1) % self.slots as u64) as usize;
        HEADER_BYTES + slot * self.stride
    }

    /// Waits until the writer has published more than `count` frames, or the span is over; returns whether it has.
    /// Sleeps in the kernel, and looks every 100 ms at the latest whether the writer lives.
    ///
    /// # Real-time safety
    /// It sleeps, and before each sleep does what [`state`](Self::state) does.
    #[must_use]
    pub fn wait_beyond(&self, count: u64, span: Duration) -> bool {
        let end = clock::now() + span;
        loop {
            if self.newest() > count {
                return true;
            }
            let left = end.remaining(clock::now());
            if left.is_zero() || self.state() != RingState::InUse {
                return self.newest() > count;
            }
            // A killed writer wakes no reader.
            let nap = left.min(Duration::from_millis(100));
            self.viewer.wait(header::NEWEST, count as u32, nap);
        }
    }
}

fn shape_of(word: impl Fn(usize) -> u64) -> Result<Shape, &'static str> {
    let side = |place| u32::try_from(word(place)).unwrap_or(0);
    let size = Size::new(side(header::WIDTH), side(header::HEIGHT));
    let channels = match (word(header::CHANNELS), word(header::CHANNEL_ORDER)) {
        (1, 0) => Channels::Gray,
        (3, 1) => Channels::Rgb,
        (3, 2) => Channels::Bgr,
        _ => return Err("its channels are not among those of version 1"),
    };
    let order = match word(header::ORDER) {
        0 => Order::Interleaved,
        1 => Order::ColumnMajor,
        _ => return Err("its order of pixels is not among those of version 1"),
    };
    let size = size.map_err(|_| "its size is not a valid size of a picture")?;
    let shape = Shape {
        size,
        channels,
        order,
    };
    if word(header::BYTES) != shape.bytes() as u64 {
        return Err("its frames have another length than their size says");
    }
    Ok(shape)
}

/// A view of a frame in the ring. It stays valid until the writer has published as many frames as the ring has slots.
///
/// # Real-time safety
/// Only [`Frame::to_vec`] allocates, and no method locks. [`Frame::age`] reads the clock.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    reader: &'a RingReader,
    at: usize,
    sequence: u64,
    info: FrameInfo,
}

impl<'a> Frame<'a> {
    /// The frame's information.
    #[must_use]
    pub fn info(&self) -> &FrameInfo {
        &self.info
    }

    /// Its count in this ring: the value of [`RingReader::newest`] when it was published.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.sequence / 2
    }

    /// Its slot in the ring, from 0 on.
    #[must_use]
    pub fn slot(&self) -> usize {
        (self.at - HEADER_BYTES) / self.reader.stride
    }

    /// When its ring was made.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.reader.generation
    }

    /// How its pixels lie.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.reader.shape
    }

    /// The time since the camera took it, or since its first byte came where the capture time is unknown.
    #[must_use]
    pub fn age(&self) -> Duration {
        let age = clock::now().since(self.info.begin());
        Duration::from_nanos(u64::try_from(age).unwrap_or(0))
    }

    /// Whether the writer has not begun to overwrite it. What the caller read of [`pixels`](Self::pixels) is valid
    /// where this then returns true.
    ///
    /// # Real-time safety
    /// Neither allocates, locks nor calls the system.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        fence(Ordering::Acquire);
        self.reader.viewer.load(self.at / 8, Ordering::Relaxed) == self.sequence
    }

    /// Its bytes without a copy: [`Shape::bytes`] of them, which the writer may change at any time. Check
    /// [`is_valid`](Self::is_valid) afterwards.
    ///
    /// # Real-time safety
    /// Neither allocates, locks nor calls the system.
    #[must_use]
    pub fn pixels(&self) -> &'a [AtomicU8] {
        let pixels = self.at + PIXELS_AT;
        self.reader
            .viewer
            .bytes(pixels..pixels + self.shape().bytes())
    }

    /// Where its bytes begin in the shared memory, for languages that map it themselves.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.at + PIXELS_AT
    }

    /// Copies the frame.
    ///
    /// # Errors
    /// [`Overwritten`]; `into` then holds no valid frame.
    ///
    /// # Panics
    /// Where `into` has another length than [`Shape::bytes`].
    ///
    /// # Real-time safety
    /// Neither allocates, locks nor calls the system. Memory that was not touched before costs page faults.
    pub fn copy_to(&self, into: &mut [u8]) -> Result<(), Overwritten> {
        let bytes = self.shape().bytes();
        assert_eq!(into.len(), bytes, "a frame has {bytes} bytes");
        self.reader.viewer.copy_to(self.at + PIXELS_AT, into);
        self.is_valid().then_some(()).ok_or(Overwritten)
    }

    /// A copy in new memory, which costs 8 to 16 times as much as [`copy_to`](Self::copy_to) for large frames.
    ///
    /// # Errors
    /// [`Overwritten`].
    pub fn to_vec(&self) -> Result<Vec<u8>, Overwritten> {
        let mut bytes = vec![0; self.shape().bytes()];
        self.copy_to(&mut bytes)?;
        Ok(bytes)
    }
}
