//! A bounded queue of samples for one producer and one consumer.
//!
//! # Assumptions
//!
//! 1. At most one thread pushes at a time and at most one takes at a time. The types ensure that:
//!    each end is owned, is not `Clone`, and requires `&mut self`.
//! 2. Loads and stores of 64 bits are atomic on the target.
//!
//! # Guarantees
//!
//! 1. `push` and `pop` are wait-free: a bounded number of loads and stores, no loop, no
//!    read-modify-write, no allocation, no lock, no system call.
//! 2. Every pushed sample is taken once, whole, and in order.
//! 3. A push into a full ring changes nothing but the count of dropped samples.
//!
//! The slots are atomics and not cells, so that no `unsafe` is needed: the words of a slot are stored relaxed and
//! published by the release of `tail`; the release of `head` returns them. The tests at the end run under loom with
//! `RUSTFLAGS="--cfg loom"`.

#[cfg(loom)]
use loom::sync::Arc;
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::sync::Arc;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::Sample;

/// The most samples a ring holds: 32 MiB of slots.
pub(crate) const MAX_CAPACITY: usize = 1 << 20;

/// Puts the words that the two ends write on separate cache lines (two, as x86 fetches them in pairs).
#[repr(align(128))]
struct Padded<T>(T);

/// The four words of a sample.
struct Slot([AtomicU64; 4]);

impl Slot {
    fn empty() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    fn store(&self, sample: Sample) {
        let words = [
            sample.sequence,
            sample.intended_ns.cast_unsigned(),
            sample.actual_ns.cast_unsigned(),
            sample.value_ns.cast_unsigned(),
        ];
        for (slot, word) in self.0.iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
    }

    fn load(&self) -> Sample {
        let [sequence, intended, actual, value] = &self.0;
        Sample {
            sequence: sequence.load(Ordering::Relaxed),
            intended_ns: intended.load(Ordering::Relaxed).cast_signed(),
            actual_ns: actual.load(Ordering::Relaxed).cast_signed(),
            value_ns: value.load(Ordering::Relaxed).cast_signed(),
        }
    }
}

/// The ring that both ends share. `head` and `tail` count samples and wrap; their difference is the length.
struct RingBuffer {
    slots: Box<[Slot]>,
    /// Samples taken; written by the consumer.
    head: Padded<AtomicUsize>,
    /// Samples pushed; written by the producer.
    tail: Padded<AtomicUsize>,
    /// Samples that found no room; written by the producer.
    dropped: Padded<AtomicU64>,
}

impl RingBuffer {
    fn slot(&self, index: usize) -> &Slot {
        &self.slots[index & (self.slots.len() - 1)]
    }
}

/// A bounded ring of samples: its two ends.
///
/// `capacity` is rounded up to a power of two and kept between 2 and 1,048,576. All memory
/// is taken and touched here.
///
/// ```
/// use kadenz_record::samples::{ring, Sample};
///
/// let (mut producer, mut consumer) = ring(1024);
/// assert!(producer.push(Sample { sequence: 0, value_ns: 42, ..Sample::default() }));
/// assert_eq!(consumer.pop().map(|sample| sample.value_ns), Some(42));
/// assert_eq!(consumer.dropped(), 0);
/// ```
///
/// # Real-time safety
/// Not real-time safe: it allocates.
#[must_use]
pub fn ring(capacity: usize) -> (SampleProducer, SampleConsumer) {
    let capacity = capacity.clamp(2, MAX_CAPACITY).next_power_of_two();
    let shared = Arc::new(RingBuffer {
        slots: (0..capacity).map(|_| Slot::empty()).collect(),
        head: Padded(AtomicUsize::new(0)),
        tail: Padded(AtomicUsize::new(0)),
        dropped: Padded(AtomicU64::new(0)),
    });
    let producer = SampleProducer {
        shared: Arc::clone(&shared),
        tail: 0,
        head_seen: 0,
        dropped: 0,
    };
    let consumer = SampleConsumer { shared, head: 0 };
    (producer, consumer)
}

/// The end that the measuring thread holds.
///
/// # Real-time safety
/// No method allocates, locks or makes a system call; all are wait-free.
#[derive(Debug)]
pub struct SampleProducer {
    shared: Arc<RingBuffer>,
    /// Own copy of `tail`: no other thread writes it.
    tail: usize,
    /// `head` as last read; it only grows, so a stale copy errs on the side of full.
    head_seen: usize,
    /// Own copy of `dropped`.
    dropped: u64,
}

impl SampleProducer {
    /// Puts a sample into the ring, or counts it as dropped if there is no room; returns true if it went in.
    ///
    /// # Real-time safety
    /// Real-time safe: wait-free, and allocates nothing.
    pub fn push(&mut self, sample: Sample) -> bool {
        let capacity = self.shared.slots.len();
        if self.tail.wrapping_sub(self.head_seen) >= capacity {
            self.head_seen = self.shared.head.0.load(Ordering::Acquire);
            if self.tail.wrapping_sub(self.head_seen) >= capacity {
                self.drop_more(1);
                return false;
            }
        }
        self.shared.slot(self.tail).store(sample);
        self.tail = self.tail.wrapping_add(1);
        self.shared.tail.0.store(self.tail, Ordering::Release);
        true
    }

    /// Counts samples as dropped without trying to put them in.
    pub(crate) fn drop_more(&mut self, count: u64) {
        self.dropped = self.dropped.wrapping_add(count);
        self.shared.dropped.0.store(self.dropped, Ordering::Relaxed);
    }

    /// Samples that found no room so far.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Samples the ring holds when full.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }
}

/// The end that the writer thread holds.
///
/// # Real-time safety
/// All methods are wait-free, and only [`SampleConsumer::drain_into`] allocates, where its target has too little room.
#[derive(Debug)]
pub struct SampleConsumer {
    shared: Arc<RingBuffer>,
    /// Own copy of `head`: no other thread writes it.
    head: usize,
}

impl SampleConsumer {
    /// Takes the oldest sample; `None` if the ring is empty. Wait-free.
    pub fn pop(&mut self) -> Option<Sample> {
        let tail = self.shared.tail.0.load(Ordering::Acquire);
        if tail == self.head {
            return None;
        }
        let sample = self.shared.slot(self.head).load();
        self.head = self.head.wrapping_add(1);
        self.shared.head.0.store(self.head, Ordering::Release);
        Some(sample)
    }

    /// Moves the samples that are in the ring now, up to `most`, to the end of `out`, and returns how many.
    pub fn drain_into(&mut self, out: &mut Vec<Sample>, most: usize) -> usize {
        let count = self.len().min(most);
        out.extend((0..count).map(|i| self.shared.slot(self.head.wrapping_add(i)).load()));
        self.head = self.head.wrapping_add(count);
        self.shared.head.0.store(self.head, Ordering::Release);
        count
    }

    /// Samples in the ring now.
    #[must_use]
    pub fn len(&self) -> usize {
        let tail = self.shared.tail.0.load(Ordering::Acquire);
        tail.wrapping_sub(self.head)
    }

    /// Whether the ring is empty now.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Samples that found no room so far; exact once the thread that pushed them was joined.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.0.load(Ordering::Relaxed)
    }

    /// Samples the ring holds when full.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }
}

impl std::fmt::Debug for RingBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let capacity = self.slots.len();
        f.debug_struct("Shared")
            .field("capacity", &capacity)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
