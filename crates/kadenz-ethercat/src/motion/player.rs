//! An axis and what it is to do.

use crate::control::cyclic::Moment;
use crate::wire::cia402::{DriveState, Goal};

use super::axis::{Axis, Control, Reading};
use super::conductor::Stage;
use super::pid::{Gains, Pid};
use super::program::Program;
use super::trajectory::{Limits, Point, Quintic, Trajectory};

/// How long the reset of a fault may take, in s: so long its bit stands.
const RESETTING: f64 = 0.5;

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
pub struct Player {
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
    asked: f64,
    tracking: Tracking,
}

impl Player {
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
            asked: 0.0,
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

    /// What it is to do.
    pub(super) const fn program(&self) -> &Program {
        &self.program
    }

    pub(super) fn read(&mut self, inputs: &[u8]) {
        self.reading = Some(self.axis.read(inputs));
    }

    pub(super) fn state(&self) -> DriveState {
        self.reading
            .map_or(DriveState::NotReadyToSwitchOn, |it| it.state())
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.state() == DriveState::OperationEnabled
    }

    /// Whether something is wrong with the drive, by its own word.
    pub(super) fn has_fault(&self) -> bool {
        matches!(
            self.state(),
            DriveState::Fault | DriveState::FaultReactionActive
        )
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

    /// It left its operation by itself.
    pub(super) const fn leave(&mut self) {
        self.out = true;
    }

    /// Forgets what was before all are enabled again.
    pub(super) const fn begin(&mut self) {
        self.out = false;
        self.reset = FaultReset::Unused;
    }

    /// Goes on with the one reset of its fault; whether that stayed, or came back.
    pub(super) fn reset_fault(&mut self, passed: f64) -> bool {
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

    /// Whether the bit of the reset stands.
    pub(super) const fn resets(&self) -> bool {
        matches!(self.reset, FaultReset::Given(_))
    }

    /// Plans the way to where its program begins.
    pub(super) fn approach(&mut self) {
        let from = self.held.unwrap_or_else(|| self.position());
        self.approach = Quintic::between(from, self.program.start(), self.limits);
    }

    pub(super) fn is_at_start(&self, seconds: f64) -> bool {
        self.out || seconds >= self.approach.duration()
    }

    /// What is asked of it now, in the unit of its control, `passed` seconds after the last.
    pub(super) fn next(&mut self, stage: Stage, passed: f64) -> f64 {
        let point = match stage {
            Stage::Approaching(seconds) if !self.out => self.approach.at(seconds),
            Stage::Playing(seconds) if !self.out => {
                let point = self.program.at(seconds);
                self.tracking.note(point.position - self.position());
                point
            }
            Stage::Enabling if !self.out => return self.hold(passed),
            _ => return self.rest(),
        };
        self.target(point, passed)
    }

    pub(super) fn write(&mut self, moment: &mut Moment<'_>, goal: Goal, reset: bool, target: f64) {
        self.asked = target;
        let outputs = moment.outputs_of(self.axis.device());
        let state = self.state();
        self.axis.write(outputs, state, goal, reset, target);
    }

    fn position(&self) -> f64 {
        self.reading.map_or(0.0, |it| it.position)
    }

    /// What is asked so that the axis is there.
    fn target(&mut self, point: Point, passed: f64) -> f64 {
        let position = self.position();
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
        self.regulator.reset();
        self.held = None;
        match self.axis.control() {
            Control::Position => self.position(),
            Control::Velocity | Control::Torque => 0.0,
        }
    }

    /// What is asked of an axis that waits for the others: to stay where it was as it was enabled.
    fn hold(&mut self, passed: f64) -> f64 {
        if !self.is_enabled() {
            return self.rest();
        }
        let position = self.position();
        let held = *self.held.get_or_insert(position);
        self.target(Point::at_rest(held), passed)
    }
}
