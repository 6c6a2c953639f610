//! One of the two buffers that writers and the reader exchange.

use crate::{
    histogram::{Layout, SignedHistogram},
    run::model::Counts,
    sync::{AtomicI64, AtomicU64, Ordering::Relaxed},
};

/// The layout of every recorder; loom can follow only a few counters.
pub(super) const LAYOUT: Layout = if cfg!(loom) {
    match Layout::new(1, 3, 0) {
        Ok(layout) => layout,
        Err(_) => panic!("loom's layout is valid"),
    }
} else {
    Layout::STANDARD
};

const HIGHEST: u64 = LAYOUT.highest();

/// Counters of one phase. Everything is relaxed: the phaser orders writers before the reader.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Buffer {
    min: AtomicI64,
    max: AtomicI64,
    saturated: AtomicU64,
    misses: AtomicU64,
    longest_miss_run: AtomicU64,
    late: Box<[AtomicU64]>,
    early: Box<[AtomicU64]>,
}

impl Buffer {
    /// An empty buffer whose pages are all mapped, so that recording never faults one in.
    pub(super) fn new() -> Self {
        Self {
            min: AtomicI64::new(i64::MAX),
            max: AtomicI64::new(i64::MIN),
            saturated: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            longest_miss_run: AtomicU64::new(0),
            late: counters(),
            early: counters(),
        }
    }

    #[inline]
    fn counter(&self, value: i64) -> &AtomicU64 {
        let counters = if value < 0 { &self.early } else { &self.late };
        &counters[LAYOUT.index_of(value.unsigned_abs())]
    }

    /// Records `value` where nobody else writes to this buffer: plain loads and stores.
    #[inline]
    pub(super) fn record_alone(&self, value: i64) {
        add_alone(self.counter(value), 1);
        if value < self.min.load(Relaxed) {
            self.min.store(value, Relaxed);
        }
        if value > self.max.load(Relaxed) {
            self.max.store(value, Relaxed);
        }
        if value.unsigned_abs() > HIGHEST {
            add_alone(&self.saturated, 1);
        }
    }

    /// Counts a miss that is the `run`th in a row, where nobody else writes to this buffer.
    #[inline]
    pub(super) fn miss_alone(&self, run: u64) {
        add_alone(&self.misses, 1);
        if run > self.longest_miss_run.load(Relaxed) {
            self.longest_miss_run.store(run, Relaxed);
        }
    }

    /// Records `value` beside other writers.
    #[inline]
    pub(super) fn record_shared(&self, value: i64) {
        self.counter(value).fetch_add(1, Relaxed);
        // Looking first spares the read-modify-write that hardly any value needs.
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

    /// Counts a miss that is the `run`th in a row, beside other writers.
    #[inline]
    pub(super) fn miss_shared(&self, run: u64) {
        self.misses.fetch_add(1, Relaxed);
        self.longest_miss_run.fetch_max(run, Relaxed);
    }

    /// Moves everything into `into`, which must be empty and of [`LAYOUT`], and leaves the buffer
    /// empty. Only for the reader, while the buffer rests.
    pub(super) fn drain(&self, into: &mut SignedHistogram) -> Counts {
        let min = self.min.swap(i64::MAX, Relaxed);
        let max = self.max.swap(i64::MIN, Relaxed);
        if min > max {
            return Counts::default();
        }
        let index = |value: i64| LAYOUT.index_of(value.unsigned_abs());
        if max >= 0 {
            let used = index(min.max(0))..=index(max);
            used.for_each(|i| into.late.add_at(i, take(&self.late[i])));
        }
        if min < 0 {
            let used = index(max.min(-1))..=index(min);
            used.for_each(|i| into.early.add_at(i, take(&self.early[i])));
        }
        Counts {
            recorded: into.count(),
            dropped: 0,
            early: into.early.count(),
            saturated: take(&self.saturated),
            misses: take(&self.misses),
            longest_miss_run: take(&self.longest_miss_run),
            min_ns: Some(min),
            max_ns: Some(max),
        }
    }
}

/// Zeroed counters on pages that were written to once.
fn counters() -> Box<[AtomicU64]> {
    let counters: Box<[AtomicU64]> = (0..LAYOUT.len()).map(|_| AtomicU64::new(0)).collect();
    // Zeroed memory may be a promise of the kernel only; a write to each page redeems it.
    for counter in std::hint::black_box(&counters).iter().step_by(64) {
        counter.store(1, Relaxed);
        std::hint::black_box(counter).store(0, Relaxed);
    }
    counters
}

#[inline]
fn add_alone(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Takes what is counted, without writing to counters that were never used.
fn take(counter: &AtomicU64) -> u64 {
    let count = counter.load(Relaxed);
    if count != 0 {
        counter.store(0, Relaxed);
    }
    count
}
