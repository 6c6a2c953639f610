//! Recorders: a real-time thread records values, and another thread fetches them.
//!
//! There are two kinds. [`pair`] has one writing thread, and costs it no more than a histogram of its own would:
//! its counters only increase, and the reader takes differences. [`shared`] has any number of writing threads: they
//! count in one of two sets of counters while the reader empties the other, and a
//! [`WriterReaderPhaser`](crate::phaser::WriterReaderPhaser) ensures that they never use the same set. Either way
//! no value is lost and none is returned twice, in whatever order calls come.
//!
//! # Assumptions
//! 1. Values are nanoseconds; negative ones are early.
//! 2. A thread does not stop for good in the middle of [`Recorder::record`].
//!
//! # Guarantees
//! 1. Exactly one call to [`IntervalReader::flip_into`] returns each value.
//! 2. That call is the first one to begin after the value's `record` call has returned, or one
//!    that overlaps it. The values of several threads are cut at one instant, the flip; of the values that a
//!    single thread records during a read, the read may take a part.
//! 3. [`IntervalReader::counts`] includes every returned value, and is exact when no thread
//!    records meanwhile.
//! 4. Everything is allocated and its pages are touched before the first value: `record` neither
//!    allocates, nor locks, nor calls the system, nor faults a page of the recorder in.
//!
//! # Progress
//! 1. [`SingleWriter::record`] is wait-free everywhere: plain loads and stores.
//! 2. [`Recorder::record`] is wait-free where an atomic fetch-and-add is (x86-64, ARMv8.1 with
//!    LSE), except for a value that is a new extreme or a miss: raising a shared maximum is lock-free
//!    on x86-64.
//! 3. `flip_into` does not allocate. With one writing thread it never waits; with several it waits
//!    for those `record` calls that had begun before it.
//!
//! Loom models in `tests/loom.rs` check the guarantees over all interleavings of a few calls.
//!
//! # Example
//! ```
//! use kadenz_record::{histogram::SignedHistogram, recorder};
//!
//! let (mut writer, mut reader) = recorder::pair(Some(400_000));
//! let measuring = std::thread::spawn(move || {
//!     for lateness_ns in [52_000, 61_000, 480_000, -900] {
//!         writer.record(lateness_ns);
//!     }
//! });
//! measuring.join().unwrap();
//!
//! let mut interval = SignedHistogram::new();
//! reader.flip_into(&mut interval);
//! assert_eq!(interval.count(), 4);
//! let counts = reader.counts();
//! assert_eq!((counts.misses, counts.early), (1, 1));
//! assert_eq!((counts.min_ns, counts.max_ns), (Some(-900), Some(480_000)));
//! ```

mod lone;
mod shared;

use std::time::Instant;

use serde::{Deserialize, Serialize};

use lone::LoneReader;
use shared::SharedReader;

pub(crate) use lone::Falling;
pub use lone::SingleWriter;
pub use shared::Recorder;

use crate::histogram::{Layout, SignedHistogram};
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;

/// The exact counts of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Values recorded, early ones included.
    pub recorded: u64,
    /// Samples taken but not in the samples file: the ring was full, or the disk.
    pub dropped: u64,
    /// Values below zero.
    pub early: u64,
    /// Values beyond what the histogram holds (one hour), recorded as the highest it holds.
    pub saturated: u64,
    /// Values above the deadline; 0 without one.
    pub misses: u64,
    /// Most misses in a row.
    pub longest_miss_run: u64,
    /// Smallest value, exact; absent when nothing was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<i64>,
    /// Largest value, exact; absent when nothing was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<i64>,
}

impl Counts {
    /// Adds the counts of another part of a recording. A row of misses does not continue from one part to the next,
    /// because time lies between them.
    ///
    /// # Real-time safety
    /// Real-time safe: a few additions.
    pub fn add(&mut self, part: &Self) {
        self.recorded += part.recorded;
        self.dropped += part.dropped;
        self.early += part.early;
        self.saturated += part.saturated;
        self.misses += part.misses;
        self.longest_miss_run = self.longest_miss_run.max(part.longest_miss_run);
        self.min_ns = [self.min_ns, part.min_ns].into_iter().flatten().min();
        self.max_ns = self.max_ns.max(part.max_ns);
    }
}

/// A recorder for one writing thread, and its reader. A value above `deadline_ns` counts as a miss.
/// Allocates about 1 MB.
///
/// # Real-time safety
/// Not real-time safe: it allocates.
#[must_use]
pub fn pair(deadline_ns: Option<u64>) -> (SingleWriter, IntervalReader) {
    let (writer, reader) = lone::pair(limit(deadline_ns));
    (
        writer,
        IntervalReader {
            source: RecorderReader::Lone(reader),
        },
    )
}

/// A recorder for any number of writing threads, each with a clone of the [`Recorder`], and its
/// reader. A value above `deadline_ns` counts as a miss. Allocates about 1 MB.
///
/// # Real-time safety
/// Not real-time safe: it allocates.
#[must_use]
pub fn shared(deadline_ns: Option<u64>) -> (Recorder, IntervalReader) {
    let (recorder, reader) = shared::pair(limit(deadline_ns));
    (
        recorder,
        IntervalReader {
            source: RecorderReader::Shared(reader),
        },
    )
}

/// Without a deadline the limit is one that no value exceeds.
fn limit(deadline_ns: Option<u64>) -> i64 {
    deadline_ns
        .and_then(|ns| i64::try_from(ns).ok())
        .unwrap_or(i64::MAX)
}

/// The reading end of a recorder.
///
/// # Real-time safety
/// For the writer thread: [`IntervalReader::flip_into`] may sleep. [`IntervalReader::counts`] copies numbers.
#[derive(Debug)]
pub struct IntervalReader {
    source: RecorderReader,
}

/// The reading end for one writer, or for several that share a recorder.
#[derive(Debug)]
enum RecorderReader {
    Lone(LoneReader),
    Shared(SharedReader),
}

impl IntervalReader {
    /// Replaces the content of `interval` with the values recorded since the last call.
    ///
    /// # Real-time safety
    /// It allocates only if `interval` is not of the standard layout. It may sleep: it is for the writer thread, not
    /// for a real-time one.
    pub fn flip_into(&mut self, interval: &mut SignedHistogram) {
        interval.late.reset_to(LAYOUT);
        interval.early.reset_to(LAYOUT);
        match &mut self.source {
            RecorderReader::Lone(reader) => reader.take(interval),
            RecorderReader::Shared(reader) => reader.take(interval),
        }
    }

    /// The counts from the start up to the last call of [`IntervalReader::flip_into`]; exact after one that follows
    /// the last value. `dropped` stays 0: a recorder drops nothing.
    #[must_use]
    pub fn counts(&self) -> Counts {
        match &self.source {
            RecorderReader::Lone(reader) => reader.totals(),
            RecorderReader::Shared(reader) => reader.totals(),
        }
    }
}

const ROUNDS: u64 = 9;
const VALUES: u64 = 10_000;

/// Measures the cost of recording one value on this machine, in nanoseconds: the median over nine rounds of ten
/// thousand values, which take about a millisecond.
///
/// # Real-time safety
/// Not for a real-time path.
#[must_use]
pub fn cost_ns() -> f64 {
    let (mut writer, _reader) = pair(None);
    let mut costs: Vec<f64> = (0..ROUNDS)
        .map(|round| {
            let begin = Instant::now();
            for value in 0..VALUES {
                writer.record(i64::try_from(value * 37 + round).unwrap_or(0));
            }
            begin.elapsed().as_nanos() as f64 / VALUES as f64
        })
        .collect();
    costs.sort_by(f64::total_cmp);
    costs[costs.len() / 2]
}

// Counters that several threads share.

/// The layout of every recorder. Loom can follow only a few counters, and Miri is slow.
const LAYOUT: Layout = if cfg!(loom) {
    small(3, 0)
} else if cfg!(miri) {
    small(Layout::STANDARD.highest(), 1)
} else {
    Layout::STANDARD
};

const fn small(highest: u64, digits: u8) -> Layout {
    match Layout::new(1, highest, digits) {
        Ok(layout) => layout,
        Err(_) => panic!("these are layouts"),
    }
}

/// Values beyond this magnitude are saturated.
const HIGHEST: u64 = LAYOUT.highest();

/// One counter for each range of values, of either sign.
#[derive(Debug)]
struct Counters {
    late: Box<[AtomicU64]>,
    early: Box<[AtomicU64]>,
}

impl Counters {
    /// Makes counters at zero, whose pages are all mapped, so that counting never faults one in.
    fn new() -> Self {
        Self {
            late: touched(),
            early: touched(),
        }
    }

    /// The counter of `value`.
    #[inline]
    fn of(&self, value: i64) -> &AtomicU64 {
        let counters = if value < 0 { &self.early } else { &self.late };
        &counters[index_of(value)]
    }
}

#[inline]
fn index_of(value: i64) -> usize {
    LAYOUT.index_of(value.unsigned_abs())
}

/// The indices of late and of early counters that values from `min` to `max` use.
fn used(min: i64, max: i64) -> [std::ops::Range<usize>; 2] {
    let late = if max >= 0 {
        index_of(min.max(0))..index_of(max) + 1
    } else {
        0..0
    };
    let early = if min < 0 {
        index_of(max.min(-1))..index_of(min) + 1
    } else {
        0..0
    };
    [late, early]
}

/// Zeroed counters on pages that were written to once.
fn touched() -> Box<[AtomicU64]> {
    let counters: Box<[AtomicU64]> = (0..LAYOUT.len()).map(|_| AtomicU64::new(0)).collect();
    // The kernel may map zeroed memory only on the first write; a write to each page forces it.
    for counter in std::hint::black_box(&counters).iter().step_by(64) {
        counter.store(1, Relaxed);
        std::hint::black_box(counter).store(0, Relaxed);
    }
    counters
}

#[cfg(all(test, not(loom)))]
mod tests;
