//! Several writing threads: two sets of counters, and a phaser that keeps writers and reader apart.

use crate::{
    histogram::SignedHistogram,
    phaser::WriterReaderPhaser,
    recorder::Counts,
    sync::{Arc, AtomicI64, AtomicU64, Ordering::Relaxed},
};

use super::{Counters, HIGHEST, used};

pub(super) fn pair(deadline: i64) -> (Recorder, SharedReader) {
    let core = Arc::new(Core {
        phaser: WriterReaderPhaser::new(),
        buffers: [Buffer::new(), Buffer::new()],
        deadline,
        miss_run: AtomicU64::new(0),
    });
    let reader = SharedReader {
        core: Arc::clone(&core),
        totals: Counts::default(),
    };
    (Recorder { core }, reader)
}

#[derive(Debug)]
struct Core {
    phaser: WriterReaderPhaser,
    buffers: [Buffer; 2],
    deadline: i64,
    /// The present number of misses in a row.
    miss_run: AtomicU64,
}

/// The writing end of a recorder that several threads may share; clones record into the same.
#[derive(Clone, Debug)]
pub struct Recorder {
    core: Arc<Core>,
}

impl Recorder {
    /// Records a value in nanoseconds. Misses in a row are counted in the order in which the threads reach this
    /// call.
    ///
    /// # Real-time safety
    /// Real-time safe: no allocation, no system call, and never waits for the reader.
    #[inline]
    pub fn record(&self, value_ns: i64) {
        let core = &*self.core;
        let section = core.phaser.enter();
        let buffer = &core.buffers[section.phase().index()];
        buffer.record(value_ns);
        if value_ns > core.deadline {
            let run = core.miss_run.fetch_add(1, Relaxed) + 1;
            buffer.misses.fetch_add(1, Relaxed);
            buffer.longest_miss_run.fetch_max(run, Relaxed);
        } else if core.miss_run.load(Relaxed) != 0 {
            core.miss_run.store(0, Relaxed);
        }
    }
}

/// The values recorded in one phase. Every access is relaxed: the phaser orders writers and reader.
#[derive(Debug)]
#[repr(align(64))]
struct Buffer {
    min: AtomicI64,
    max: AtomicI64,
    saturated: AtomicU64,
    misses: AtomicU64,
    longest_miss_run: AtomicU64,
    counters: Counters,
}

impl Buffer {
    fn new() -> Self {
        Self {
            min: AtomicI64::new(i64::MAX),
            max: AtomicI64::new(i64::MIN),
            saturated: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            longest_miss_run: AtomicU64::new(0),
            counters: Counters::new(),
        }
    }

    #[inline]
    fn record(&self, value: i64) {
        self.counters.of(value).fetch_add(1, Relaxed);
        // Reading first saves the read-modify-write, which hardly any value needs.
        if value < self.min.load(Relaxed) {
            self.min.fetch_min(value, Relaxed);
        }
        if value > self.max.load(Relaxed) {
            self.max.fetch_max(value, Relaxed);
        }
        if value.unsigned_abs() > HIGHEST {
            self.saturated.fetch_add(1, Relaxed);
        }
    }

    /// Moves everything into `interval`, which must be empty, and leaves the buffer empty. Only
    /// for the reader, while the buffer rests.
    fn drain(&self, interval: &mut SignedHistogram) -> Counts {
        let min = self.min.swap(i64::MAX, Relaxed);
        let max = self.max.swap(i64::MIN, Relaxed);
        let [late, early] = used(min, max);
        late.for_each(|i| interval.late.add_at(i, drained(&self.counters.late[i])));
        early.for_each(|i| interval.early.add_at(i, drained(&self.counters.early[i])));
        let something = !interval.is_empty();
        Counts {
            recorded: interval.count(),
            dropped: 0,
            early: interval.early.count(),
            saturated: drained(&self.saturated),
            misses: drained(&self.misses),
            longest_miss_run: drained(&self.longest_miss_run),
            min_ns: something.then_some(min),
            max_ns: something.then_some(max),
        }
    }
}

/// Takes a count, without writing to counters that were never used.
fn drained(counter: &AtomicU64) -> u64 {
    let count = counter.load(Relaxed);
    if count != 0 {
        counter.store(0, Relaxed);
    }
    count
}

#[derive(Debug)]
pub(super) struct SharedReader {
    core: Arc<Core>,
    totals: Counts,
}

impl SharedReader {
    /// Adds the values recorded since the last call to `interval`, which must be empty.
    pub(super) fn take(&mut self, interval: &mut SignedHistogram) {
        let mut turn = self.core.phaser.read();
        turn.flip();
        let counts = self.core.buffers[turn.resting().index()].drain(interval);
        drop(turn);
        self.totals.add(&counts);
    }

    pub(super) fn totals(&self) -> Counts {
        self.totals
    }
}
