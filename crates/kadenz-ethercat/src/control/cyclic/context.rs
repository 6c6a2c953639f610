//! What a controller sees and writes.

use std::time::Duration;

use kadenz_rt::beat::Interval;
use kadenz_rt::clock::MonotonicTime;

use super::Begun;
use super::settings::{LoopSettings, Overrun};
use crate::main_device::cycle::{Cycle, Outcome};
use crate::main_device::layout::Layout;

/// Computes outputs of inputs, once a cycle, on the real-time thread: it must neither allocate, lock, log
/// nor wait.
pub trait Controller {
    /// A cycle.
    fn beat(&mut self, context: &mut CycleContext<'_>);
}

impl<F: FnMut(&mut CycleContext<'_>)> Controller for F {
    fn beat(&mut self, context: &mut CycleContext<'_>) {
        self(context);
    }
}

/// Leaves the outputs as they are.
impl Controller for () {
    fn beat(&mut self, _: &mut CycleContext<'_>) {}
}

/// One after another: the later one may change what the one before wrote.
impl<A: Controller, B: Controller> Controller for (A, B) {
    fn beat(&mut self, context: &mut CycleContext<'_>) {
        self.0.beat(context);
        self.1.beat(context);
    }
}

/// A cycle as its controller sees it.
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

/// Deadlines missed before a cycle. One that is caught up with counts by itself.
fn missed(begun: &Begun, settings: &LoopSettings) -> u64 {
    let due = &begun.due;
    match settings.overrun {
        // Nothing is left out there, however late a cycle begins.
        Overrun::Relative => {
            let late = begun.woken.since(due.intended).max(0);
            u64::from(due.overrun) + (late as f64 / settings.interval.as_ns_f64()) as u64
        }
        Overrun::Skip | Overrun::CatchUp | Overrun::Stop if due.overrun => due.skipped.max(1),
        Overrun::Skip | Overrun::CatchUp | Overrun::Stop => 0,
    }
}

impl<'m> CycleContext<'m> {
    pub(super) fn new(
        cycle: &'m mut Cycle,
        begun: &Begun,
        settings: &LoopSettings,
        outcome: Option<Outcome>,
    ) -> Self {
        Self {
            cycle,
            number: begun.number,
            beats: begun.due.skipped + 1,
            missed: missed(begun, settings),
            elapsed: begun
                .before
                .map_or(settings.interval.as_duration(), |before| {
                    Duration::from_nanos(begun.woken.since(before).max(0).unsigned_abs())
                }),
            intended: begun.due.intended,
            woken: begun.woken,
            interval: settings.interval,
            outcome,
            overrun: begun.due.overrun,
            ending: begun.ending,
            stop: false,
        }
    }

    /// A beat behind the answers of its own frames, of a loop that is never late.
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

    /// Which cycle it is, from 1.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// When it should have begun.
    #[must_use]
    pub const fn intended(&self) -> MonotonicTime {
        self.intended
    }

    /// When it began.
    #[must_use]
    pub const fn woken(&self) -> MonotonicTime {
        self.woken
    }

    /// Time between two beats.
    #[must_use]
    pub const fn interval(&self) -> Interval {
        self.interval
    }

    /// Time from the beat served before to this one: the interval, times one more than the beats left out.
    #[must_use]
    pub fn step(&self) -> Duration {
        let ns = self.interval.as_ns_f64() * self.beats as f64;
        Duration::from_nanos(ns as u64)
    }

    /// Time from when the cycle before began to when this one did; the interval in the first.
    #[must_use]
    pub const fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Deadlines missed since the cycle before: of beats that were left out, or of this one where it begins
    /// late. A stall of n beats misses n of them, in one cycle or in several.
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.missed
    }

    /// What became of the frames that the inputs came with; `None` where none were sent before.
    #[must_use]
    pub const fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// Whether the inputs are those of this cycle's frames, all of them: none was lost, and every
    /// SubDevice took part.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.outcome.is_some_and(|it| it.is_whole())
    }

    /// Whether the device at a position is known to have taken part in the exchange that the inputs came with;
    /// see [`Cycle::took_part`]. False where nothing was sent before.
    #[must_use]
    pub fn took_part(&self, device: usize) -> bool {
        self.outcome.is_some() && self.cycle.took_part(device)
    }

    /// Whether the cycle before was not done when this one was due.
    #[must_use]
    pub const fn overrun(&self) -> bool {
        self.overrun
    }

    /// Whether the loop is to end, and only waits until everything rests; see
    /// [`LoopSettings::shutdown_cycles`].
    #[must_use]
    pub const fn is_ending(&self) -> bool {
        self.ending
    }

    /// Where everybody's data lies.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        self.cycle.layout()
    }

    /// All inputs.
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

    /// The inputs of the device at a position; empty for one without, and for none.
    #[must_use]
    pub(crate) fn inputs_of(&self, device: usize) -> &[u8] {
        let share = self.cycle.layout().shares.get(device);
        share.map_or(&[], |it| &self.cycle.inputs()[it.inputs.clone()])
    }

    /// The outputs of the device at a position; empty for one without, and for none.
    pub fn outputs_of(&mut self, device: usize) -> &mut [u8] {
        let share = self.cycle.layout().shares.get(device);
        let range = share.map_or(0..0, |it| it.outputs.clone());
        &mut self.cycle.outputs_mut()[range]
    }

    /// Ends the loop after this cycle. In [`LoopMode::Synchronous`](super::LoopMode::Synchronous) what was written
    /// is still sent.
    pub const fn stop(&mut self) {
        self.stop = true;
    }

    pub(super) const fn goes_on(&self) -> bool {
        !self.stop
    }
}
