//! Where a real-time thread leaves its values, and where another thread fetches them.
//!
//! There are two kinds. [`pair`] has one writing thread, and costs it no more than a histogram of
//! its own would: its counters only go up, and the reader takes differences. [`shared`] has any
//! number of writing threads: they count in one of two sets of counters while the reader empties
//! the other, and a [`WriterReaderPhaser`](crate::phaser::WriterReaderPhaser) sees to it that they
//! never meet. Either way no value is lost and none is handed out twice, however calls fall.
//!
//! # Assumptions
//! 1. Values are nanoseconds; negative ones are early.
//! 2. A thread does not stop for good in the middle of [`Recorder::record`].
//!
//! # Guarantees
//! 1. Each value is handed out by exactly one call to [`IntervalReader::flip_into`].
//! 2. That call is the first one to begin after the value's `record` call has returned, or one
//!    that the two overlap. What several threads recorded is cut at one instant, the flip; what one
//!    thread recorded while it was being read may be taken in part.
//! 3. [`IntervalReader::counts`] lags behind nothing that was handed out, and is exact when nobody
//!    records meanwhile.
//! 4. Everything is allocated and its pages are touched before the first value: `record` neither
//!    allocates, nor locks, nor calls the system, nor faults a page of the recorder in.
//!
//! # Progress
//! 1. [`SingleWriter::record`] is wait-free everywhere: plain loads and stores.
//! 2. [`Recorder::record`] is wait-free where an atomic fetch-and-add is (x86-64, ARMv8.1 with
//!    LSE), but for a value that is a new extreme or a miss: raising a shared maximum is lock-free
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

mod cost;
mod counters;
mod lone;
mod shared;

use counters::LAYOUT;
use lone::LoneReader;
use shared::SharedReader;

pub use cost::cost_ns;
pub(crate) use lone::Falling;
pub use lone::SingleWriter;
pub use shared::Recorder;

use crate::{histogram::SignedHistogram, run::model::Counts};

/// A recorder for one writing thread, and its reader. A value above `deadline_ns` counts as a miss.
/// Allocates about 1 MB.
#[must_use]
pub fn pair(deadline_ns: Option<u64>) -> (SingleWriter, IntervalReader) {
    let (writer, reader) = lone::pair(limit(deadline_ns));
    (
        writer,
        IntervalReader {
            source: Source::Lone(reader),
        },
    )
}

/// A recorder for any number of writing threads, each with a clone of the [`Recorder`], and its
/// reader. A value above `deadline_ns` counts as a miss. Allocates about 1 MB.
#[must_use]
pub fn shared(deadline_ns: Option<u64>) -> (Recorder, IntervalReader) {
    let (recorder, reader) = shared::pair(limit(deadline_ns));
    (
        recorder,
        IntervalReader {
            source: Source::Shared(reader),
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
#[derive(Debug)]
pub struct IntervalReader {
    source: Source,
}

#[derive(Debug)]
enum Source {
    Lone(LoneReader),
    Shared(SharedReader),
}

impl IntervalReader {
    /// Makes `interval` hold the values recorded since the last call, whatever it held before.
    /// Allocates only if `interval` is not of the standard layout. For the writer thread, not for a
    /// real-time one: it may sleep.
    pub fn flip_into(&mut self, interval: &mut SignedHistogram) {
        interval.late.reset_to(LAYOUT);
        interval.early.reset_to(LAYOUT);
        match &mut self.source {
            Source::Lone(reader) => reader.take(interval),
            Source::Shared(reader) => reader.take(interval),
        }
    }

    /// What has been counted from the start up to the last call of [`IntervalReader::flip_into`];
    /// exact after one that follows the last value. `dropped` stays 0: a recorder drops nothing.
    #[must_use]
    pub fn counts(&self) -> Counts {
        match &self.source {
            Source::Lone(reader) => reader.totals(),
            Source::Shared(reader) => reader.totals(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
