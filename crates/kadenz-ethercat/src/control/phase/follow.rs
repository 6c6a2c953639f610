//! The regulator in a loop.

use kadenz_rt::clock::MonotonicTime;

use super::{Observation, PhaseSettings, Regulator, Step};
use crate::control::cyclic::{CycleReport, LoopMode, Phase};

/// Keeps a loop's beats with the reference clock of a [`Cycle`](crate::main_device::cycle::Cycle) that has
/// one. What it does is told each cycle, on the real-time thread: for series of offset and drift.
///
/// ```
/// use kadenz_ethercat::control::phase::{Follow, PhaseSettings, Step};
///
/// let mut offsets = Vec::with_capacity(1_000);
/// let phase = Follow::new(PhaseSettings::every(1_000_000), |step: &Step| offsets.push(step.offset_ns));
/// // Loop::run_locked(..., &mut phase, ...)
/// # let _ = phase;
/// ```
#[derive(Debug)]
pub struct Follow<T> {
    regulator: Regulator,
    /// When the beat whose frames are still out was intended and sent.
    out: Option<(MonotonicTime, MonotonicTime)>,
    tell: T,
}

impl<T: FnMut(&Step)> Follow<T> {
    /// A phase that has seen nothing yet.
    pub const fn new(settings: PhaseSettings, tell: T) -> Self {
        Self {
            regulator: Regulator::new(settings),
            out: None,
            tell,
        }
    }

    /// The last step.
    #[must_use]
    pub const fn last(&self) -> Step {
        self.regulator.last()
    }
}

impl<T: FnMut(&Step)> Phase for Follow<T> {
    fn correct(&mut self, report: &CycleReport<'_>) -> i64 {
        let now = (report.intended, report.sent);
        // The frames that were taken in: this cycle's, or those of the cycle before.
        let of = match report.mode {
            LoopMode::Synchronous { .. } => Some(now),
            LoopMode::Pipelined => self.out.replace(now),
        };
        let time = report.outcome.and_then(|it| it.system_time_ns);
        let step = match (of, time) {
            (Some((intended, sent)), Some(system_time_ns)) => self.regulator.observe(Observation {
                intended,
                sent,
                system_time_ns,
            }),
            _ => self.regulator.missed(),
        };
        (self.tell)(&step);
        step.correction_ns
    }
}
