//! An axis with its program.

use crate::control::cyclic::CycleContext;
use crate::wire::cia402::{DriveState, Goal};

use super::axis::{Axis, Control, Reading};
use super::braking::{Braking, still};
use super::pid::{Gains, Pid};
use super::program::Program;
use super::stage::Stage;
use super::trajectory::{Limits, Point, Quintic, Trajectory};

/// How long the reset of a fault may take, in s; its bit is set as long.
const RESETTING: f64 = 0.5;
/// How long a drive may take to be enabled from its quick stop, in s: that is optional (transition 16).
const LEAVING_QUICK_STOP: f64 = 0.5;
/// For how many cycles in a row all axes wait for an axis that does not receive its target.
pub(super) const MAX_MISSED_TARGETS: u32 = 10;

/// The tracking error of an axis.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tracking {
    /// Cycles that count: those in which the axis played its program.
    pub cycles: u64,
    /// The greatest distance in rad.
    pub greatest: f64,
    /// Sum of the distances' squares in rad2.
    squares: f64,
}

impl Tracking {
    fn note(&mut self, distance: f64) {
        self.cycles += 1;
        self.greatest = self.greatest.max(distance.abs());
        self.squares += distance * distance;
    }

    /// Root mean square of the distance in rad; 0 without cycles.
    #[must_use]
    pub fn root_mean_square(&self) -> f64 {
        (self.squares / self.cycles.max(1) as f64).sqrt()
    }
}

/// The one reset of a fault that a drive gets each time that all axes are enabled.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FaultReset {
    /// There was no fault.
    Unused,
    /// The bit is set, for so many seconds so far.
    Given(f64),
    /// The fault is over.
    Done,
}

/// An axis with its program.
///
/// # Real-time safety
/// [`AxisRunner::new`] and [`AxisRunner::named`] allocate, nothing else does. No method locks or waits.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisRunner {
    axis: Axis,
    name: String,
    program: Program,
    limits: Limits,
    regulator: Pid,
    approach: Quintic,
    reading: Option<Reading>,
    /// Whether the outputs that it does not write have their values.
    is_preset: bool,
    /// The position that it holds while the others are not enabled yet.
    held: Option<f64>,
    /// Whether it left operation by itself; it then stays without power until all axes are enabled again.
    out: bool,
    reset: FaultReset,
    /// For how many seconds its drive has stayed in its quick stop though it was to be enabled.
    in_quick_stop: f64,
    braking: Braking,
    /// Whether its drive is in OP, and so reads its outputs.
    operates: bool,
    /// Whether its inputs are new, and it received the last target.
    received_target: bool,
    /// Cycles in a row in which neither was so.
    missed_targets: u32,
    /// How far it is behind the others, in s, which went on while it received no targets.
    behind: f64,
    asked: f64,
    /// The time since the regulator's last step, in s.
    since: f64,
    tracking: Tracking,
}

impl AxisRunner {
    /// Creates an axis that goes to the start of its program within limits, and then plays it.
    ///
    /// With [`Control::Velocity`] the regulator's output (rad/s) is added to the program's velocity; with
    /// [`Control::Torque`] it is the torque (N m). With [`Control::Position`] it is not used.
    #[must_use]
    pub fn new(axis: Axis, program: Program, limits: Limits, gains: Gains) -> Self {
        let start = Point::at_rest(program.start());
        Self {
            name: format!("device {}", axis.device()),
            axis,
            approach: Quintic::new(start, start, 0.0),
            program,
            limits,
            regulator: Pid::new(gains),
            reading: None,
            is_preset: false,
            held: None,
            out: false,
            reset: FaultReset::Unused,
            in_quick_stop: 0.0,
            braking: Braking::default(),
            operates: false,
            received_target: false,
            missed_targets: 0,
            behind: 0.0,
            asked: 0.0,
            since: 0.0,
            tracking: Tracking::default(),
        }
    }

    /// The same with a name; the default is its device's position.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The drive of the axis, with its units and process data.
    #[must_use]
    pub const fn axis(&self) -> &Axis {
        &self.axis
    }

    /// The name by which reports call the axis.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The last inputs of the drive; `None` before the first cycle.
    #[must_use]
    pub const fn reading(&self) -> Option<Reading> {
        self.reading
    }

    /// The last set-point of the drive, in the unit of its control.
    #[must_use]
    pub const fn asked(&self) -> f64 {
        self.asked
    }

    /// How far the axis strayed from its program so far.
    #[must_use]
    pub const fn tracking(&self) -> Tracking {
        self.tracking
    }

    /// Takes its drive's inputs, so many seconds after the last ones. `took_part`: whether they are new; `None` where
    /// no frame was sent before.
    pub(super) fn read(&mut self, inputs: &[u8], took_part: Option<bool>, passed: f64) {
        let reading = self.axis.read(inputs);
        self.reading = Some(reading);
        self.received_target = took_part.unwrap_or(true);
        self.missed_targets = if self.received_target {
            0
        } else {
            self.missed_targets.saturating_add(1)
        };
        if took_part == Some(true) {
            let still = still(self.axis.scale().increments);
            self.braking
                .update(reading.state(), reading.position, still, passed);
        } else {
            self.braking.wait(passed);
        }
    }

    /// Sets whether its drive is in OP.
    pub(super) const fn set_operates(&mut self, operates: bool) {
        self.operates = operates;
    }

    /// Whether its drive is not in OP yet.
    pub(super) const fn starts(&self) -> bool {
        !self.operates && !self.out
    }

    /// Whether it received the last target.
    pub(super) const fn received_target(&self) -> bool {
        self.received_target
    }

    pub(super) fn state(&self) -> DriveState {
        self.reading
            .map_or(DriveState::NotReadyToSwitchOn, |it| it.state())
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.state() == DriveState::OperationEnabled
    }

    /// Whether it is enabled, and has been at rest before.
    pub(super) fn is_ready(&self) -> bool {
        self.is_enabled() && self.braking.rests()
    }

    /// Whether it is held in place until the others are enabled.
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some() && self.is_ready()
    }

    /// Whether it still brakes before it is enabled, and has time left of so many seconds.
    pub(super) fn brakes(&self, most: f64) -> bool {
        !self.braking.rests() && self.braking.may(most)
    }

    /// Whether the drive reports a fault.
    pub(super) fn has_fault(&self) -> bool {
        self.state().is_fault()
    }

    /// The error code of a fault, where the process data contains it.
    pub(super) fn error_code(&self) -> Option<u16> {
        let code = self.reading.and_then(|it| it.error_code);
        code.filter(|it| *it != 0 && self.has_fault())
    }

    /// Whether it stays without power while others go on.
    pub(super) const fn is_out(&self) -> bool {
        self.out
    }

    /// Marks it as having left operation by itself; it comes to rest, and the group no longer waits for it.
    pub(super) fn leave(&mut self) {
        if !self.out {
            self.out = true;
            self.behind = 0.0;
            self.braking = Braking::default();
        }
    }

    /// Resets its state before all axes are enabled again; it comes to rest first.
    pub(super) fn begin(&mut self) {
        self.out = false;
        self.reset = FaultReset::Unused;
        self.braking = Braking::default();
    }

    /// Lets it come to rest at the end.
    pub(super) fn end(&mut self) {
        if !self.out {
            self.braking = Braking::default();
        }
    }

    /// Continues the one reset of its fault; returns whether the fault stayed, or came back. A drive that is not in
    /// OP does not see the reset, which then waits until it is.
    pub(super) fn reset_fault(&mut self, passed: f64) -> bool {
        if !self.operates {
            if self.resets() {
                self.reset = FaultReset::Unused;
            }
            return false;
        }
        let is_fault = self.state() == DriveState::Fault;
        let (reset, failed) = match self.reset {
            FaultReset::Unused if is_fault => (FaultReset::Given(0.0), false),
            FaultReset::Given(_) if !is_fault => (FaultReset::Done, false),
            FaultReset::Given(seconds) => {
                let seconds = seconds + passed;
                (FaultReset::Given(seconds), seconds > RESETTING)
            }
            same @ (FaultReset::Unused | FaultReset::Done) => (same, is_fault),
        };
        self.reset = reset;
        failed
    }

    /// Whether its fault is being reset.
    const fn resets(&self) -> bool {
        matches!(self.reset, FaultReset::Given(_))
    }

    /// Plans the way to the start of its program.
    pub(super) fn approach(&mut self) {
        let from = self.held.unwrap_or_else(|| self.position());
        self.approach = Quintic::between(from, self.program.start(), self.limits);
        self.behind = 0.0;
    }

    pub(super) const fn play(&mut self) {
        self.behind = 0.0;
    }

    /// Lets it fall behind, while the others go on by so many seconds.
    pub(super) fn fall_behind(&mut self, seconds: f64) {
        self.behind += seconds;
    }

    pub(super) fn is_at_start(&self, seconds: f64) -> bool {
        self.out || seconds - self.behind >= self.approach.duration()
    }

    /// Whether its program is over. The group does not wait for an axis that has received no targets for long, since
    /// its drive may be lost.
    pub(super) fn is_played(&self, seconds: f64) -> bool {
        let behind = match self.missed_targets > MAX_MISSED_TARGETS {
            true => 0.0,
            false => self.behind,
        };
        seconds - behind >= self.program.duration()
    }

    /// Returns its set-point, in the unit of its control, `passed` seconds after the last.
    pub(super) fn next(&mut self, stage: Stage, passed: f64) -> f64 {
        self.since += passed;
        self.count_quick_stop(stage, passed);
        let point = match stage {
            _ if self.out => return self.rest(),
            Stage::Approaching(_) | Stage::Playing(_) if !self.received_target => {
                return self.repeat();
            }
            Stage::Approaching(seconds) => self.approach.at(seconds - self.behind),
            Stage::Playing(seconds) => {
                let point = self.program.at(seconds - self.behind);
                self.tracking.note(point.position - self.position());
                point
            }
            // An enabled axis holds its position until all are enabled.
            Stage::Enabling if self.is_ready() && self.received_target => {
                let position = self.position();
                Point::at_rest(*self.held.get_or_insert(position))
            }
            Stage::Enabling if self.is_held() => return self.repeat(),
            _ => return self.rest(),
        };
        self.target(point)
    }

    fn count_quick_stop(&mut self, stage: Stage, passed: f64) {
        let is_enabling = stage == Stage::Enabling && self.operates && self.braking.rests();
        if !is_enabling || self.state() != DriveState::QuickStopActive {
            self.in_quick_stop = 0.0;
        } else if self.received_target {
            self.in_quick_stop += passed;
        }
    }

    /// Returns the goal of its drive, which may brake for `most` seconds.
    fn goal(&self, stage: Stage, most: f64) -> Goal {
        let state = self.state();
        match stage {
            _ if self.out => self.braking.goal(state, most),
            Stage::Ending => self.braking.goal(state, most),
            Stage::Enabling if !self.braking.rests() => self.braking.goal(state, most),
            // It is enabled by way of no power then.
            Stage::Enabling if self.in_quick_stop > LEAVING_QUICK_STOP => Goal::Disabled,
            // The drive does not read its outputs yet; the command to enable must be new to it later.
            Stage::Enabling if !self.operates && !state.has_torque() => Goal::Disabled,
            Stage::Enabling | Stage::Approaching(_) | Stage::Playing(_) => Goal::Enabled,
            Stage::Stopped(_) => Goal::QuickStop,
        }
    }

    /// Writes its target, and the controlword that brings its drive nearer to its goal.
    pub(super) fn write(
        &mut self,
        context: &mut CycleContext<'_>,
        stage: Stage,
        most: f64,
        target: f64,
    ) {
        self.asked = target;
        let goal = self.goal(stage, most);
        let is_enabling = stage == Stage::Enabling && self.operates && !self.out;
        let reset = is_enabling && self.resets();
        let outputs = context.outputs_of(self.axis.device());
        let state = self.state();
        if !std::mem::replace(&mut self.is_preset, true) {
            self.axis.preset(outputs);
        }
        self.axis.write(outputs, state, goal, reset, target);
    }

    fn position(&self) -> f64 {
        self.reading.map_or(0.0, |it| it.position)
    }

    /// The set-point that brings the axis to a point.
    fn target(&mut self, point: Point) -> f64 {
        let position = self.position();
        let passed = std::mem::take(&mut self.since);
        match self.axis.control() {
            Control::Position => point.position,
            Control::Velocity => {
                point.velocity + self.regulator.step(point.position, position, passed)
            }
            Control::Torque => self.regulator.step(point.position, position, passed),
        }
    }

    /// The set-point of an axis that has no power, or is to lose it.
    fn rest(&mut self) -> f64 {
        self.forget();
        self.held = None;
        match self.axis.control() {
            Control::Position => self.position(),
            Control::Velocity | Control::Torque => 0.0,
        }
    }

    /// The set-point of an axis that may not have received the last one, and whose inputs are not new: the same
    /// again. A velocity or a torque is not repeated for long.
    fn repeat(&mut self) -> f64 {
        match self.axis.control() {
            Control::Velocity | Control::Torque if self.missed_targets > MAX_MISSED_TARGETS => {
                self.forget();
                0.0
            }
            _ => self.asked,
        }
    }

    /// Resets the regulator.
    fn forget(&mut self) {
        self.regulator.reset();
        self.since = 0.0;
    }
}
