//! The loop and its questions in one thread: a question runs the loop's beats while it waits for its answer.
//!
//! In virtual time, where no second thread can keep pace, this is the way to watch and configure devices
//! while process data goes on. In real time, a loop of its own with a
//! [`AcyclicClient`](crate::main_device::acyclic::AcyclicClient) does that.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_ethercat::control::inline_loop::InlineLoop;
//! use kadenz_ethercat::main_device::bring_up::{find, prepare};
//! use kadenz_ethercat::main_device::exchange::{Exchange, RetryPolicy, Registers, BlockingExchange, Target};
//! use kadenz_ethercat::main_device::{link::Link, states};
//! use kadenz_ethercat::sim::WirePort;
//! use kadenz_ethercat::sim::humanoid::humanoid;
//! use kadenz_ethercat::wire::State;
//!
//! let mut link = Link::new(WirePort::new(humanoid(6).build()?), 1);
//! let mut exchange = BlockingExchange { link: &mut link, retry: RetryPolicy::default() };
//! let mut registers = Registers::by(&mut exchange);
//! let mut devices = find(&mut registers)?;
//! let cycle = prepare(&mut registers, &mut devices, None)?;
//!
//! let mut inline_loop = InlineLoop::new(link, cycle, Duration::from_millis(1));
//! inline_loop.pause(Duration::from_millis(10));
//! states::reach(&mut Registers::by(&mut inline_loop), Target::All(6), State::Op)?;
//! assert!(inline_loop.health().snapshot().cycles > 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::Arc;
use std::time::Duration;

use kadenz_rt::beat::{Interval, IntervalError};
use kadenz_rt::clock::MonotonicTime;

use super::cyclic::{Controller, CycleContext};
use super::health::Health;
use crate::main_device::acyclic::{AcyclicQueue, SlotClass};
use crate::main_device::cycle::{Cycle, Outcome};
use crate::main_device::exchange::{Exchange, ExchangeResult, FrameBuffer, RetryPolicy};
use crate::main_device::link::Link;
use crate::port::Port;

/// A function that runs after each beat.
type AfterBeat<P> = Box<dyn FnMut(&mut Link<P>, &mut Cycle, &Outcome) + Send>;

/// A loop that beats while its user waits.
pub struct InlineLoop<P> {
    link: Link<P>,
    cycle: Cycle,
    queue: AcyclicQueue,
    health: Arc<Health>,
    interval: Duration,
    retry: RetryPolicy,
    next: MonotonicTime,
    after: Option<AfterBeat<P>>,
    controller: Option<(Interval, Box<dyn Controller + Send>)>,
    beats: u64,
}

impl<P: Port> InlineLoop<P> {
    /// A loop of that interval.
    pub fn new(link: Link<P>, cycle: Cycle, interval: Duration) -> Self {
        Self {
            next: link.now(),
            link,
            cycle,
            queue: AcyclicQueue::default(),
            health: Arc::new(Health::new()),
            interval,
            retry: RetryPolicy::default(),
            after: None,
            controller: None,
            beats: 0,
        }
    }

    /// Lets this controller compute after each beat, with the inputs of the beat's answers; its outputs go
    /// out with the next beat. It cannot end the loop.
    ///
    /// # Errors
    /// [`IntervalError`] for an interval that is not valid.
    pub fn control(
        &mut self,
        controller: impl Controller + Send + 'static,
    ) -> Result<(), IntervalError> {
        let interval = Interval::try_from(self.interval)?;
        self.controller = Some((interval, Box::new(controller)));
        Ok(())
    }

    /// Calls this after each beat, for example a controller, a recorder, or a fault injector.
    pub fn after_beat(
        &mut self,
        after: impl FnMut(&mut Link<P>, &mut Cycle, &Outcome) + Send + 'static,
    ) {
        self.after = Some(Box::new(after));
    }

    /// The loop's record of its cycles.
    #[must_use]
    pub fn health(&self) -> Arc<Health> {
        Arc::clone(&self.health)
    }

    /// The link that carries the loop's frames.
    pub fn link_mut(&mut self) -> &mut Link<P> {
        &mut self.link
    }

    /// The cyclic exchange, with the images of inputs and outputs.
    pub fn cycle_mut(&mut self) -> &mut Cycle {
        &mut self.cycle
    }

    /// Runs one beat: process data, at most one question, and then the rest of the interval.
    pub fn beat(&mut self) -> Outcome {
        self.next = (self.next + self.interval).max(self.link.now());
        self.cycle.send(&mut self.link);
        self.queue.send_one(&mut self.link);
        loop {
            self.cycle.receive(&mut self.link, &self.queue);
            if self.link.now() >= self.next {
                break;
            }
            // The wait of a port that cannot wait shows in missing frames; time must go on nevertheless.
            if self.link.wait(self.next).is_err() {
                std::thread::sleep(self.next.remaining(self.link.now()));
                break;
            }
        }
        let outcome = self.cycle.finish(&mut self.link);
        self.queue.expire(&mut self.link);
        self.health.note(&outcome);
        self.health.note_link(&self.link.counts());
        self.beats += 1;
        if let Some((interval, controller)) = &mut self.controller {
            let (cycle, now) = (&mut self.cycle, self.link.now());
            let mut context = CycleContext::punctual(cycle, self.beats, now, *interval, outcome);
            controller.beat(&mut context);
        }
        if let Some(after) = &mut self.after {
            after(&mut self.link, &mut self.cycle, &outcome);
        }
        outcome
    }
}

impl<P: Port> Exchange for InlineLoop<P> {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> ExchangeResult {
        self.retry.exchange(self, frame)
    }

    fn exchange_once(&mut self, frame: &mut FrameBuffer) -> ExchangeResult<bool> {
        let slot = loop {
            match self.queue.request(frame, self.retry, SlotClass::Shared) {
                Some(slot) => break slot,
                None => {
                    self.beat();
                }
            }
        };
        loop {
            self.beat();
            if let Some(answered) = self.queue.take(slot, frame) {
                return Ok(answered);
            }
        }
    }

    fn pause(&mut self, span: Duration) {
        let until = self.link.now() + span;
        while self.link.now() < until {
            self.beat();
        }
    }

    fn now(&self) -> MonotonicTime {
        self.link.now()
    }
}

impl<P> std::fmt::Debug for InlineLoop<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InlineLoop")
            .field("interval", &self.interval)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}
