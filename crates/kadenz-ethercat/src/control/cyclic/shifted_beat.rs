//! Computes when the next cycle is due, and handles missed beats. Sans-IO.

use std::time::Duration;

use kadenz_rt::beat::Beat;
use kadenz_rt::clock::MonotonicTime;

use super::settings::{Ended, EndedBy, LoopSettings, Overrun};

/// A cycle that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DueCycle {
    /// The number of the beat.
    pub(super) beat: u64,
    /// The time of the beat.
    pub(super) intended: MonotonicTime,
    /// Whether the previous cycle was not done by then.
    pub(super) overrun: bool,
    /// Beats left out before it.
    pub(super) skipped: u64,
}

/// The beat, shifted as a phase wants it, and the overrun policy.
#[derive(Debug)]
pub(super) struct ShiftedBeat {
    beat: Beat,
    policy: Overrun,
    /// The beginning of the previous cycle, where the next one counts from it.
    last: Option<MonotonicTime>,
    /// Sum of all corrections.
    shift_ns: i64,
    /// Whether the loop ends at once where an overrun is to end it.
    ends_at_once: bool,
    /// Whether an overrun is to end the loop.
    is_stopped: bool,
    cycles: u64,
    overruns: u64,
    skipped: u64,
}

impl ShiftedBeat {
    pub(super) fn new(settings: &LoopSettings, start: MonotonicTime) -> Self {
        Self {
            beat: Beat::at(start, settings.interval),
            policy: settings.overrun,
            last: None,
            shift_ns: 0,
            ends_at_once: settings.shutdown_cycles == 0,
            is_stopped: false,
            cycles: 0,
            overruns: 0,
            skipped: 0,
        }
    }

    /// The number of cycles given out.
    pub(super) fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Whether that many cycles are over.
    pub(super) fn is_over(&self, cycles: u64) -> bool {
        match self.last {
            Some(last) => self.ideal(last + self.interval()) > cycles,
            None => self.cycles >= cycles,
        }
    }

    /// The beat that an ideal signal would have reached by `time`.
    fn ideal(&self, time: MonotonicTime) -> u64 {
        let since_start = time.since(self.beat.intended(0)).max(0).unsigned_abs();
        let interval = u64::try_from(self.interval().as_nanos()).unwrap_or(u64::MAX);
        since_start / interval.max(1)
    }

    /// Notes that a cycle began.
    pub(super) fn began(&mut self, at: MonotonicTime) {
        if self.policy == Overrun::Relative {
            self.last = Some(at);
        }
    }

    fn interval(&self) -> Duration {
        self.beat.interval().as_duration()
    }

    /// Whether an overrun is to end the loop, after its shutdown cycles.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Returns the next cycle; `None` when it was missed and that ends the loop at once. The first is never
    /// missed.
    pub(super) fn next(&mut self, now: MonotonicTime) -> Option<DueCycle> {
        let is_first = self.cycles == 0;
        let policy = match self.policy {
            Overrun::Stop if is_first => Overrun::CatchUp,
            // The shutdown cycles keep to the beat.
            Overrun::Stop => Overrun::Skip,
            policy => policy,
        };
        // A cycle that counts from the previous one keeps its place, whatever moved the beat.
        let shift_ns = self.last.map_or(self.shift_ns, |_| 0);
        let now = now.offset_by_ns(shift_ns.saturating_neg());
        let step = self.beat.step(policy, self.last, now)?;
        let overrun = !is_first && step.is_late;
        self.overruns += u64::from(overrun);
        self.is_stopped |= overrun && self.policy == Overrun::Stop;
        if self.is_stopped && self.ends_at_once {
            return None;
        }
        self.skipped += step.skipped;
        self.cycles += 1;
        Some(DueCycle {
            intended: step.intended.offset_by_ns(shift_ns),
            beat: match self.last {
                Some(_) => self.ideal(step.intended),
                None => self.beat.index(),
            },
            overrun,
            skipped: step.skipped,
        })
    }

    /// Shifts all later beats.
    pub(super) fn shift(&mut self, later_ns: i64) {
        self.shift_ns = self.shift_ns.saturating_add(later_ns);
    }

    /// The end of the loop. An overrun that was to end it is the cause, whatever ended its shutdown cycles.
    pub(super) fn ended(&self, by: EndedBy) -> Ended {
        Ended {
            by: match self.is_stopped {
                true => EndedBy::Overrun,
                false => by,
            },
            cycles: self.cycles,
            overruns: self.overruns,
            skipped: self.skipped,
        }
    }
}
