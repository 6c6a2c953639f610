//! The loop that drives a segment: a real-time thread that runs a [`Controller`] at every beat.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use std::time::Duration;
//! use kadenz_ethercat::control::cyclic::{CycleReport, Loop, CycleContext, LoopSettings, VirtualTime};
//! # use kadenz_ethercat::main_device::bring_up::{find, prepare};
//! # use kadenz_ethercat::main_device::exchange::{RetryPolicy, Registers, BlockingExchange};
//! # use kadenz_ethercat::main_device::link::Link;
//! # use kadenz_ethercat::main_device::acyclic::AcyclicQueue;
//! # use kadenz_ethercat::sim::WirePort;
//! # use kadenz_ethercat::sim::humanoid::humanoid;
//! # let mut link = Link::new(WirePort::new(humanoid(5).build()?), 1);
//! # let mut exchange = BlockingExchange { link: &mut link, retry: RetryPolicy::default() };
//! # let mut registers = Registers::by(&mut exchange);
//! # let mut devices = find(&mut registers)?;
//! # let mut cycle = prepare(&mut registers, &mut devices, None)?;
//! let (queue, stop) = (AcyclicQueue::default(), AtomicBool::new(false));
//! let mut bus = Loop { link: &mut link, cycle: &mut cycle, queue: &queue, stop: &stop };
//!
//! let mut whole = 0;
//! let ended = bus.run(
//!     &LoopSettings { cycles: Some(100), ..LoopSettings::every(Duration::from_millis(1))? },
//!     &mut VirtualTime,
//!     // The controller: here device 1's first output follows the number of the cycle.
//!     &mut |context: &mut CycleContext<'_>| context.outputs_of(1)[0] = context.number() as u8,
//!     &mut |report: &CycleReport<'_>| whole += u32::from(report.is_whole()),
//! );
//! assert_eq!((ended.cycles, whole), (100, 99), "the first has nothing to take in yet");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A cycle of [`LoopMode::Pipelined`] takes in the answers to the previous cycle's frames, lets the controller
//! compute, sends, and sleeps: as in figure 4 of \[Yoon2009\] no thread waits for the wire, and no interrupt is needed.
//! The request there sends what was computed a cycle before; this loop sends it at once.
//!
//! Guarantees, after [`Loop::run`] was called: the loop's own code neither allocates nor logs, and waits for no lock.
//! It waits for the beat, in [`LoopMode::Synchronous`] for the answers, up to a limit, and at its end, in both modes,
//! for the last answers, up to an interval. No loss of frames, of the link or of devices ends it: the [`CycleReport`]
//! reports them.

mod context;
mod operate;
mod publisher;
mod report;
mod settings;
mod shifted_beat;
mod timekeeper;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

use kadenz_rt::clock::MonotonicTime;

use crate::main_device::acyclic::AcyclicQueue;
use crate::main_device::cycle::{Cycle, Outcome};
use crate::main_device::link::Link;
use crate::port::Port;

pub use context::{Controller, CycleContext};
pub use operate::{NotInOp, operate};
pub use publisher::{
    CycleImage, HEAD as IMAGE_HEAD, ImageHeader, LockedPublisher, SeqlockPublisher, image_bytes,
};
pub use report::{CycleReport, Observer};
pub use settings::{Ended, EndedBy, LoopMode, LoopSettings, Overrun};
pub use timekeeper::{RealTime, Timekeeper, VirtualTime};

use shifted_beat::{DueCycle, ShiftedBeat};

/// Decides how the beat moves, so that it follows another clock.
///
/// # Real-time safety
/// An implementation must neither allocate, lock, log nor wait.
pub trait Phase {
    /// Returns by how many nanoseconds all later beats are to be shifted; negative for earlier. Called once a
    /// cycle, after the observer.
    fn correct(&mut self, report: &CycleReport<'_>) -> i64;
}

/// A phase that never moves the beat: it follows this computer's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct Free;

impl Phase for Free {
    fn correct(&mut self, _: &CycleReport<'_>) -> i64 {
        0
    }
}

/// A loop's link, process data and queue.
///
/// # Real-time safety
/// While it runs, the loop's own code neither allocates nor logs, and waits for no lock. It waits for the beat, in
/// [`LoopMode::Synchronous`] for the answers, up to a limit, and at its end, in both modes, for the last answers, up to
/// an interval. Its system calls sleep, send and receive frames, and wake threads whose questions are answered.
#[derive(Debug)]
pub struct Loop<'l, P> {
    /// The link to the segment.
    pub link: &'l mut Link<P>,
    /// The process data; its SubDevices are in SAFEOP at least.
    pub cycle: &'l mut Cycle,
    /// Questions of other threads: the loop sends at most one a cycle.
    pub queue: &'l AcyclicQueue,
    /// Ends the loop when it is true.
    pub stop: &'l AtomicBool,
}

/// The times with which a cycle begins.
struct CycleStart {
    due: DueCycle,
    number: u64,
    woken: MonotonicTime,
    before: Option<MonotonicTime>,
    ending: bool,
}

impl<'l, P> Loop<'l, P> {
    /// Makes a loop over this link, with this process data and these questions, which `stop` ends.
    pub fn new(
        link: &'l mut Link<P>,
        cycle: &'l mut Cycle,
        queue: &'l AcyclicQueue,
        stop: &'l AtomicBool,
    ) -> Self {
        Self {
            link,
            cycle,
            queue,
            stop,
        }
    }
}

impl<P: Port> Loop<'_, P> {
    /// Runs by its own beat until it is stopped. See [`run_locked`](Self::run_locked).
    pub fn run(
        &mut self,
        settings: &LoopSettings,
        time: &mut impl Timekeeper<P>,
        controller: &mut (impl Controller + ?Sized),
        observer: &mut (impl Observer + ?Sized),
    ) -> Ended {
        self.run_locked(settings, time, &mut Free, controller, observer)
    }

    /// Runs until the flag stops it, the controller does, all cycles are done, or an overrun ends it
    /// ([`Overrun::Stop`]). Nothing else ends it. After the flag and after such an overrun the
    /// [shutdown cycles](LoopSettings::shutdown_cycles) follow, which keep to the beat. The caller should have given
    /// the thread its priority before (`kadenz_rt::tuning`).
    pub fn run_locked(
        &mut self,
        settings: &LoopSettings,
        time: &mut impl Timekeeper<P>,
        phase: &mut (impl Phase + ?Sized),
        controller: &mut (impl Controller + ?Sized),
        observer: &mut (impl Observer + ?Sized),
    ) -> Ended {
        let mut shifted_beat =
            ShiftedBeat::new(settings, settings.start.unwrap_or_else(|| self.link.now()));
        let mut leaving: Option<u64> = None;
        let mut before = None;
        // Frames that an earlier user of the link left out on the wire are not this loop's.
        self.cycle.finish(self.link);
        self.link.discard_all();
        let why = loop {
            if settings.cycles.is_some_and(|it| shifted_beat.is_over(it)) {
                break EndedBy::Count;
            }
            if leaving.is_none() && self.stop.load(Ordering::Relaxed) {
                leaving = Some(settings.shutdown_cycles);
            }
            match &mut leaving {
                Some(0) => break EndedBy::Flag,
                Some(left) => *left -= 1,
                None => {}
            }
            let Some(due) = shifted_beat.next(self.link.now()) else {
                break EndedBy::Overrun;
            };
            if leaving.is_none() && shifted_beat.is_stopped() {
                leaving = Some(settings.shutdown_cycles.saturating_sub(1));
            }
            time.wait_until(self.link.port_mut(), due.intended);
            let start = CycleStart {
                due,
                number: shifted_beat.cycles(),
                woken: self.link.now(),
                before,
                ending: leaving.is_some(),
            };
            before = Some(start.woken);
            shifted_beat.began(start.woken);
            let (report, go_on) = self.once(settings, &start, controller);
            observer.cycle(&report);
            shifted_beat.shift(phase.correct(&report));
            if !go_on {
                break EndedBy::Controller;
            }
        };
        self.part(settings);
        shifted_beat.ended(why)
    }

    /// Runs a cycle; returns whether the controller wants to go on.
    fn once(
        &mut self,
        settings: &LoopSettings,
        start: &CycleStart,
        controller: &mut (impl Controller + ?Sized),
    ) -> (CycleReport<'_>, bool) {
        let synchronous = match settings.mode {
            LoopMode::Synchronous { wait } => Some(wait),
            LoopMode::Pipelined => None,
        };
        let mut outcome = None;
        let mut sent = start.woken;
        if let Some(wait) = synchronous {
            sent = self.send();
            outcome = Some(self.await_answers(start.woken + wait));
        } else {
            self.cycle.receive(self.link, self.queue);
            let before = self.cycle.finish(self.link);
            if start.before.is_some() {
                outcome = Some(before);
            }
        }
        let received = self.link.now();
        let mut context = CycleContext::new(self.cycle, start, settings, outcome);
        controller.beat(&mut context);
        let go_on = context.goes_on();
        let controlled = self.link.now();
        if synchronous.is_none() {
            sent = self.send();
        }
        self.queue.expire(self.link);
        let report = CycleReport {
            number: start.number,
            beat: start.due.beat,
            intended: start.due.intended,
            woken: start.woken,
            received,
            controlled,
            sent,
            ended: self.link.now(),
            before: start.before,
            mode: settings.mode,
            outcome,
            overrun: start.due.overrun,
            skipped: start.due.skipped,
            counts: self.link.counts(),
            layout: self.cycle.layout(),
            inputs: self.cycle.inputs(),
            outputs: self.cycle.outputs(),
        };
        (report, go_on)
    }

    /// Sends the outputs, and one question of other threads behind them; returns the time after that.
    fn send(&mut self) -> MonotonicTime {
        self.cycle.send(self.link);
        self.queue.send_one(self.link);
        self.link.now()
    }

    fn await_answers(&mut self, latest: MonotonicTime) -> Outcome {
        self.cycle.await_answers(self.link, self.queue, latest)
    }

    /// Sends what the controller wrote last, where it was not sent yet, and takes in the answers that are still
    /// out.
    fn part(&mut self, settings: &LoopSettings) {
        if matches!(settings.mode, LoopMode::Synchronous { .. }) {
            self.cycle.send(self.link);
        }
        let latest = self.link.now() + settings.interval.as_duration();
        self.await_answers(latest);
    }
}
