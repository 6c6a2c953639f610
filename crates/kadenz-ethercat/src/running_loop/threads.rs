//! The threads of a loop: the loop itself, the supervisor, and the fault monitor, which reads the drives' error codes;
//! what they share, and how they end together.
//!
//! The loop ends first: its axes come to rest, its devices are left in PREOP. A panic of any thread but the loop's ends
//! the loop in the same way, and a panic of the controller leaves no device in OP.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kadenz_rt::clock;

use super::fault_codes::FaultCodes;
use crate::control::cyclic::{Controller, Ended, Loop, LoopSettings, Observer, Phase, Timekeeper};
use crate::control::health::Health;
use crate::control::notice::{Event, Incident, Incidents, Subscription};
use crate::control::output_requests::OutputRequests;
use crate::control::supervisor::{DeviceTable, SegmentSupervisor};
use crate::control::timing::Timing;
use crate::main_device::acyclic::{AcyclicClient, AcyclicQueue};
use crate::main_device::cycle::Cycle;
use crate::main_device::exchange::{
    BlockingExchange, ExchangeResult, Registers, RetryPolicy, Target,
};
use crate::main_device::link::Link;
use crate::main_device::states::REACTION;
use crate::motion::{MotionHandle, Stopped};
use crate::port::Port;
use crate::wire::register::{AL_CONTROL, AL_STATUS};
use crate::wire::{AlControl, State};

/// The interval at which the fault monitor looks at the axes, and the longest wait for a notice.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Pause between two requests of the last state.
const AGAIN: Duration = Duration::from_millis(10);
/// The time that a busy machine may need beyond the shutdown cycles.
const GRACE: Duration = Duration::from_secs(5);

/// A segment whose devices are configured and in SAFEOP.
#[derive(Debug)]
pub struct Prepared<P> {
    /// The link to the segment.
    pub link: Link<P>,
    /// The segment's process data.
    pub cycle: Cycle,
}

impl<P: Port> Prepared<P> {
    /// Returns the same over another port to the same segment, and the former port.
    pub fn over<Q: Port>(self, port: Q) -> (Prepared<Q>, P) {
        let prepared = Prepared {
            link: Link::of_process(port),
            cycle: self.cycle,
        };
        (prepared, self.link.into_port())
    }
}

/// What the threads of a loop share. Clones share the same state.
#[derive(Debug, Clone)]
pub struct LoopThreads {
    /// Questions that the loop carries.
    pub queue: Arc<AcyclicQueue>,
    /// The loop's timing statistics.
    pub timing: Arc<Timing>,
    /// Health of the loop's exchanges.
    pub health: Arc<Health>,
    /// Ends all threads when it is set, the loop after its shutdown cycles.
    pub halt: Arc<AtomicBool>,
    /// Outputs that other threads set, for the loop's controller.
    pub output_requests: Arc<OutputRequests>,
    /// The axes, as other threads reach them.
    pub handle: Arc<MotionHandle>,
    retry: RetryPolicy,
    shutdown: Duration,
    /// Whether the loop's thread works: true until its axes are at rest.
    at_work: Arc<AtomicBool>,
}

impl LoopThreads {
    /// The shared state of a loop with these settings; `retry` is for its acyclic questions. Allocates.
    #[must_use]
    pub fn new(settings: &LoopSettings, retry: RetryPolicy) -> Self {
        let cycles = u32::try_from(settings.shutdown_cycles).unwrap_or(u32::MAX);
        Self {
            queue: Arc::default(),
            timing: Arc::new(Timing::new(settings)),
            health: Arc::new(Health::new()),
            halt: Arc::default(),
            output_requests: Arc::default(),
            handle: Arc::default(),
            retry,
            shutdown: settings.interval.as_duration().saturating_mul(cycles),
            at_work: Arc::default(),
        }
    }

    /// Runs the loop on the calling thread to its end, and notes timing and health of each cycle. Then asks all devices
    /// to go to PREOP, also where the controller panics.
    ///
    /// # Real-time safety
    /// Between the first cycle and the last as [`Loop::run`]. After that, the function waits for devices.
    pub fn run_loop<P: Port>(
        &self,
        prepared: &mut Prepared<P>,
        settings: &LoopSettings,
        time: &mut impl Timekeeper<P>,
        phase: &mut (impl Phase + ?Sized),
        controller: &mut (impl Controller + ?Sized),
        observer: impl Observer,
    ) -> Ended {
        let _ends = EndOnDrop(self);
        let _at_work = RunningGuard::begin(&self.at_work);
        let leaving = LeaveOpOnDrop(prepared, self.retry);
        let prepared = &mut *leaving.0;
        let mut bus = Loop::new(
            &mut prepared.link,
            &mut prepared.cycle,
            &self.queue,
            &self.halt,
        );
        // Readers of the process image see at once which cycle was the last: to leave may take longer than a process
        // image may be old.
        let mut observer = (&*self.timing, &*self.health, observer);
        bus.run_locked(settings, time, phase, controller, &mut observer)
    }

    /// Brings devices to OP, and back to OP after an event, until the loop ends. Waits.
    pub fn supervise(&self, mut supervisor: SegmentSupervisor) {
        let _panic = HaltOnPanic(&self.halt);
        let mut client = AcyclicClient::of_supervisor(&self.queue, self.retry);
        // The supervisor ends with the loop.
        let _ = supervisor.run(&mut client, &self.halt);
    }

    /// Watches the axes until the loop ends, reads the error codes of drives that failed, and calls `notify` when all
    /// axes were stopped. Waits.
    pub fn monitor_faults(&self, device_table: &DeviceTable, mut notify: impl FnMut(&Stopped)) {
        let _panic = HaltOnPanic(&self.halt);
        let (mut codes, mut stops) = (FaultCodes::default(), 0);
        let mut exchange = AcyclicClient::of(&self.queue, self.retry);
        while !self.halt.load(Ordering::Relaxed) {
            std::thread::sleep(POLL_INTERVAL);
            if self.handle.status().is_none() {
                continue;
            }
            // One drive a look, first the one that stopped all axes: a drive that does not answer delays only the next
            // one.
            codes.read_next(&self.handle, device_table, &mut exchange);
            let status = self.handle.status();
            let newly = status.filter(|it| it.stops > stops);
            if let Some((count, stopped)) = newly.and_then(|it| Some((it.stops, it.stopped?))) {
                stops = count;
                notify(&stopped);
            }
        }
    }

    /// Groups the notices of the segment into incidents until the loop ends, and calls `notify` with each. The state
    /// changes by which all devices first come to OP are not an incident. Waits.
    pub fn monitor_incidents(
        &self,
        mut notices: Subscription,
        devices: usize,
        mut notify: impl FnMut(&Incident),
    ) {
        let _panic = HaltOnPanic(&self.halt);
        let devices = u16::try_from(devices).unwrap_or(u16::MAX);
        let (mut incidents, mut was_well) = (Incidents::default(), false);
        loop {
            // The notices of the end are looked at once more.
            let is_last = self.halt.load(Ordering::Relaxed);
            let first = notices.next_within(if is_last {
                Duration::ZERO
            } else {
                POLL_INTERVAL
            });
            for notice in first
                .into_iter()
                .chain(iter::from_fn(|| notices.try_next()))
            {
                if was_well || !matches!(notice.event, Event::State { code: 0, .. }) {
                    incidents.add(notice);
                }
            }
            was_well |= self.health.snapshot().is_well(devices);
            incidents.settled(clock::now()).iter().for_each(&mut notify);
            if is_last {
                break;
            }
        }
        incidents.rest().iter().for_each(notify);
    }

    /// Returns a guard that ends all threads when it is dropped, also by a panic; see [`ShutdownGuard`].
    #[must_use]
    pub fn shutdown_guard(&self) -> ShutdownGuard<'_> {
        ShutdownGuard(self)
    }
}

/// On drop, asks all threads to end, and waits for the loop until its axes are at rest: a process that ended before
/// that would end in the middle of a move.
#[derive(Debug)]
pub struct ShutdownGuard<'t>(&'t LoopThreads);

impl Drop for ShutdownGuard<'_> {
    fn drop(&mut self) {
        let threads = self.0;
        threads.halt.store(true, Ordering::Relaxed);
        let end = Instant::now() + threads.shutdown.saturating_add(GRACE);
        while threads.at_work.load(Ordering::Acquire) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        threads.queue.end();
    }
}

/// Ends the loop when its thread panics: a loop without its supervisor would go on, and no device would come back.
struct HaltOnPanic<'f>(&'f AtomicBool);

impl Drop for HaltOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Marks the loop's thread as at work as long as this lives.
struct RunningGuard<'f>(&'f AtomicBool);

impl<'f> RunningGuard<'f> {
    fn begin(flag: &'f AtomicBool) -> Self {
        flag.store(true, Ordering::Release);
        Self(flag)
    }
}

impl Drop for RunningGuard<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Ends the threads beside the loop, however the loop ends.
struct EndOnDrop<'t>(&'t LoopThreads);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.halt.store(true, Ordering::Relaxed);
        self.0.queue.end();
    }
}

/// On drop, leaves no device in OP without process data, however the loop ends.
struct LeaveOpOnDrop<'p, P: Port>(&'p mut Prepared<P>, RetryPolicy);

impl<P: Port> Drop for LeaveOpOnDrop<'_, P> {
    fn drop(&mut self) {
        let mut exchange = BlockingExchange {
            link: &mut self.0.link,
            retry: self.1,
        };
        let mut registers = Registers::by(&mut exchange);
        let end = registers.exchange().now() + 2 * REACTION;
        // A device that does not answer any more has its watchdog. One whose application has not read an earlier request
        // refuses this one: it gets it again, as all do where the wire did not take the request.
        while !matches!(is_left_in_op(&mut registers), Ok(false))
            && registers.exchange().now() < end
        {
            registers.exchange().pause(AGAIN);
        }
    }
}

/// Requests PREOP of all devices; returns whether one is in SAFEOP or OP afterwards. Firmware with an error takes only
/// a request that acknowledges it. A device without firmware shows the acknowledgement as an error, until the plain
/// request.
fn is_left_in_op(registers: &mut Registers<'_>) -> ExchangeResult<bool> {
    let (both, plain) = (
        AlControl::acknowledge(State::PreOp),
        AlControl::request(State::PreOp),
    );
    for control in [both, plain] {
        registers.count_writing(Target::All(0), AL_CONTROL, &control.0.to_le_bytes())?;
    }
    let mut states = [0; 2];
    registers.count_reading(Target::All(0), AL_STATUS, &mut states)?;
    // The states of all devices, by OR.
    let operates = State::SafeOp as u8 | State::Op as u8;
    Ok(states[0] & operates != 0)
}

#[cfg(test)]
mod tests;
