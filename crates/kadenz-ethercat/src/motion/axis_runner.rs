//! An axis and what it is to do.

use crate::control::cyclic::CycleContext;
use crate::wire::cia402::{DriveState, Goal};

use super::axis::{Axis, Control, Reading};
use super::braking::{Braking, still};
use super::pid::{Gains, Pid};
use super::program::Program;
use super::stage::Stage;
use super::trajectory::{Limits, Point, Quintic, Trajectory};

/// How long the reset of a fault may take, in s: so long its bit stands.
const RESETTING: f64 = 0.5;
/// For so many cycles in a row all wait for an axis that does not hear what it is asked.
pub(super) const WAITED_FOR: u32 = 10;

/// How far an axis was from where it should have been.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tracking {
    /// Cycles that count: those in which the program was played.
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

/// The one reset of a fault that a drive is given each time that all are enabled.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FaultReset {
    /// There was no fault.
    Unused,
    /// Its bit stands, for so many seconds.
    Given(f64),
    /// The fault was gone.
    Done,
}

/// An axis and what it is to do.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisRunner {
    axis: Axis,
    name: String,
    program: Program,
    limits: Limits,
    regulator: Pid,
    approach: Quintic,
    reading: Option<Reading>,
    /// Where it stands while the others are not enabled yet.
    held: Option<f64>,
    /// It left its operation by itself, and stays without power until all are enabled again.
    out: bool,
    reset: FaultReset,
    braking: Braking,
    /// Its drive is in OP: it looks at its outputs.
    operates: bool,
    /// Whether what it tells is new, and what it was asked last has reached it.
    heard: bool,
    /// Cycles in a row in which that was not so.
    unheard: u32,
    /// How far it is behind the others, in s, who went on while it did not hear.
    behind: f64,
    asked: f64,
    /// What passed since the regulator's last step, in s.
    since: f64,
    tracking: Tracking,
}

impl AxisRunner {
    /// An axis that goes to where its program begins within limits, and then plays it.
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
            held: None,
            out: false,
            reset: FaultReset::Unused,
            braking: Braking::default(),
            operates: false,
            heard: false,
            unheard: 0,
            behind: 0.0,
            asked: 0.0,
            since: 0.0,
            tracking: Tracking::default(),
        }
    }

    /// The same with a name; without, it is that of its device's position.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The axis.
    #[must_use]
    pub const fn axis(&self) -> &Axis {
        &self.axis
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the drive told last; `None` before the first cycle.
    #[must_use]
    pub const fn reading(&self) -> Option<Reading> {
        self.reading
    }

    /// What was asked of the drive last, in the unit of its control.
    #[must_use]
    pub const fn asked(&self) -> f64 {
        self.asked
    }

    /// How well it follows.
    #[must_use]
    pub const fn tracking(&self) -> Tracking {
        self.tracking
    }

    /// Takes in what its drive tells, so many seconds after the last time. `took_part`: whether that is new;
    /// `None` where nothing was sent before.
    pub(super) fn read(&mut self, inputs: &[u8], took_part: Option<bool>, passed: f64) {
        let reading = self.axis.read(inputs);
        self.reading = Some(reading);
        self.heard = took_part.unwrap_or(true);
        self.unheard = if self.heard {
            0
        } else {
            self.unheard.saturating_add(1)
        };
        if took_part == Some(true) {
            let still = still(self.axis.scale().increments);
            self.braking
                .look(reading.state(), reading.position, still, passed);
        } else {
            self.braking.wait(passed);
        }
    }

    /// Whether its drive is in OP.
    pub(super) const fn set_operates(&mut self, operates: bool) {
        self.operates = operates;
    }

    /// Whether its drive is not in OP yet.
    pub(super) const fn starts(&self) -> bool {
        !self.operates && !self.out
    }

    /// Whether what it was asked last has reached it.
    pub(super) const fn is_heard(&self) -> bool {
        self.heard
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

    /// Whether it still comes to rest before it is enabled, and has the time to: so many seconds.
    pub(super) fn brakes(&self, most: f64) -> bool {
        !self.braking.rests() && self.braking.may(most)
    }

    /// Whether something is wrong with the drive, by its own word.
    pub(super) fn has_fault(&self) -> bool {
        self.state().is_fault()
    }

    /// The error code of a fault, where the process data tells it.
    pub(super) fn error_code(&self) -> Option<u16> {
        let code = self.reading.and_then(|it| it.error_code);
        code.filter(|it| *it != 0 && self.has_fault())
    }

    /// Whether it stays without power while others go on.
    pub(super) const fn is_out(&self) -> bool {
        self.out
    }

    /// It left its operation by itself, and comes to rest. Nobody waits for it any more.
    pub(super) fn leave(&mut self) {
        if !self.out {
            self.out = true;
            self.behind = 0.0;
            self.braking = Braking::default();
        }
    }

    /// Forgets what was before all are enabled again, and comes to rest before.
    pub(super) fn begin(&mut self) {
        self.out = false;
        self.reset = FaultReset::Unused;
        self.braking = Braking::default();
    }

    /// Comes to rest at the end.
    pub(super) fn end(&mut self) {
        if !self.out {
            self.braking = Braking::default();
        }
    }

    /// Goes on with the one reset of its fault; whether that stayed, or came back. A drive that is not in OP does
    /// not see it: it is given when it is.
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

    /// Plans the way to where its program begins.
    pub(super) fn approach(&mut self) {
        let from = self.held.unwrap_or_else(|| self.position());
        self.approach = Quintic::between(from, self.program.start(), self.limits);
        self.behind = 0.0;
    }

    /// Begins its program.
    pub(super) const fn play(&mut self) {
        self.behind = 0.0;
    }

    /// Stands still while the others go on by so many seconds.
    pub(super) fn fall_behind(&mut self, seconds: f64) {
        self.behind += seconds;
    }

    pub(super) fn is_at_start(&self, seconds: f64) -> bool {
        self.out || seconds - self.behind >= self.approach.duration()
    }

    /// Whether its program is over. One that has not been heard for long may be gone for good: nobody waits for
    /// what it still had to do.
    pub(super) fn is_played(&self, seconds: f64) -> bool {
        let behind = match self.unheard > WAITED_FOR {
            true => 0.0,
            false => self.behind,
        };
        seconds - behind >= self.program.duration()
    }

    /// What is asked of it now, in the unit of its control, `passed` seconds after the last.
    pub(super) fn next(&mut self, stage: Stage, passed: f64) -> f64 {
        self.since += passed;
        let point = match stage {
            _ if self.out => return self.rest(),
            Stage::Approaching(_) | Stage::Playing(_) if !self.heard => return self.repeat(),
            Stage::Approaching(seconds) => self.approach.at(seconds - self.behind),
            Stage::Playing(seconds) => {
                let point = self.program.at(seconds - self.behind);
                self.tracking.note(point.position - self.position());
                point
            }
            // Until all are, who is enabled stays where it was then.
            Stage::Enabling if self.is_ready() && self.heard => {
                let position = self.position();
                Point::at_rest(*self.held.get_or_insert(position))
            }
            Stage::Enabling if self.is_held() => return self.repeat(),
            _ => return self.rest(),
        };
        self.target(point)
    }

    /// Where its drive is to go; it may brake for `most` seconds.
    fn goal(&self, stage: Stage, most: f64) -> Goal {
        let state = self.state();
        match stage {
            _ if self.out => self.braking.goal(state, most),
            Stage::Ending => self.braking.goal(state, most),
            Stage::Enabling if !self.braking.rests() => self.braking.goal(state, most),
            // It does not look yet; what it shall obey must be new to it then.
            Stage::Enabling if !self.operates && !state.has_torque() => Goal::Disabled,
            Stage::Enabling | Stage::Approaching(_) | Stage::Playing(_) => Goal::Enabled,
            Stage::Stopped(_) => Goal::QuickStop,
        }
    }

    /// Writes what brings its drive nearer to where it is to go, and the target.
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
        self.axis.write(outputs, state, goal, reset, target);
    }

    fn position(&self) -> f64 {
        self.reading.map_or(0.0, |it| it.position)
    }

    /// What is asked so that the axis is there.
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

    /// What is asked of an axis that has no power, or is to lose it.
    fn rest(&mut self) -> f64 {
        self.forget();
        self.held = None;
        match self.axis.control() {
            Control::Position => self.position(),
            Control::Velocity | Control::Torque => 0.0,
        }
    }

    /// What is asked of an axis that may not have heard what it was asked last, and of which nothing new is
    /// known: the same again. A velocity or a torque is not asked so for long.
    fn repeat(&mut self) -> f64 {
        match self.axis.control() {
            Control::Velocity | Control::Torque if self.unheard > WAITED_FOR => {
                self.forget();
                0.0
            }
            _ => self.asked,
        }
    }

    /// Lets the regulator begin anew.
    fn forget(&mut self) {
        self.regulator.reset();
        self.since = 0.0;
    }
}
