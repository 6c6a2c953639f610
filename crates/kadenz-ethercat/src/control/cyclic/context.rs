//! The inputs, outputs and times of a cycle, for its controller.

use std::time::Duration;

use kadenz_rt::beat::Interval;
use kadenz_rt::clock::MonotonicTime;

use super::CycleStart;
use super::settings::{LoopSettings, Overrun};
use crate::main_device::cycle::{Cycle, Outcome};
use crate::main_device::layout::Layout;

/// Computes outputs from inputs, once a cycle, on the real-time thread.
///
/// # Real-time safety
/// An implementation must neither allocate, lock, log nor wait.
pub trait Controller {
    /// Runs in each cycle.
    fn beat(&mut self, context: &mut CycleContext<'_>);
}

impl<F: FnMut(&mut CycleContext<'_>)> Controller for F {
    fn beat(&mut self, context: &mut CycleContext<'_>) {
        self(context);
    }
}

/// A controller that leaves the outputs as they are.
impl Controller for () {
    fn beat(&mut self, _: &mut CycleContext<'_>) {}
}

/// Runs both in order: the later one may change what the earlier one wrote.
impl<A: Controller, B: Controller> Controller for (A, B) {
    fn beat(&mut self, context: &mut CycleContext<'_>) {
        self.0.beat(context);
        self.1.beat(context);
    }
}

/// A cycle as its controller sees it.
///
/// # Real-time safety
/// No method allocates, locks or makes a system call.
#[derive(Debug)]
pub struct CycleContext<'m> {
    cycle: &'m mut Cycle,
    number: u64,
    beats: u64,
    missed: u64,
    elapsed: Duration,
    intended: MonotonicTime,
    woken: MonotonicTime,
    interval: Interval,
    outcome: Option<Outcome>,
    overrun: bool,
    ending: bool,
    stop: bool,
}

/// Deadlines missed before a cycle. A beat that is caught up with counts by itself.
fn missed(start: &CycleStart, settings: &LoopSettings) -> u64 {
    let due = &start.due;
    match settings.overrun {
        // This policy leaves out no beat, however late a cycle begins.
        Overrun::Relative => {
            let late = start.woken.since(due.intended).max(0);
            u64::from(due.overrun) + (late as f64 / settings.interval.as_ns_f64()) as u64
        }
        Overrun::Skip | Overrun::CatchUp | Overrun::Stop if due.overrun => due.skipped.max(1),
        Overrun::Skip | Overrun::CatchUp | Overrun::Stop => 0,
    }
}

impl<'m> CycleContext<'m> {
    pub(super) fn new(
        cycle: &'m mut Cycle,
        start: &CycleStart,
        settings: &LoopSettings,
        outcome: Option<Outcome>,
    ) -> Self {
        Self {
            cycle,
            number: start.number,
            beats: start.due.skipped + 1,
            missed: missed(start, settings),
            elapsed: start
                .before
                .map_or(settings.interval.as_duration(), |before| {
                    Duration::from_nanos(start.woken.since(before).max(0).unsigned_abs())
                }),
            intended: start.due.intended,
            woken: start.woken,
            interval: settings.interval,
            outcome,
            overrun: start.due.overrun,
            ending: start.ending,
            stop: false,
        }
    }

    /// A context of a loop that is never late, one beat behind the answers of its own frames.
    pub(in crate::control) const fn punctual(
        cycle: &'m mut Cycle,
        number: u64,
        now: MonotonicTime,
        interval: Interval,
        outcome: Outcome,
    ) -> Self {
        Self {
            cycle,
            number,
            beats: 1,
            missed: 0,
            elapsed: interval.as_duration(),
            intended: now,
            woken: now,
            interval,
            outcome: Some(outcome),
            overrun: false,
            ending: false,
            stop: false,
        }
    }

    /// The number of the cycle, from 1.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The time at which it should have begun.
    #[must_use]
    pub const fn intended(&self) -> MonotonicTime {
        self.intended
    }

    /// The time at which it began.
    #[must_use]
    pub const fn woken(&self) -> MonotonicTime {
        self.woken
    }

    /// Time between two beats.
    #[must_use]
    pub const fn interval(&self) -> Interval {
        self.interval
    }

    /// Time from the previous served beat to this one: the interval, times one more than the beats left out.
    #[must_use]
    pub fn step(&self) -> Duration {
        let ns = self.interval.as_ns_f64() * self.beats as f64;
        Duration::from_nanos(ns as u64)
    }

    /// Time from the beginning of the previous cycle to that of this one; the interval in the first cycle.
    #[must_use]
    pub const fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Deadlines missed since the previous cycle: of beats that were left out, or of this one where it begins late. A
    /// stall of n beats misses n of them, in one cycle or in several.
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.missed
    }

    /// The outcome of the frames that brought the inputs; `None` where none were sent before.
    #[must_use]
    pub const fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// Whether all inputs are those of this cycle's frames: none was lost, and every SubDevice took part.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.outcome.is_some_and(|it| it.is_whole())
    }

    /// Whether the device at a position is known to have taken part in the exchange that brought the inputs; see
    /// [`Cycle::took_part`]. False where nothing was sent before.
    #[must_use]
    pub fn took_part(&self, device: usize) -> bool {
        self.outcome.is_some() && self.cycle.took_part(device)
    }

    /// Whether the previous cycle was not done when this one was due.
    #[must_use]
    pub const fn overrun(&self) -> bool {
        self.overrun
    }

    /// Whether the loop is to end, and only waits until all axes are at rest; see
    /// [`LoopSettings::shutdown_cycles`].
    #[must_use]
    pub const fn is_ending(&self) -> bool {
        self.ending
    }

    /// The layout of all SubDevices' process data.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        self.cycle.layout()
    }

    /// The image of all inputs, as they came last.
    #[must_use]
    pub fn inputs(&self) -> &[u8] {
        self.cycle.inputs()
    }

    /// All outputs, as they were written last.
    pub fn outputs(&mut self) -> &mut [u8] {
        self.cycle.outputs_mut()
    }

    /// All inputs and all outputs.
    pub fn images(&mut self) -> (&[u8], &mut [u8]) {
        self.cycle.images()
    }

    /// The inputs of the device at a position; empty for a device without inputs, and where there is no device.
    #[must_use]
    pub(crate) fn inputs_of(&self, device: usize) -> &[u8] {
        let share = self.cycle.layout().shares.get(device);
        share.map_or(&[], |it| &self.cycle.inputs()[it.inputs.clone()])
    }

    /// The outputs of the device at a position; empty for a device without outputs, and where there is no device.
    pub fn outputs_of(&mut self, device: usize) -> &mut [u8] {
        let share = self.cycle.layout().shares.get(device);
        let range = share.map_or(0..0, |it| it.outputs.clone());
        &mut self.cycle.outputs_mut()[range]
    }

    /// Ends the loop after this cycle. In [`LoopMode::Synchronous`](super::LoopMode::Synchronous) the loop still
    /// sends what the controller wrote.
    pub const fn stop(&mut self) {
        self.stop = true;
    }

    pub(super) const fn goes_on(&self) -> bool {
        !self.stop
    }
}
