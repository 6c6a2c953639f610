//! All axes together: the group enables them, brings them to the start of their programs, plays these and stops.

use std::sync::Arc;

use kadenz_rt::clock::MonotonicTime;

use crate::control::cyclic::{Controller, CycleContext};
use crate::control::supervisor::DeviceTable;
use crate::main_device::states::longest;
use crate::wire::State;
use crate::wire::cia402::DriveState;

use super::axis_runner::{AxisRunner, MAX_MISSED_TARGETS};
use super::handle::{HandleWriter, MotionHandle, Report};
use super::safety::{Policy, Safety};
use super::stage::{Cause, Stage};

/// How long the loop goes on after the axes' time to brake, for drives whose status never shows rest, in s.
const SHUTDOWN_MARGIN_S: f64 = 0.1;

/// The time step of a cycle, in s.
#[derive(Debug, Clone, Copy)]
struct TimeStep {
    /// The time since the cycle before.
    passed: f64,
    /// The step of the trajectories.
    onward: f64,
}

impl TimeStep {
    /// The time step of this cycle. A trajectory advances by one interval a cycle at most: after missed beats all
    /// axes lose the same time, and none jumps to make up for it.
    fn of(context: &CycleContext<'_>) -> Self {
        let interval = context.interval().as_ns_f64() * 1e-9;
        let since = context.elapsed().as_secs_f64();
        // The jitter of a beat must not reach the motion.
        let passed = if (since - interval).abs() < interval / 2.0 {
            interval
        } else {
            since
        };
        Self {
            passed,
            onward: passed.min(interval),
        }
    }
}

/// Counters from a reset to the next stop.
#[derive(Debug, Clone, Copy, Default)]
struct Attempt {
    /// Seconds of complete cycles in which some axis was not enabled though all drives were in OP.
    waited: f64,
    /// Seconds of complete cycles in which some drive was not in OP.
    starting: f64,
    /// Cycles in a row in which some axis did not receive its target.
    missed_targets: u32,
    /// The cause of the stop, its cycle and its time.
    stopped: Option<(Cause, u64, MonotonicTime)>,
}

/// Plays the programs of all axes, as the loop's [`Controller`].
///
/// When the loop is to end
/// ([`LoopSettings::shutdown_cycles`](crate::control::cyclic::LoopSettings::shutdown_cycles)), or the
/// [`MotionHandle`] requests it, the group brings all axes to rest, switches their power off and ends the loop,
/// little later than [`Policy::braking`] at the latest.
///
/// # Real-time safety
/// It neither allocates, locks nor waits.
#[derive(Debug)]
pub struct AxisGroup<'s> {
    runners: Vec<AxisRunner>,
    safety: Safety,
    handle: &'s MotionHandle,
    writer: Option<HandleWriter<'s>>,
    device_table: Option<Arc<DeviceTable>>,
    stage: Stage,
    /// Seconds since the stage began.
    seconds: f64,
    attempt: Attempt,
    stops: u64,
    ends: bool,
}

impl<'s> AxisGroup<'s> {
    /// Creates a group of these axes. It reports their state in the handle, unless another group does so already.
    /// Allocates.
    #[must_use]
    pub fn new(runners: Vec<AxisRunner>, policy: Policy, handle: &'s MotionHandle) -> Self {
        Self {
            writer: handle.writer(&runners),
            runners,
            safety: Safety::new(policy),
            handle,
            device_table: None,
            stage: Stage::Enabling,
            seconds: 0.0,
            attempt: Attempt::default(),
            stops: 0,
            ends: false,
        }
    }

    /// Uses a supervisor's device table to know for each drive whether it is in OP. Without one, drives count as in OP
    /// when all devices of the segment are; where a device does not reach OP, the stop then names the first axis.
    #[must_use]
    pub fn with_device_table(mut self, device_table: Arc<DeviceTable>) -> Self {
        self.device_table = Some(device_table);
        self
    }

    /// Ends the loop when all programs are over; otherwise the axes hold their last positions.
    #[must_use]
    pub const fn ending_when_played(mut self) -> Self {
        self.ends = true;
        self
    }

    /// The axes with their programs, in the order of their numbers.
    #[must_use]
    pub fn runners(&self) -> &[AxisRunner] {
        &self.runners
    }

    /// What the group does now.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// How often the group stopped all axes.
    #[must_use]
    pub const fn stops(&self) -> u64 {
        self.stops
    }

    fn read(&mut self, context: &CycleContext<'_>, step: TimeStep) {
        let outcome = context.outcome();
        let states = outcome.and_then(|it| it.states);
        let all_operate = states.map(|(it, _)| it.state() == Some(State::Op));
        for runner in &mut self.runners {
            let device = runner.axis().device();
            let took_part = outcome.map(|_| context.took_part(device));
            runner.read(context.inputs_of(device), took_part, step.passed);
            if let Some(all_operate) = all_operate {
                let device_table = self.device_table.as_ref();
                let operates = all_operate || device_table.is_some_and(|it| it.operates(device));
                runner.set_operates(operates);
            }
        }
    }

    /// Enters the next stage where the current one is over.
    fn go_on(&mut self, context: &CycleContext<'_>, step: TimeStep) {
        let before = self.stage;
        let reset = self.safety.poll_handle(self.handle);
        let onward = match before.moves() {
            true => self.onward(step),
            false => 0.0,
        };
        self.stage = match before {
            Stage::Ending => Stage::Ending,
            _ if context.is_ending() || self.handle.ends() => Stage::Ending,
            Stage::Stopped(_) if reset => self.begin(),
            Stage::Stopped(cause) => Stage::Stopped(cause),
            Stage::Enabling => self.enable(context, step),
            Stage::Approaching(seconds) if self.is_at_start(seconds) => self.play(),
            Stage::Approaching(seconds) => Stage::Approaching(seconds + onward),
            Stage::Playing(seconds) if self.ends && self.is_played(seconds) => Stage::Ending,
            Stage::Playing(seconds) => Stage::Playing(seconds + onward),
        };
        self.watch(context);
        let is_same = std::mem::discriminant(&self.stage) == std::mem::discriminant(&before);
        self.seconds = if is_same {
            self.seconds + step.passed
        } else {
            0.0
        };
        if self.stage == Stage::Ending && !is_same {
            self.runners.iter_mut().for_each(AxisRunner::end);
        }
    }

    /// Returns the step of the trajectories: none while an axis may not have received its last target. Where that
    /// lasts and is tolerated, the others go on without that axis.
    fn onward(&mut self, step: TimeStep) -> f64 {
        let goes = |it: &AxisRunner| it.is_out() || it.received_target();
        if self.runners.iter().all(goes) {
            self.attempt.missed_targets = 0;
            return step.onward;
        }
        self.attempt.missed_targets = self.attempt.missed_targets.saturating_add(1);
        if self.attempt.missed_targets <= MAX_MISSED_TARGETS
            || !self.runners.iter().any(AxisRunner::received_target)
        {
            return 0.0;
        }
        for runner in self.runners.iter_mut().filter(|it| !goes(it)) {
            runner.fall_behind(step.onward);
        }
        step.onward
    }

    /// Starts from the beginning, with one reset for each fault.
    fn begin(&mut self) -> Stage {
        self.attempt = Attempt::default();
        self.safety.begin();
        self.handle.set_in_force(None, 0);
        for runner in &mut self.runners {
            runner.begin();
        }
        Stage::Enabling
    }

    /// Waits until all axes are enabled, with a time limit for those that answer. Acts on no status from before a
    /// device was lost; the supervisor brings a lost device back.
    fn enable(&mut self, context: &CycleContext<'_>, step: TimeStep) -> Stage {
        if !context.is_whole() {
            return Stage::Enabling;
        }
        self.reset_faults(step);
        let waits = |it: &AxisRunner| !it.is_out() && !it.is_ready();
        let Some(late) = self.runners.iter().position(waits) else {
            return match self.safety.cause() {
                None => self.approach(),
                Some(_) => Stage::Enabling,
            };
        };
        if self.enable_timed_out(step) {
            // An axis that is not in OP holds up all others.
            let starts = self.runners.iter().position(AxisRunner::starts);
            let axis = starts.unwrap_or(late);
            let reading = self.runners[axis].reading();
            let status = reading.map_or(0, |it| it.status.0);
            self.safety.stop(Cause::NotEnabled { axis, status });
        }
        Stage::Enabling
    }

    /// Advances the time to be enabled; returns whether it is over. It does not run while axes brake, nor while a
    /// drive is on its way to OP, which has a time limit of its own.
    fn enable_timed_out(&mut self, step: TimeStep) -> bool {
        let policy = self.safety.policy();
        let (enabling, braking) = (policy.enabling, policy.braking.as_secs_f64());
        if self.runners.iter().any(AxisRunner::starts) {
            self.attempt.starting += step.passed;
        } else if !self.runners.iter().any(|it| it.brakes(braking)) {
            self.attempt.waited += step.passed;
        }
        let starting = enabling + longest(State::Op);
        self.attempt.waited > enabling.as_secs_f64()
            || self.attempt.starting > starting.as_secs_f64()
    }

    fn reset_faults(&mut self, step: TimeStep) {
        for (axis, runner) in self.runners.iter_mut().enumerate() {
            if runner.is_out() || !runner.reset_fault(step.passed) {
                continue;
            }
            if self.safety.policy().stop_on_fault {
                let code = runner.error_code();
                self.safety.stop(Cause::Fault { axis, code });
            } else {
                runner.leave();
            }
        }
    }

    fn approach(&mut self) -> Stage {
        for runner in &mut self.runners {
            runner.approach();
        }
        Stage::Approaching(0.0)
    }

    fn play(&mut self) -> Stage {
        self.runners.iter_mut().for_each(AxisRunner::play);
        Stage::Playing(0.0)
    }

    fn is_at_start(&self, seconds: f64) -> bool {
        self.runners.iter().all(|it| it.is_at_start(seconds))
    }

    fn is_played(&self, seconds: f64) -> bool {
        self.runners.iter().all(|it| it.is_played(seconds))
    }

    /// Stops all axes on a fault. Before the axes move, a missing device is not a fault; but a drive that holds an axis
    /// in place must answer, and in time.
    fn watch(&mut self, context: &CycleContext<'_>) {
        let outcome = context.outcome();
        if self.stage.moves() {
            let mut fault = None;
            for (axis, runner) in self.runners.iter_mut().enumerate() {
                if !runner.is_enabled() {
                    runner.leave();
                    let code = runner.error_code();
                    fault = fault.or(Some(Cause::Fault { axis, code }));
                }
            }
            // Before the first frame was sent, no frame can be lost.
            let whole = outcome.is_none_or(|it| it.is_whole());
            self.safety.check(whole, context.missed(), fault);
        } else if self.stage == Stage::Enabling && self.runners.iter().any(AxisRunner::is_held) {
            let answered = outcome.is_none_or(|it| it.answered == it.sent);
            self.safety.check(answered, context.missed(), None);
        }
        if matches!(self.stage, Stage::Stopped(_) | Stage::Ending) {
            return;
        }
        if let Some(cause) = self.safety.cause() {
            self.stops += 1;
            self.attempt.stopped = Some((cause, context.number(), context.woken()));
            self.stage = Stage::Stopped(cause);
            self.handle.set_in_force(Some(cause), self.safety.by());
        }
    }

    fn write(&mut self, context: &mut CycleContext<'_>, step: TimeStep) {
        let stage = self.stage;
        let braking = self.safety.policy().braking.as_secs_f64();
        for runner in &mut self.runners {
            let target = runner.next(stage, step.passed);
            runner.write(context, stage, braking, target);
        }
    }

    /// Whether the axes are at rest without power, or have had the time for it.
    fn is_done(&self) -> bool {
        let rests = |it: &AxisRunner| {
            matches!(it.state(), DriveState::SwitchOnDisabled | DriveState::Fault)
        };
        let is_late =
            self.seconds >= self.safety.policy().braking.as_secs_f64() + SHUTDOWN_MARGIN_S;
        self.stage == Stage::Ending && (is_late || self.runners.iter().all(rests))
    }

    fn publish(&mut self, context: &CycleContext<'_>) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        let report = Report {
            cycle: context.number(),
            now: context.woken(),
            stage: self.stage,
            seconds: self.seconds,
            stops: self.stops,
            stopped: self.attempt.stopped,
            by: self.safety.by(),
        };
        writer.publish(&report, &self.runners);
    }
}

impl Controller for AxisGroup<'_> {
    fn beat(&mut self, context: &mut CycleContext<'_>) {
        let step = TimeStep::of(context);
        self.read(context, step);
        self.go_on(context, step);
        self.write(context, step);
        self.publish(context);
        if self.is_done() {
            context.stop();
        }
    }
}
