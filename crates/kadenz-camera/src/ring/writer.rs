//! The writer of a ring.

use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use kadenz_rt::clock;
use kadenz_rt::shared::Owner;

use super::{
    FrameInfo, HEADER_BYTES, MAGIC, MAX_SLOTS, PIXELS_AT, RingError, Shape, VERSION, header,
};
use crate::layout::Order;

/// The one process that publishes frames under a name.
///
/// # Real-time safety
/// [`RingWriter::create`] allocates. Publishing makes one system call, which does not block. Replacing or dropping the
/// ring removes its file and unmaps it: not for a loop.
#[derive(Debug)]
pub struct RingWriter {
    owner: Owner,
    shape: Shape,
    slots: usize,
    stride: usize,
    published: u64,
}

impl RingWriter {
    /// Makes a ring and brings its pages into memory.
    ///
    /// # Errors
    /// [`RingError`], for example where another process publishes under that name.
    ///
    /// # Real-time safety
    /// It allocates and calls the system.
    pub fn create(
        name: &str,
        shape: Shape,
        slots: usize,
        interval: Duration,
    ) -> Result<Self, RingError> {
        let bytes = shape.bytes();
        let stride = (PIXELS_AT + bytes).next_multiple_of(4096);
        if !(2..=MAX_SLOTS).contains(&slots) {
            return Err(RingError::TooLarge { slots, bytes });
        }
        let owner = Owner::create(name, (HEADER_BYTES + stride * slots) / 8)?;
        let ring = Self {
            owner,
            shape,
            slots,
            stride,
            published: 0,
        };
        ring.write_header(interval);
        Ok(ring)
    }

    fn write_header(&self, interval: Duration) {
        let words = self.owner.words();
        let shape = &self.shape;
        let values = [
            (header::VERSION, VERSION),
            (header::HEADER_BYTES, HEADER_BYTES as u64),
            (header::SLOTS, self.slots as u64),
            (header::STRIDE, self.stride as u64),
            (header::PIXELS_AT, PIXELS_AT as u64),
            (header::WIDTH, u64::from(shape.size.width)),
            (header::HEIGHT, u64::from(shape.size.height)),
            (header::CHANNELS, shape.channels.count() as u64),
            (header::CHANNEL_ORDER, shape.channels as u64),
            (header::ORDER, u64::from(shape.order == Order::ColumnMajor)),
            (header::BYTES, shape.bytes() as u64),
            (header::GENERATION, clock::now().as_ns()),
            (header::WRITER, u64::from(std::process::id())),
            (
                header::INTERVAL,
                u64::try_from(interval.as_nanos()).unwrap_or(0),
            ),
        ];
        for (word, value) in values {
            words[word].store(value, Ordering::Relaxed);
        }
        // Readers treat a ring without the magic letters as one that is still being made.
        words[header::MAGIC].store(MAGIC, Ordering::Release);
    }

    /// The shape of its frames.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Publishes a frame: `fill` writes its pixels and returns its information, or `None` to publish nothing. Readers
    /// see the whole frame or none. The memory that `fill` gets holds an older frame.
    ///
    /// # Real-time safety
    /// Neither allocates nor locks; one system call, which does not block.
    pub fn publish(
        &mut self,
        fill: impl FnOnce(&mut [u8]) -> Option<FrameInfo>,
    ) -> Option<FrameInfo> {
        let frame = self.published + 1;
        let at = HEADER_BYTES + (self.published as usize % self.slots) * self.stride;
        let sequence = at / 8;
        self.owner.words()[sequence].store(2 * frame - 1, Ordering::Relaxed);
        fence(Ordering::Release);
        let pixels = at + PIXELS_AT;
        let info = fill(self.owner.bytes_mut(pixels..pixels + self.shape.bytes()))?;
        let words = self.owner.words();
        for (word, value) in words[sequence + 1..].iter().zip(info.to_words()) {
            word.store(value, Ordering::Relaxed);
        }
        words[sequence].store(2 * frame, Ordering::Release);
        words[header::NEWEST].store(frame, Ordering::Release);
        self.published = frame;
        self.owner.wake(header::NEWEST);
        Some(info)
    }

    #[cfg(test)]
    pub(super) fn owner_words(&self) -> &[std::sync::atomic::AtomicU64] {
        self.owner.words()
    }

    /// Marks the ring as replaced by one of another size, and ends it.
    pub fn replace(self) {
        self.end(1);
    }

    fn end(&self, state: u64) {
        self.owner.words()[header::STATE].fetch_max(state, Ordering::Release);
        self.owner.wake(header::NEWEST);
    }
}

impl Drop for RingWriter {
    fn drop(&mut self) {
        if self.owner.words()[header::STATE].load(Ordering::Relaxed) == 0 {
            self.end(2);
        }
    }
}
