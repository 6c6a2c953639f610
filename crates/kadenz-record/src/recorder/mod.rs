//! Where a real-time thread leaves its values, and where another thread fetches them.
//!
//! A recorder keeps two sets of counters. Writers count in one while the reader empties the other,
//! and a [`WriterReaderPhaser`](crate::phaser::WriterReaderPhaser) sees to it that they never meet.
//! No value is lost and none is counted twice, however writers and flips fall.
//!
//! # Assumptions
//! 1. A thread does not stop for good in the middle of a `record` call.
//! 2. Values are nanoseconds; negative ones are early.
//!
//! # Guarantees
//! 1. What one call to [`IntervalReader::flip_into`] hands out are exactly the values whose
//!    `record` call began after the flip before and before this one.
//! 2. Everything is allocated and its pages are touched before the first value: `record` neither
//!    allocates, nor locks, nor calls the system, nor faults a page of the recorder in.
//! 3. [`SingleWriter::record`] is wait-free wherever an atomic fetch-and-add is, and so is
//!    [`Recorder::record`] but for a value that is a new extreme or a miss: raising a shared
//!    maximum is lock-free on x86-64.
//! 4. `flip_into` waits only for `record` calls that had begun before it. It does not allocate.
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

mod buffer;

use buffer::{Buffer, LAYOUT};

use crate::{
    histogram::SignedHistogram,
    phaser::WriterReaderPhaser,
    run::model::Counts,
    sync::{Arc, AtomicU64, Ordering::Relaxed},
};

/// A recorder for one writing thread, which is the cheaper form, and its reader. A value above
/// `deadline_ns` counts as a miss. Allocates about 1 MB.
#[must_use]
pub fn pair(deadline_ns: Option<u64>) -> (SingleWriter, IntervalReader) {
    let core = Arc::new(Core::new(deadline_ns));
    (
        SingleWriter {
            core: Arc::clone(&core),
            miss_run: 0,
        },
        IntervalReader::new(core),
    )
}

/// A recorder for any number of writing threads, each with a clone of the [`Recorder`], and its
/// reader. A value above `deadline_ns` counts as a miss. Allocates about 1 MB.
#[must_use]
pub fn shared(deadline_ns: Option<u64>) -> (Recorder, IntervalReader) {
    let core = Arc::new(Core::new(deadline_ns));
    (
        Recorder {
            core: Arc::clone(&core),
        },
        IntervalReader::new(core),
    )
}

#[derive(Debug)]
struct Core {
    phaser: WriterReaderPhaser,
    buffers: [Buffer; 2],
    /// Values above it are misses; `i64::MAX` where there is no deadline, which no value exceeds.
    deadline: i64,
    /// Misses in a row up to now, where several threads write.
    miss_run: AtomicU64,
}

impl Core {
    fn new(deadline_ns: Option<u64>) -> Self {
        Self {
            phaser: WriterReaderPhaser::new(),
            buffers: [Buffer::new(), Buffer::new()],
            deadline: deadline_ns
                .and_then(|ns| i64::try_from(ns).ok())
                .unwrap_or(i64::MAX),
            miss_run: AtomicU64::new(0),
        }
    }
}

/// The writing end of a recorder that has one writing thread.
#[derive(Debug)]
pub struct SingleWriter {
    core: Arc<Core>,
    /// Misses in a row up to now.
    miss_run: u64,
}

impl SingleWriter {
    /// Records a value in nanoseconds. Real-time safe: wait-free, no allocation, no system call.
    #[inline]
    pub fn record(&mut self, value_ns: i64) {
        let core = &*self.core;
        let section = core.phaser.enter_alone();
        let buffer = &core.buffers[section.phase().index()];
        buffer.record_alone(value_ns);
        if value_ns > core.deadline {
            self.miss_run += 1;
            buffer.miss_alone(self.miss_run);
        } else {
            self.miss_run = 0;
        }
    }
}

/// The writing end of a recorder that several threads may share; clones record into the same.
#[derive(Clone, Debug)]
pub struct Recorder {
    core: Arc<Core>,
}

impl Recorder {
    /// Records a value in nanoseconds. Real-time safe: no allocation, no system call, and never
    /// waits for the reader. Misses in a row are counted in the order in which the threads get to
    /// this call.
    #[inline]
    pub fn record(&self, value_ns: i64) {
        let core = &*self.core;
        let section = core.phaser.enter();
        let buffer = &core.buffers[section.phase().index()];
        buffer.record_shared(value_ns);
        if value_ns > core.deadline {
            let run = core.miss_run.fetch_add(1, Relaxed) + 1;
            buffer.miss_shared(run);
        } else if core.miss_run.load(Relaxed) != 0 {
            core.miss_run.store(0, Relaxed);
        }
    }
}

/// The reading end of a recorder.
#[derive(Debug)]
pub struct IntervalReader {
    core: Arc<Core>,
    totals: Counts,
}

impl IntervalReader {
    fn new(core: Arc<Core>) -> Self {
        Self {
            core,
            totals: Counts::default(),
        }
    }

    /// Makes `interval` hold exactly the values recorded since the last flip, whatever it held
    /// before, and returns their counts. Allocates only if `interval` is not of the standard
    /// layout. For the writer thread, not for a real-time one: it may sleep.
    pub fn flip_into(&mut self, interval: &mut SignedHistogram) -> Counts {
        interval.late.reset_to(LAYOUT);
        interval.early.reset_to(LAYOUT);
        let mut turn = self.core.phaser.read();
        turn.flip();
        let counts = self.core.buffers[turn.resting().index()].drain(interval);
        drop(turn);
        add_counts(&mut self.totals, &counts);
        counts
    }

    /// What has been counted from the start up to the last flip; exact after a flip that follows
    /// the last value. `dropped` stays 0: a recorder drops nothing.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.totals
    }
}

fn add_counts(totals: &mut Counts, interval: &Counts) {
    totals.recorded += interval.recorded;
    totals.early += interval.early;
    totals.saturated += interval.saturated;
    totals.misses += interval.misses;
    totals.longest_miss_run = totals.longest_miss_run.max(interval.longest_miss_run);
    totals.min_ns = [totals.min_ns, interval.min_ns].into_iter().flatten().min();
    totals.max_ns = totals.max_ns.max(interval.max_ns);
}

#[cfg(all(test, not(loom)))]
mod tests;
