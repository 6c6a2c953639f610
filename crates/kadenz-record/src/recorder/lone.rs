//! One writing thread: counters that only ever go up, like an odometer's.
//!
//! The writer alone changes them, by plain loads and stores, and the reader remembers its last
//! reading of each; the difference is what was recorded in between. There is nothing to switch over
//! and nothing to reset, hence nobody to wait for, and a count can neither be lost nor be handed
//! out twice. Decision 0201 tells what this costs beside a phaser.

use crate::{
    histogram::SignedHistogram,
    run::model::Counts,
    sync::{
        Arc, AtomicI64, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
        fence,
    },
};

use super::counters::{Counters, HIGHEST, LAYOUT, used};

/// What the writer tells the reader. Nothing here is ever reset.
#[derive(Debug)]
#[repr(align(64))]
struct Told {
    /// How many values have been recorded, told last of all.
    recorded: AtomicU64,
    min: AtomicI64,
    max: AtomicI64,
    saturated: AtomicU64,
    misses: AtomicU64,
    longest_miss_run: AtomicU64,
    counters: Counters,
}

pub(super) fn pair(deadline: i64) -> (SingleWriter, LoneReader) {
    let told = Arc::new(Told {
        recorded: AtomicU64::new(0),
        min: AtomicI64::new(i64::MAX),
        max: AtomicI64::new(i64::MIN),
        saturated: AtomicU64::new(0),
        misses: AtomicU64::new(0),
        longest_miss_run: AtomicU64::new(0),
        counters: Counters::new(),
    });
    let writer = SingleWriter {
        told: Arc::clone(&told),
        deadline,
        recorded: 0,
        min: i64::MAX,
        max: i64::MIN,
        miss_run: 0,
    };
    let taken = || vec![0; LAYOUT.len()].into_boxed_slice();
    (
        writer,
        LoneReader {
            told,
            late: taken(),
            early: taken(),
            totals: Counts::default(),
        },
    )
}

/// The writing end of a recorder that has one writing thread.
#[derive(Debug)]
pub struct SingleWriter {
    told: Arc<Told>,
    deadline: i64,
    recorded: u64,
    min: i64,
    max: i64,
    /// Misses in a row up to now.
    miss_run: u64,
}

impl SingleWriter {
    /// Records a value in nanoseconds. Real-time safe: wait-free on every machine, no allocation,
    /// no system call, no atomic read-modify-write.
    #[inline]
    pub fn record(&mut self, value_ns: i64) {
        if value_ns < self.min {
            self.min = value_ns;
            self.told.min.store(value_ns, Relaxed);
        }
        if value_ns > self.max {
            self.max = value_ns;
            self.told.max.store(value_ns, Relaxed);
        }
        if value_ns.unsigned_abs() > HIGHEST {
            add(&self.told.saturated, Relaxed);
        }
        if value_ns > self.deadline {
            self.miss();
        } else {
            self.miss_run = 0;
        }
        // Release: whoever sees the count sees what was told about the value above.
        add(self.told.counters.of(value_ns), Release);
        self.recorded += 1;
        self.told.recorded.store(self.recorded, Release);
    }

    fn miss(&mut self) {
        self.miss_run += 1;
        add(&self.told.misses, Relaxed);
        if self.miss_run > self.told.longest_miss_run.load(Relaxed) {
            self.told.longest_miss_run.store(self.miss_run, Relaxed);
        }
    }
}

/// Counts one, where nobody else writes.
#[inline]
fn add(counter: &AtomicU64, order: crate::sync::Ordering) {
    counter.store(counter.load(Relaxed).wrapping_add(1), order);
}

/// The last reading of every counter.
#[derive(Debug)]
pub(super) struct LoneReader {
    told: Arc<Told>,
    late: Box<[u64]>,
    early: Box<[u64]>,
    totals: Counts,
}

impl LoneReader {
    /// Adds what was recorded since the last time to `interval`, which must be empty.
    pub(super) fn take(&mut self, interval: &mut SignedHistogram) {
        let told = &*self.told;
        // Changes nothing, but a read-modify-write sees the latest value, which a load need not;
        // and with it, everything told about the values recorded up to there.
        told.recorded.fetch_add(0, Acquire);
        // What is recorded meanwhile, and beyond these, is taken next time.
        let [late, early] = used(told.min.load(Relaxed), told.max.load(Relaxed));
        for index in late {
            let new = advance(&mut self.late[index], &told.counters.late[index]);
            interval.late.add_at(index, new);
        }
        for index in early {
            let new = advance(&mut self.early[index], &told.counters.early[index]);
            interval.early.add_at(index, new);
        }
        // Pairs with the release of every count that was seen: the totals lag behind none.
        fence(Acquire);
        self.totals.recorded += interval.count();
        self.totals.early += interval.early.count();
        self.totals.saturated = told.saturated.load(Relaxed);
        self.totals.misses = told.misses.load(Relaxed);
        self.totals.longest_miss_run = told.longest_miss_run.load(Relaxed);
        if self.totals.recorded > 0 {
            self.totals.min_ns = Some(told.min.load(Relaxed));
            self.totals.max_ns = Some(told.max.load(Relaxed));
        }
    }

    pub(super) fn totals(&self) -> Counts {
        self.totals
    }
}

/// Brings a reading up to date, and returns by how much.
#[inline]
fn advance(reading: &mut u64, counter: &AtomicU64) -> u64 {
    let now = counter.load(Relaxed);
    now.wrapping_sub(std::mem::replace(reading, now))
}
