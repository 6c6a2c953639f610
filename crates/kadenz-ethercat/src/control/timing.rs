//! Statistics of the loop's timing: the loop notes them, and any thread reads them while it runs.
//!
//! Assumption: one loop notes into a [`Timing`]. Guarantee: noting is a bounded number of atomic
//! operations, whatever readers do; it neither allocates, locks nor waits. A reader sees every number as it
//! was at some time during its reading; numbers of one snapshot may be a cycle apart.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_ethercat::control::cyclic::LoopSettings;
//! use kadenz_ethercat::control::timing::Timing;
//!
//! let timing = Timing::new(&LoopSettings::every(Duration::from_millis(1))?);
//! // `&timing` is an Observer of the loop; meanwhile, on any thread:
//! let snapshot = timing.snapshot();
//! assert_eq!(snapshot.cycles, 0);
//! assert!(snapshot.to_string().starts_with("interval: 1000000 ns\n"));
//! # Ok::<(), kadenz_rt::beat::IntervalError>(())
//! ```

mod histogram;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::cyclic::{CycleReport, LoopSettings, Observer};
use crate::main_device::cycle::Outcome;
use crate::main_device::link::LinkCounts;

pub(crate) use histogram::Histogram;

/// Statistics of a loop, since it began. [`new`](Self::new) makes them; `default()` has an interval of 0.
///
/// # Real-time safety
/// As an observer it is real-time safe: atomic additions. [`Timing::new`] allocates.
#[derive(Debug, Default)]
pub struct Timing {
    interval_ns: u64,
    cycles: AtomicU64,
    overruns: AtomicU64,
    skipped: AtomicU64,
    early: AtomicU64,
    exchanged: AtomicU64,
    whole: AtomicU64,
    frames_sent: AtomicU64,
    frames_answered: AtomicU64,
    mismatches: AtomicU64,
    late: AtomicU64,
    foreign: AtomicU64,
    damaged: AtomicU64,
    refused: AtomicU64,
    period: Histogram,
    wake_up: Histogram,
    exchange: Histogram,
    controller: Histogram,
}

/// Adds; each number has one writer.
fn add(to: &AtomicU64, more: u64) {
    if more > 0 {
        to.fetch_add(more, Ordering::Relaxed);
    }
}

impl Timing {
    /// Statistics with nothing noted yet. Allocates 64 KiB.
    #[must_use]
    pub fn new(settings: &LoopSettings) -> Self {
        Self {
            interval_ns: settings.interval.as_ns_f64().round() as u64,
            ..Self::default()
        }
    }

    /// Notes a cycle.
    ///
    /// # Real-time safety
    /// Real-time safe.
    pub(crate) fn note(&self, report: &CycleReport<'_>) {
        add(&self.cycles, 1);
        add(&self.overruns, u64::from(report.overrun));
        add(&self.skipped, report.skipped);
        if let Some(outcome) = report.outcome {
            self.note_outcome(&outcome);
        }
        self.note_counts(report.counts);
        let wake_up = report.wake_up_ns();
        add(&self.early, u64::from(wake_up < 0));
        let record = |to: &Histogram, ns: i64| to.record(ns.max(0).cast_unsigned());
        record(&self.wake_up, wake_up);
        if let Some(period) = report.period_ns() {
            record(&self.period, period);
        }
        record(&self.exchange, report.exchange_ns());
        record(&self.controller, report.controller_ns());
    }

    fn note_outcome(&self, outcome: &Outcome) {
        add(&self.exchanged, 1);
        add(&self.whole, u64::from(outcome.is_whole()));
        add(&self.frames_sent, outcome.sent.into());
        add(&self.frames_answered, outcome.answered.into());
        let wrong = outcome.answered.saturating_sub(outcome.whole);
        add(&self.mismatches, wrong.into());
    }

    /// The link's own counts cover the link's whole life: the last are stored.
    fn note_counts(&self, counts: LinkCounts) {
        for (to, count) in [
            (&self.late, counts.late),
            (&self.foreign, counts.foreign),
            (&self.damaged, counts.damaged),
            (&self.refused, counts.refused),
        ] {
            to.store(count, Ordering::Relaxed);
        }
    }

    /// Returns the statistics until now. On any thread; takes some microseconds.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let read = |from: &AtomicU64| from.load(Ordering::Relaxed);
        let (sent, answered) = (read(&self.frames_sent), read(&self.frames_answered));
        Snapshot {
            interval_ns: self.interval_ns,
            cycles: read(&self.cycles),
            overruns: read(&self.overruns),
            skipped_beats: read(&self.skipped),
            early_wake_ups: read(&self.early),
            exchanges: read(&self.exchanged),
            whole_exchanges: read(&self.whole),
            frames: Frames {
                sent,
                lost: sent.saturating_sub(answered),
                working_counter_mismatches: read(&self.mismatches),
                late: read(&self.late),
                foreign: read(&self.foreign),
                damaged: read(&self.damaged),
                refused: read(&self.refused),
            },
            period: Spread::of(&self.period),
            wake_up: Spread::of(&self.wake_up),
            exchange: Spread::of(&self.exchange),
            controller: Spread::of(&self.controller),
        }
    }
}

/// A loop takes `&mut &timing`, as an observer or a part of a tuple of them.
impl Observer for &Timing {
    fn cycle(&mut self, report: &CycleReport<'_>) {
        self.note(report);
    }
}

/// Statistics of a loop at a time. By `serde` it is JSON with the names below; by [`Display`](fmt::Display)
/// one number a line, as `name: value unit`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Snapshot {
    /// Time between two beats in ns, rounded.
    pub interval_ns: u64,
    /// Cycles of the loop.
    pub cycles: u64,
    /// Cycles that began late since the previous one was not done.
    pub overruns: u64,
    /// Beats that were left out.
    pub skipped_beats: u64,
    /// Wake-ups before their time.
    pub early_wake_ups: u64,
    /// Cycles whose frames were taken in or given up.
    pub exchanges: u64,
    /// Those of them of which all frames came back with every SubDevice's part.
    pub whole_exchanges: u64,
    /// Counts of the frames.
    pub frames: Frames,
    /// Control period.
    pub period: Spread,
    /// Wake-up latency.
    pub wake_up: Spread,
    /// Time on the bus; see [`CycleReport::exchange_ns`](crate::control::cyclic::CycleReport::exchange_ns).
    pub exchange: Spread,
    /// Time in the controller.
    pub controller: Spread,
}

/// Counts of the frames of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frames {
    /// Cyclic frames handed to the wire.
    pub sent: u64,
    /// Cyclic frames that did not come back in time.
    pub lost: u64,
    /// Cyclic frames that came back with a wrong working counter.
    pub working_counter_mismatches: u64,
    /// Frames of any kind that came after their time, or twice; since the link was made, as all below.
    pub late: u64,
    /// Frames of other programs.
    pub foreign: u64,
    /// Frames that came back cut short or changed.
    pub damaged: u64,
    /// Frames that the wire did not take.
    pub refused: u64,
}

/// The distribution of values, in ns. A percentile that no value lies beyond is absent (`null`).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// Number of recorded values.
    pub count: u64,
    /// The smallest value, in ns.
    pub min_ns: Option<u64>,
    /// The mean of all values, in ns.
    pub mean_ns: Option<f64>,
    /// The median, in ns.
    pub p50_ns: Option<u64>,
    /// The 99th percentile, in ns.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile.
    #[serde(rename = "p99.9_ns")]
    pub p999_ns: Option<u64>,
    /// The largest value, in ns.
    pub max_ns: Option<u64>,
}

impl Spread {
    /// The spread of a histogram.
    #[must_use]
    pub(crate) fn of(histogram: &Histogram) -> Self {
        let count = histogram.count();
        Self {
            count,
            min_ns: histogram.least(),
            mean_ns: (count > 0).then(|| histogram.sum() as f64 / count as f64),
            p50_ns: histogram.percentile(500),
            p99_ns: histogram.percentile(990),
            p999_ns: histogram.percentile(999),
            max_ns: histogram.greatest(),
        }
    }

    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{name}.count: {} cycles", self.count)?;
        let values = [
            ("min", self.min_ns),
            ("p50", self.p50_ns),
            ("p99", self.p99_ns),
            ("p99.9", self.p999_ns),
            ("max", self.max_ns),
        ];
        for (what, value) in values {
            if let Some(value) = value {
                writeln!(f, "{name}.{what}: {value} ns")?;
            }
        }
        match self.mean_ns {
            Some(mean) => writeln!(f, "{name}.mean: {mean:.1} ns"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "interval: {} ns", self.interval_ns)?;
        let frames = &self.frames;
        for (name, value, unit) in [
            ("cycles", self.cycles, "cycles"),
            ("overruns", self.overruns, "cycles"),
            ("skipped_beats", self.skipped_beats, "beats"),
            ("early_wake_ups", self.early_wake_ups, "cycles"),
            ("exchanges", self.exchanges, "cycles"),
            ("whole_exchanges", self.whole_exchanges, "cycles"),
            ("frames.sent", frames.sent, "frames"),
            ("frames.lost", frames.lost, "frames"),
            (
                "frames.working_counter_mismatches",
                frames.working_counter_mismatches,
                "frames",
            ),
            ("frames.late", frames.late, "frames"),
            ("frames.foreign", frames.foreign, "frames"),
            ("frames.damaged", frames.damaged, "frames"),
            ("frames.refused", frames.refused, "frames"),
        ] {
            writeln!(f, "{name}: {value} {unit}")?;
        }
        self.period.write("period", f)?;
        self.wake_up.write("wake_up", f)?;
        self.exchange.write("exchange", f)?;
        self.controller.write("controller", f)
    }
}

#[cfg(test)]
mod tests;
