//! The lock of the loop to the segment's time: it keeps the beats at their place in the reference clock's
//! cycle.
//!
//! The oscillator of this computer and that of the reference clock differ by some parts per million; a loop by
//! its own clock would drift through all of the segment's cycle in a minute, and now and then its frames would
//! arrive when devices pulse. [`Regulator`] takes the system time of each beat, and returns by how much the
//! next is to come earlier or later; [`ClockFollower`] makes it the [`Phase`] of a loop.
//!
//! The regulator is proportional and integral: with `e` the offset of a beat in ns and `I` the drift in ns
//! a cycle,
//!
//! ```text
//! I += integral * e        correction = -(proportional * e + I)
//! ```
//!
//! The corrections add up, so the offset follows `e'' + proportional * e' + integral * e = 0` in cycles:
//! without overshoot except for the start where `integral = proportional² / 4`.
//!
//! ```
//! use kadenz_ethercat::control::phase::{Observation, Regulator, PhaseSettings};
//! use kadenz_rt::clock::MonotonicTime;
//!
//! let mut regulator = Regulator::new(PhaseSettings::every(1_000_000));
//! // The reference's clock is fast by 50 ppm, and ahead by 0.2 ms.
//! let mut beat = 0_i64;
//! for _ in 0..1_000 {
//!     let system = 1.000_05 * beat as f64 + 200_000.0;
//!     let at = MonotonicTime::from_ns(beat as u64);
//!     let step = regulator.observe(Observation { intended: at, sent: at, system_time_ns: system as u64 });
//!     beat += 1_000_000 + step.correction_ns;
//! }
//! let step = regulator.last();
//! assert!(step.locked && step.offset_ns.abs() < 10);
//! assert!((step.drift_ppb - 50_000).abs() < 100);
//! ```

use kadenz_rt::clock::MonotonicTime;

use crate::control::cyclic::{CycleReport, LoopMode, Phase};

pub use crate::main_device::clocks::Width;

/// The settings of the regulator. Times in ns.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhaseSettings {
    /// Time between two beats.
    pub interval_ns: u64,
    /// The place of the beats in a cycle of system time: 0 for whole cycles, where SYNC0 without a shift is.
    /// Frames take their time: outputs should be there before devices pulse.
    pub target_ns: u64,
    /// The part of the offset that the next beat corrects.
    pub proportional: f64,
    /// The part of the offset that is added to the drift.
    pub integral: f64,
    /// The largest correction of a beat.
    pub most_ns: f64,
    /// The largest drift between the two clocks, in parts per million.
    pub most_drift_ppm: f64,
    /// The loop is locked when the mean offset of the last beats was within this for 50 of them. The mean,
    /// since a wire and a computer that are now slow and now quick say nothing of the beat.
    pub lock_ns: i64,
    /// Once locked, a beat that is further off than this is taken for a wrong time, unless 5 in a row are.
    pub outlier_ns: i64,
    /// The width of system times.
    pub width: Width,
}

/// Beats with a mean within [`PhaseSettings::lock_ns`] until the loop counts as locked.
const LOCKED_AFTER: u32 = 50;
/// About this many beats make a mean.
const MEAN_OF: f64 = 16.0;
/// Wrong times in a row until the regulator believes them.
const MAX_OUTLIERS: u32 = 5;

impl PhaseSettings {
    /// Settings for beats every `interval_ns`, with whole cycles of system time: a time constant of 40 cycles,
    /// at most a hundredth of a cycle a beat, locked within a hundredth.
    #[must_use]
    pub fn every(interval_ns: u64) -> Self {
        let interval_ns = interval_ns.max(1);
        Self {
            interval_ns,
            target_ns: 0,
            proportional: 0.05,
            integral: 0.05 * 0.05 / 4.0,
            most_ns: interval_ns as f64 / 100.0,
            most_drift_ppm: 500.0,
            lock_ns: (interval_ns / 100).cast_signed(),
            outlier_ns: (interval_ns / 10).cast_signed(),
            width: Width::Bits64,
        }
    }
}

/// An observation of a beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// The intended time of the beat, by this computer's clock.
    pub intended: MonotonicTime,
    /// The time at which its frame was handed to the wire, by this computer's clock: the lateness of the
    /// beat's service does not count as an offset of the beat itself.
    pub sent: MonotonicTime,
    /// The reference's clock when the frame was there.
    pub system_time_ns: u64,
}

/// The regulator's result for a beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Step {
    /// How much later than its place in the segment's cycle the last observed beat was, in ns.
    pub offset_ns: i64,
    /// The regulator's estimate of how much faster than this computer's clock the reference runs, in parts per
    /// billion.
    pub drift_ppb: i64,
    /// The shift of all later beats, in ns.
    pub correction_ns: i64,
    /// Whether beats are at their place.
    pub locked: bool,
    /// Whether this step saw a time that it believed. Else it goes on by the drift alone.
    pub seen: bool,
}

/// Keeps beats at their place in the cycle of another clock. Pure: it reads no clock.
///
/// # Real-time safety
/// It neither allocates, locks nor waits.
#[derive(Debug, Clone)]
pub struct Regulator {
    settings: PhaseSettings,
    /// Drift in ns a cycle.
    drift: f64,
    /// The remainder of rounding, in ns.
    rest: f64,
    /// Mean offset of the last beats, in ns.
    mean: f64,
    /// Beats in a row whose mean was within the bound.
    within: u32,
    outliers: u32,
    /// The last believed time: by this computer's clock, and all 64 bits of system time.
    known: Option<(MonotonicTime, u64)>,
    last: Step,
}

impl Regulator {
    /// A regulator that has seen no beat yet.
    #[must_use]
    pub const fn new(settings: PhaseSettings) -> Self {
        Self {
            settings,
            drift: 0.0,
            rest: 0.0,
            mean: 0.0,
            within: 0,
            outliers: 0,
            known: None,
            last: Step {
                offset_ns: 0,
                drift_ppb: 0,
                correction_ns: 0,
                locked: false,
                seen: false,
            },
        }
    }

    /// The result of the last step; zeros before the first.
    #[must_use]
    pub const fn last(&self) -> Step {
        self.last
    }

    /// Takes an observation of a beat. Once a cycle, or [`missed`](Self::missed).
    pub fn observe(&mut self, observation: Observation) -> Step {
        let system = self.extend(&observation);
        let late = observation.sent.since(observation.intended);
        let offset = self.offset(system.wrapping_sub(late as u64));
        let wild = self.last.locked && offset.abs() > self.settings.outlier_ns;
        if wild && self.outliers < MAX_OUTLIERS {
            self.outliers += 1;
            return self.missed();
        }
        self.outliers = 0;
        self.last.offset_ns = offset;
        self.last.seen = true;
        let wanted = self.settings.proportional * offset as f64 + self.drift;
        let bounded = wanted.clamp(-self.settings.most_ns, self.settings.most_ns);
        // An offset that cannot be corrected at once says nothing of the drift.
        if wanted.abs() <= self.settings.most_ns {
            let most = self.settings.most_drift_ppm * 1e-6 * self.settings.interval_ns as f64;
            let drift = self.drift + self.settings.integral * offset as f64;
            self.drift = drift.clamp(-most, most);
        }
        let mean = match self.known {
            Some(_) => self.mean + (offset as f64 - self.mean) / MEAN_OF,
            None => offset as f64,
        };
        self.mean = mean;
        self.within = match mean.abs() <= self.settings.lock_ns as f64 {
            true => self.within.saturating_add(1),
            false => 0,
        };
        self.last.locked = self.within >= LOCKED_AFTER;
        self.known = Some((observation.sent, system));
        self.step(-bounded)
    }

    /// Notes a beat without an observation: its frame got lost, or brought no time. The drift goes on.
    pub fn missed(&mut self) -> Step {
        self.last.seen = false;
        self.step(-self.drift)
    }

    fn step(&mut self, correction: f64) -> Step {
        let exact = correction + self.rest;
        let whole = exact.round();
        self.rest = exact - whole;
        self.last.correction_ns = whole as i64;
        let ppb = self.drift * 1e9 / self.settings.interval_ns as f64;
        self.last.drift_ppb = ppb.round() as i64;
        self.last
    }

    /// Extends a time of 32 bits to 64, by its expected value.
    fn extend(&self, observation: &Observation) -> u64 {
        let reported = observation.system_time_ns;
        let (Width::Bits32, Some((sent, system))) = (self.settings.width, self.known) else {
            return reported;
        };
        let about = system.wrapping_add(observation.sent.since(sent) as u64);
        let ahead = (reported as u32).wrapping_sub(about as u32).cast_signed();
        about.wrapping_add_signed(ahead.into())
    }

    /// How much later than its nearest place the beat was.
    fn offset(&self, system: u64) -> i64 {
        let interval = self.settings.interval_ns.max(1);
        let target = self.settings.target_ns % interval;
        let later = (system % interval + interval - target) % interval;
        if later > interval / 2 {
            -((interval - later).cast_signed())
        } else {
            later.cast_signed()
        }
    }
}

/// Keeps a loop's beats with the reference clock of a [`Cycle`](crate::main_device::cycle::Cycle) that has
/// one. It passes each step to `on_step`, on the real-time thread: for series of offset and drift.
///
/// ```
/// use kadenz_ethercat::control::phase::{ClockFollower, PhaseSettings, Step};
///
/// let mut offsets = Vec::with_capacity(1_000);
/// let phase = ClockFollower::new(PhaseSettings::every(1_000_000), |step: &Step| offsets.push(step.offset_ns));
/// // Loop::run_locked(..., &mut phase, ...)
/// # let _ = phase;
/// ```
///
/// # Real-time safety
/// It neither allocates, locks nor waits, if the given function does not.
#[derive(Debug)]
pub struct ClockFollower<T> {
    regulator: Regulator,
    /// The intended time and the sending time of the beat whose frames are still out.
    out: Option<(MonotonicTime, MonotonicTime)>,
    on_step: T,
}

impl<T: FnMut(&Step)> ClockFollower<T> {
    /// A phase that has seen no beat yet.
    pub const fn new(settings: PhaseSettings, on_step: T) -> Self {
        Self {
            regulator: Regulator::new(settings),
            out: None,
            on_step,
        }
    }

    /// The result of the last step; zeros before the first.
    #[must_use]
    pub const fn last(&self) -> Step {
        self.regulator.last()
    }
}

impl<T: FnMut(&Step)> Phase for ClockFollower<T> {
    fn correct(&mut self, report: &CycleReport<'_>) -> i64 {
        let now = (report.intended, report.sent);
        // The frames that were taken in: this cycle's, or those of the previous cycle.
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
        (self.on_step)(&step);
        step.correction_ns
    }
}

#[cfg(test)]
mod tests;
