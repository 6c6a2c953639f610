//! What was counted, and how fast.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kadenz_rt::clock::MonotonicTime;
use serde::Serialize;

use super::LoadKind;

/// How fast something went, each second taken by itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate {
    /// What was counted: `written`, `echoed`, ...
    pub name: String,
    /// The unit, per second: `MB/s`, `messages/s`, ...
    pub unit: String,
    /// Over all whole seconds.
    pub mean: f64,
    /// The slowest second; `None` where only the whole is known.
    pub min: Option<f64>,
    /// The fastest second; `None` where only the whole is known.
    pub max: Option<f64>,
    /// The second just past.
    #[serde(skip)]
    pub last: f64,
    /// How many whole seconds were watched.
    pub seconds: u64,
}

/// The requested and the measured load of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadRates {
    /// The kind of load.
    pub kind: LoadKind,
    /// The requested load, in words, with the defaults filled in.
    pub asked: String,
    /// What the load did, counted per second.
    pub rates: Vec<Rate>,
    /// What kept it from its work, if anything did; it went on trying.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// Something that only grows.
type Count = Box<dyn Fn() -> u64 + Send>;

/// A count with its name and unit.
pub(super) struct Counter {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    /// Counts that make one unit.
    counts_per_unit: f64,
    count: Count,
}

impl Counter {
    pub(super) fn new(name: &'static str, unit: &'static str, tally: &Tally) -> Self {
        Self::scaled(name, unit, 1.0, tally)
    }

    /// Counts bytes, reports megabytes.
    pub(super) fn bytes(name: &'static str, tally: &Tally) -> Self {
        Self::scaled(name, "MB/s", 1e6, tally)
    }

    pub(super) fn scaled(
        name: &'static str,
        unit: &'static str,
        counts_per_unit: f64,
        tally: &Tally,
    ) -> Self {
        let tally = tally.clone();
        Self::from_fn(name, unit, counts_per_unit, move || tally.sum())
    }

    pub(super) fn from_fn(
        name: &'static str,
        unit: &'static str,
        counts_per_unit: f64,
        count: impl Fn() -> u64 + Send + 'static,
    ) -> Self {
        Self {
            name,
            unit,
            counts_per_unit,
            count: Box::new(count),
        }
    }

    pub(super) fn read(&self) -> u64 {
        (self.count)()
    }

    pub(super) fn rate(&self, meter: &Meter) -> Rate {
        Rate {
            name: self.name.to_owned(),
            unit: self.unit.to_owned(),
            mean: meter.mean() / self.counts_per_unit,
            min: Some(meter.min.unwrap_or(meter.mean()) / self.counts_per_unit),
            max: Some(meter.max.unwrap_or(meter.mean()) / self.counts_per_unit),
            last: meter.last / self.counts_per_unit,
            seconds: meter.seconds,
        }
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counter({} {})", self.name, self.unit)
    }
}

/// A count in parts, one per thread, so that threads do not contend for it.
#[derive(Clone, Debug)]
pub(super) struct Tally(Arc<[Cell]>);

/// A cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Cell(AtomicU64);

impl Tally {
    pub(super) fn new(threads: usize) -> Self {
        Self((0..threads).map(|_| Cell::default()).collect())
    }

    /// Adds to the part of one thread; parts may be shared.
    pub(super) fn add(&self, thread: usize, n: u64) {
        self.0[thread % self.0.len()]
            .0
            .fetch_add(n, Ordering::Relaxed);
    }

    pub(super) fn sum(&self) -> u64 {
        let parts = self.0.iter().map(|part| part.0.load(Ordering::Relaxed));
        parts.fold(0, u64::wrapping_add)
    }
}

/// Makes rates of readings of a count. Sans-IO: it is handed each reading with its time.
///
/// Readings should come once a second. One that comes later, as on a loaded machine, counts as
/// the seconds it stands for: it is divided by the time that really passed.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    begin: Reading,
    /// The end of the last whole second.
    whole: Reading,
    latest: Reading,
    min: Option<f64>,
    max: Option<f64>,
    last: f64,
    seconds: u64,
}

#[derive(Clone, Copy, Debug)]
struct Reading {
    at: MonotonicTime,
    count: u64,
}

/// A shorter span does not count as a second: the rest at the end.
const MIN_NS: i64 = 900_000_000;

impl Meter {
    pub(super) fn new(at: MonotonicTime, count: u64) -> Self {
        let begin = Reading { at, count };
        Self {
            begin,
            whole: begin,
            latest: begin,
            min: None,
            max: None,
            last: 0.0,
            seconds: 0,
        }
    }

    pub(super) fn read(&mut self, at: MonotonicTime, count: u64) {
        let now = Reading { at, count };
        let rate = rate_between(self.whole, now);
        let lasted_ns = at.since(self.whole.at);
        self.latest = now;
        if lasted_ns < MIN_NS {
            return;
        }
        self.whole = now;
        self.last = rate;
        self.min = Some(self.min.map_or(rate, |min| min.min(rate)));
        self.max = Some(self.max.map_or(rate, |max| max.max(rate)));
        self.seconds += (lasted_ns as f64 / 1e9).round() as u64;
    }

    /// Counts per second over all whole seconds, so that it lies between the slowest and the fastest; without a whole
    /// second, over the time that passed.
    fn mean(&self) -> f64 {
        let end = if self.seconds > 0 {
            self.whole
        } else {
            self.latest
        };
        rate_between(self.begin, end)
    }
}

/// Counts per second.
fn rate_between(earlier: Reading, later: Reading) -> f64 {
    let ns = later.at.since(earlier.at);
    if ns <= 0 {
        return 0.0;
    }
    later.count.saturating_sub(earlier.count) as f64 * 1e9 / ns as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ms * 1_000_000)
    }

    fn rate(meter: &Meter) -> Rate {
        Counter::from_fn("written", "MB/s", 1e6, || 0).rate(meter)
    }

    #[test]
    fn each_second_is_taken_by_itself() {
        let mut meter = Meter::new(at_ms(5000), 7_000_000);
        meter.read(at_ms(6000), 17_000_000);
        meter.read(at_ms(7000), 47_000_000);
        let rate = rate(&meter);
        assert_eq!(rate.mean, 20.0);
        assert_eq!((rate.min, rate.max), (Some(10.0), Some(30.0)));
        assert_eq!((rate.last, rate.seconds), (30.0, 2));
    }

    #[test]
    fn a_late_reading_is_divided_by_the_time_that_passed() {
        let mut meter = Meter::new(at_ms(0), 0);
        meter.read(at_ms(4000), 40_000_000);
        let rate = rate(&meter);
        assert_eq!((rate.min, rate.max), (Some(10.0), Some(10.0)));
        assert_eq!(rate.seconds, 4);
    }

    #[test]
    fn the_rest_of_a_second_at_the_end_does_not_count() {
        let mut meter = Meter::new(at_ms(0), 0);
        meter.read(at_ms(1000), 10_000_000);
        meter.read(at_ms(1100), 10_000_000);
        let rate = rate(&meter);
        assert_eq!(
            (rate.mean, rate.min, rate.max),
            (10.0, Some(10.0), Some(10.0))
        );
        assert_eq!(rate.seconds, 1);
    }

    #[test]
    fn less_than_a_second_has_a_mean() {
        let mut meter = Meter::new(at_ms(0), 0);
        meter.read(at_ms(500), 10_000_000);
        let rate = rate(&meter);
        assert_eq!(
            (rate.mean, rate.min, rate.max),
            (20.0, Some(20.0), Some(20.0))
        );
        assert_eq!(rate.seconds, 0);
        let never = Meter::new(at_ms(0), 0);
        assert_eq!(super::tests::rate(&never).mean, 0.0);
    }
}
