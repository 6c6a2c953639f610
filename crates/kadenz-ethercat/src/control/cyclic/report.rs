//! The report of a cycle, for observers.

use kadenz_rt::clock::MonotonicTime;

use super::settings::LoopMode;
use crate::main_device::cycle::Outcome;
use crate::main_device::layout::Layout;
use crate::main_device::link::LinkCounts;

/// Observes every cycle at its end, on the real-time thread.
///
/// # Real-time safety
/// An implementation must neither allocate, lock, log nor wait.
pub trait Observer {
    /// Takes the report of a cycle that is done.
    fn cycle(&mut self, report: &CycleReport<'_>);
}

impl<F: FnMut(&CycleReport<'_>)> Observer for F {
    fn cycle(&mut self, report: &CycleReport<'_>) {
        self(report);
    }
}

impl Observer for () {
    fn cycle(&mut self, _: &CycleReport<'_>) {}
}

macro_rules! all_of {
    ($($one:ident $at:tt),+) => {
        impl<$($one: Observer),+> Observer for ($($one,)+) {
            fn cycle(&mut self, report: &CycleReport<'_>) {
                $(self.$at.cycle(report);)+
            }
        }
    };
}

all_of!(A 0, B 1);
all_of!(A 0, B 1, C 2);
all_of!(A 0, B 1, C 2, D 3);
all_of!(A 0, B 1, C 2, D 3, E 4);

/// The report of a cycle. Times are by the port's clock.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy)]
pub struct CycleReport<'c> {
    /// The number of the cycle, from 1.
    pub number: u64,
    /// The beat that it served; more than `number` where beats were left out.
    pub beat: u64,
    /// The time at which it should have begun.
    pub intended: MonotonicTime,
    /// The time at which it began.
    pub woken: MonotonicTime,
    /// The time at which the inputs that the controller saw had been taken in.
    pub received: MonotonicTime,
    /// The time at which the controller was done.
    pub controlled: MonotonicTime,
    /// The time at which the frames had been handed to the wire: after the controller when pipelined,
    /// before it when synchronous.
    pub sent: MonotonicTime,
    /// The time at which all was done.
    pub ended: MonotonicTime,
    /// The time at which the previous cycle began.
    pub before: Option<MonotonicTime>,
    /// The mode in which answers are taken in.
    pub mode: LoopMode,
    /// The outcome of the frames that were taken in here: those of the previous cycle when pipelined, of this
    /// one when synchronous. `None` where there were none before.
    pub outcome: Option<Outcome>,
    /// Whether the previous cycle was not done when this one was due.
    pub overrun: bool,
    /// Beats left out before this one.
    pub skipped: u64,
    /// The link's counts, since it was made.
    pub counts: LinkCounts,
    /// The layout of all SubDevices' process data.
    pub layout: &'c Layout,
    /// All inputs: those that the controller saw.
    pub inputs: &'c [u8],
    /// All outputs, as the controller left them: sent when pipelined, about to be sent with the next beat
    /// when synchronous.
    pub outputs: &'c [u8],
}

impl CycleReport<'_> {
    /// Whether the frames taken in came back whole, with every SubDevice's part.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.outcome.is_some_and(|it| it.is_whole())
    }

    /// Wake-up latency in ns: actual minus intended beginning.
    #[must_use]
    pub(crate) fn wake_up_ns(&self) -> i64 {
        self.woken.since(self.intended)
    }

    /// Control period in ns: from the beginning of the previous cycle to that of this one.
    #[must_use]
    pub fn period_ns(&self) -> Option<i64> {
        self.before.map(|before| self.woken.since(before))
    }

    /// The time that the loop's thread spent on the bus, in ns. Synchronous: from sending the first frame
    /// to the last answer, or the end of waiting. Pipelined: taking in what had come, and sending.
    #[must_use]
    pub fn exchange_ns(&self) -> i64 {
        let taken = self.received.since(self.woken);
        match self.mode {
            LoopMode::Synchronous { .. } => taken,
            LoopMode::Pipelined => taken + self.sent.since(self.controlled),
        }
    }

    /// The time that the controller took, in ns.
    #[must_use]
    pub fn controller_ns(&self) -> i64 {
        self.controlled.since(self.received)
    }
}
