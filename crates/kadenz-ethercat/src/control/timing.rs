//! How well the loop keeps its beat: statistics that the loop notes and anybody reads while it runs.
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
mod snapshot;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

use super::cyclic::{CycleReport, LoopSettings, Observer};
use crate::main_device::cycle::Outcome;
use crate::main_device::link::LinkCounts;

pub use histogram::Histogram;
pub use snapshot::{Frames, Snapshot, Spread};

/// Statistics of a loop, since it began.
#[derive(Debug)]
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
    /// Nothing noted yet. Allocates 64 KiB.
    #[must_use]
    pub fn new(settings: &LoopSettings) -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            interval_ns: settings.interval.as_ns_f64().round() as u64,
            cycles: zero(),
            overruns: zero(),
            skipped: zero(),
            early: zero(),
            exchanged: zero(),
            whole: zero(),
            frames_sent: zero(),
            frames_answered: zero(),
            mismatches: zero(),
            late: zero(),
            foreign: zero(),
            damaged: zero(),
            refused: zero(),
            period: Histogram::default(),
            wake_up: Histogram::default(),
            exchange: Histogram::default(),
            controller: Histogram::default(),
        }
    }

    /// Notes a cycle.
    ///
    /// # Real-time safety
    /// Real-time safe.
    pub fn note(&self, report: &CycleReport<'_>) {
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

    /// The link's own numbers are of the link's whole life: the last are told.
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

    /// What was noted until now. On any thread; takes some microseconds.
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
