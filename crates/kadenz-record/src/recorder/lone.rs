//! One writing thread: counters that only increase, like an odometer's.
//!
//! Only the writer changes them, by plain loads and stores, and the reader remembers its last reading of each; the
//! difference is the count of values recorded in between. There is no buffer to switch and no counter to reset,
//! hence no wait, and no count can be lost or returned twice. Decision 0201 compares the cost with that of a
//! phaser.

use crate::{
    histogram::SignedHistogram,
    recorder::Counts,
    sync::{
        Arc, AtomicI64, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
        fence,
    },
};

use super::{Counters, HIGHEST, LAYOUT, used};

/// The counts that the writer publishes for the reader. Nothing here is ever reset.
#[derive(Debug)]
#[repr(align(64))]
struct PublishedCounts {
    /// How many values have been recorded; the writer publishes it last of all.
    recorded: AtomicU64,
    min: AtomicI64,
    max: AtomicI64,
    saturated: AtomicU64,
    misses: AtomicU64,
    longest_miss_run: AtomicU64,
    counters: Counters,
}

pub(super) fn pair(deadline: i64) -> (SingleWriter, LoneReader) {
    let published = Arc::new(PublishedCounts {
        recorded: AtomicU64::new(0),
        min: AtomicI64::new(i64::MAX),
        max: AtomicI64::new(i64::MIN),
        saturated: AtomicU64::new(0),
        misses: AtomicU64::new(0),
        longest_miss_run: AtomicU64::new(0),
        counters: Counters::new(),
    });
    let writer = SingleWriter {
        published: Arc::clone(&published),
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
            published,
            late: taken(),
            early: taken(),
            totals: Counts::default(),
        },
    )
}

/// The writing end of a recorder that has one writing thread.
#[derive(Debug)]
pub struct SingleWriter {
    published: Arc<PublishedCounts>,
    deadline: i64,
    recorded: u64,
    min: i64,
    max: i64,
    /// The present number of misses in a row.
    miss_run: u64,
}

impl SingleWriter {
    /// Records a value in nanoseconds.
    ///
    /// # Real-time safety
    /// Real-time safe: wait-free on every machine, no allocation, no system call, no atomic
    /// read-modify-write.
    #[inline]
    pub fn record(&mut self, value_ns: i64) {
        if value_ns < self.min {
            self.min = value_ns;
            self.published.min.store(value_ns, Relaxed);
        }
        if value_ns > self.max {
            self.max = value_ns;
            self.published.max.store(value_ns, Relaxed);
        }
        if value_ns.unsigned_abs() > HIGHEST {
            add(&self.published.saturated, 1, Relaxed);
        }
        if value_ns > self.deadline {
            self.miss(1);
        } else {
            self.miss_run = 0;
        }
        // Release: a reader that sees the count sees the writes above for this value.
        add(self.published.counters.of(value_ns), 1, Release);
        self.recorded += 1;
        self.published.recorded.store(self.recorded, Release);
    }

    /// Records `values`, one after the other, in as many steps as they use counters, however many values there are.
    ///
    /// # Real-time safety
    /// Real-time safe as [`Self::record`], but not short: some thousand steps.
    pub(crate) fn record_falling(&mut self, values: &Falling) {
        let mut from = 0;
        while from < values.count {
            let value_ns = values.at(from);
            self.record(value_ns);
            let until = values.until_below(self.alike(value_ns)).max(from + 1);
            let more = until - from - 1;
            if value_ns > self.deadline {
                self.miss(more);
            }
            if value_ns.unsigned_abs() > HIGHEST {
                add(&self.published.saturated, more, Relaxed);
            }
            add(self.published.counters.of(value_ns), more, Release);
            self.recorded += more;
            from = until;
        }
        if let Some(last) = values.count.checked_sub(1) {
            let smallest = values.at(last);
            if smallest < self.min {
                self.min = smallest;
                self.published.min.store(smallest, Relaxed);
            }
        }
        self.published.recorded.store(self.recorded, Release);
    }

    /// The least value that has the same counter as this one, and is a miss exactly if this one is.
    fn alike(&self, value_ns: i64) -> i64 {
        let lowest = match u64::try_from(value_ns) {
            Ok(late) if late > HIGHEST => HIGHEST + 1,
            Ok(late) => LAYOUT.lowest_equivalent(late),
            Err(_) => return value_ns,
        };
        let lowest = i64::try_from(lowest).unwrap_or(i64::MAX);
        if value_ns > self.deadline {
            lowest.max(self.deadline.saturating_add(1))
        } else {
            lowest
        }
    }

    fn miss(&mut self, count: u64) {
        self.miss_run += count;
        add(&self.published.misses, count, Relaxed);
        if self.miss_run > self.published.longest_miss_run.load(Relaxed) {
            self.published
                .longest_miss_run
                .store(self.miss_run, Relaxed);
        }
    }
}

/// Adds to a counter that no other thread writes.
#[inline]
fn add(counter: &AtomicU64, count: u64, order: crate::sync::Ordering) {
    counter.store(counter.load(Relaxed).wrapping_add(count), order);
}

/// Values that decrease evenly from the first to the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Falling {
    pub(crate) first_ns: i64,
    /// The last value, at most the first.
    pub(crate) last_ns: i64,
    pub(crate) count: u64,
}

impl Falling {
    /// The value at a place, counted from 0; the last for places beyond.
    pub(crate) fn at(&self, place: u64) -> i64 {
        let gaps = i128::from(self.count.max(2) - 1);
        let fallen = self.fall() * i128::from(place) / gaps;
        let value = i128::from(self.first_ns) - fallen.min(self.fall());
        i64::try_from(value).unwrap_or(self.last_ns)
    }

    /// How many values come before the first one below `limit_ns`.
    fn until_below(&self, limit_ns: i64) -> u64 {
        let room = i128::from(self.first_ns) - i128::from(limit_ns);
        if room < 0 {
            return 0;
        }
        if room >= self.fall() {
            return self.count;
        }
        // The largest place with fall * place / gaps <= room, and the places before it.
        let gaps = i128::from(self.count.max(2) - 1);
        let places = ((room + 1) * gaps - 1) / self.fall() + 1;
        u64::try_from(places).unwrap_or(self.count).min(self.count)
    }

    fn fall(&self) -> i128 {
        i128::from(self.first_ns) - i128::from(self.last_ns)
    }
}

/// The last reading of every counter.
#[derive(Debug)]
pub(super) struct LoneReader {
    published: Arc<PublishedCounts>,
    late: Box<[u64]>,
    early: Box<[u64]>,
    totals: Counts,
}

impl LoneReader {
    /// Adds the values recorded since the last call to `interval`, which must be empty.
    pub(super) fn take(&mut self, interval: &mut SignedHistogram) {
        let published = &*self.published;
        // Changes nothing, but a read-modify-write reads the latest value, which a load need not; and with it,
        // everything published about the values recorded up to there.
        published.recorded.fetch_add(0, Acquire);
        // Values recorded meanwhile, and values beyond these, are taken next time.
        let [late, early] = used(published.min.load(Relaxed), published.max.load(Relaxed));
        for index in late {
            let new = advance(&mut self.late[index], &published.counters.late[index]);
            interval.late.add_at(index, new);
        }
        for index in early {
            let new = advance(&mut self.early[index], &published.counters.early[index]);
            interval.early.add_at(index, new);
        }
        // Pairs with the release of every count that was read: the totals lag behind none of them.
        fence(Acquire);
        self.totals.recorded += interval.count();
        self.totals.early += interval.early.count();
        self.totals.saturated = published.saturated.load(Relaxed);
        self.totals.misses = published.misses.load(Relaxed);
        self.totals.longest_miss_run = published.longest_miss_run.load(Relaxed);
        if self.totals.recorded > 0 {
            self.totals.min_ns = Some(published.min.load(Relaxed));
            self.totals.max_ns = Some(published.max.load(Relaxed));
        }
    }

    pub(super) fn totals(&self) -> Counts {
        self.totals
    }
}

/// Updates a reading, and returns the difference.
#[inline]
fn advance(reading: &mut u64, counter: &AtomicU64) -> u64 {
    let now = counter.load(Relaxed);
    now.wrapping_sub(std::mem::replace(reading, now))
}
