//! All axes together: enabled, brought to where their programs begin, played, stopped.

use crate::control::cyclic::{Controller, Moment};
use crate::wire::cia402::{DriveState, Goal};

use super::axis::{Axis, Control, Reading};
use super::pid::{Gains, Pid};
use super::program::Program;
use super::safety::{Cause, Policy, Safety, Switch};
use super::trajectory::{Limits, Point, Quintic, Trajectory};

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

/// An axis and what it is to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Player {
    axis: Axis,
    program: Program,
    limits: Limits,
    regulator: Pid,
    approach: Quintic,
    reading: Option<Reading>,
    /// Where it stands while the others are not enabled yet.
    held: Option<f64>,
    /// It left its operation by itself, and stays without power until all are enabled again.
    out: bool,
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
            axis,
            approach: Quintic::new(start, start, 0.0),
            program,
            limits,
            regulator: Pid::new(gains),
            reading: None,
            held: None,
            out: false,
            tracking: Tracking::default(),
        }
    }

    /// The axis.
    #[must_use]
    pub const fn axis(&self) -> &Axis {
        &self.axis
    }

    /// What the drive told last; `None` before the first cycle.
    #[must_use]
    pub const fn reading(&self) -> Option<Reading> {
        self.reading
    }

    /// How well it follows.
    #[must_use]
    pub const fn tracking(&self) -> Tracking {
        self.tracking
    }

    fn state(&self) -> DriveState {
        self.reading
            .map_or(DriveState::NotReadyToSwitchOn, |it| it.state())
    }

    fn position(&self) -> f64 {
        self.reading.map_or(0.0, |it| it.position)
    }

    /// What is asked so that the axis is there: in the unit of its control.
    fn target(&mut self, point: Point, dt: f64) -> f64 {
        let position = self.position();
        match self.axis.control() {
            Control::Position => point.position,
            Control::Velocity => point.velocity + self.regulator.step(point.position, position, dt),
            Control::Torque => self.regulator.step(point.position, position, dt),
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
    fn hold(&mut self, dt: f64) -> f64 {
        if self.state() != DriveState::OperationEnabled {
            return self.rest();
        }
        let position = self.position();
        let held = *self.held.get_or_insert(position);
        self.target(Point::at_rest(held), dt)
    }
}

/// What the conductor is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stage {
    /// Waits until all axes are enabled.
    Enabling,
    /// Brings them to where their programs begin; so many seconds of that have passed.
    Approaching(f64),
    /// Plays the programs; so many seconds of them have passed.
    Playing(f64),
    /// All are stopped until somebody resets that.
    Stopped(Cause),
    /// Brings all to rest, and ends the loop.
    Ending,
}

/// Plays the programs of all axes, as the loop's [`Controller`]. Neither allocates, locks nor waits.
///
/// When the loop is to end ([`Settings::farewell`](crate::control::cyclic::Settings::farewell)) it stops all
/// axes, takes their power away and ends the loop.
#[derive(Debug)]
pub struct Conductor<'s> {
    players: Vec<Player>,
    safety: Safety,
    switch: &'s Switch,
    stage: Stage,
    stops: u64,
    ends: bool,
}

impl<'s> Conductor<'s> {
    /// Conducts these axes.
    #[must_use]
    pub fn new(players: Vec<Player>, policy: Policy, switch: &'s Switch) -> Self {
        Self {
            players,
            safety: Safety::new(policy),
            switch,
            stage: Stage::Enabling,
            stops: 0,
            ends: false,
        }
    }

    /// Ends the loop when all programs are played; else the axes stay where they ended.
    #[must_use]
    pub const fn ending_when_played(mut self) -> Self {
        self.ends = true;
        self
    }

    /// The axes.
    #[must_use]
    pub fn players(&self) -> &[Player] {
        &self.players
    }

    /// What it is doing.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// How often all axes were stopped.
    #[must_use]
    pub const fn stops(&self) -> u64 {
        self.stops
    }

    /// Reads all axes; whether each is enabled.
    fn read(&mut self, moment: &Moment<'_>) -> bool {
        let mut enabled = true;
        for player in &mut self.players {
            let reading = player.axis.read(moment.inputs_of(player.axis.device()));
            player.reading = Some(reading);
            enabled &= reading.state() == DriveState::OperationEnabled;
        }
        enabled
    }

    /// What comes after what it was doing.
    fn go_on(&mut self, moment: &Moment<'_>, enabled: bool) {
        let dt = moment.step().as_secs_f64();
        let reset = self.safety.hear(self.switch);
        self.stage = match self.stage {
            Stage::Ending => Stage::Ending,
            _ if moment.is_ending() => Stage::Ending,
            Stage::Stopped(_) if reset => Stage::Enabling,
            Stage::Stopped(cause) => Stage::Stopped(cause),
            Stage::Enabling if enabled && moment.is_whole() => self.approach(),
            Stage::Approaching(seconds) if self.is_at_start(seconds) => Stage::Playing(0.0),
            Stage::Approaching(seconds) => Stage::Approaching(seconds + dt),
            Stage::Playing(seconds) if self.ends && self.is_played(seconds) => Stage::Ending,
            Stage::Playing(seconds) => Stage::Playing(seconds + dt),
            Stage::Enabling => Stage::Enabling,
        };
        self.watch(moment);
    }

    fn approach(&mut self) -> Stage {
        for player in &mut self.players {
            let from = player.held.unwrap_or_else(|| player.position());
            let to = player.program.start();
            player.out = false;
            player.approach = Quintic::between(from, to, player.limits);
        }
        Stage::Approaching(0.0)
    }

    fn is_at_start(&self, seconds: f64) -> bool {
        self.players
            .iter()
            .all(|it| seconds >= it.approach.duration())
    }

    fn is_played(&self, seconds: f64) -> bool {
        self.players
            .iter()
            .all(|it| seconds >= it.program.duration())
    }

    /// Stops all where something is wrong. Before the axes move, what is not there yet is none.
    fn watch(&mut self, moment: &Moment<'_>) {
        let moves = matches!(self.stage, Stage::Approaching(_) | Stage::Playing(_));
        let mut fault = None;
        for (number, player) in self.players.iter_mut().enumerate() {
            if moves && player.state() != DriveState::OperationEnabled {
                player.out = true;
                fault = fault.or(Some(number));
            }
        }
        let cause = if moves {
            // Where nothing was sent before, nothing is lost.
            let whole = moment.outcome().is_none_or(|it| it.is_whole());
            self.safety.look(whole, moment.overrun(), fault)
        } else {
            self.safety.cause()
        };
        if let (Some(cause), false) = (
            cause,
            matches!(self.stage, Stage::Stopped(_) | Stage::Ending),
        ) {
            self.stops += 1;
            self.stage = Stage::Stopped(cause);
        }
    }

    fn write(&mut self, moment: &mut Moment<'_>) {
        let dt = moment.step().as_secs_f64();
        let stage = self.stage;
        for player in &mut self.players {
            let state = player.state();
            let point = match stage {
                Stage::Approaching(seconds) => Some(player.approach.at(seconds)),
                Stage::Playing(seconds) => Some(player.program.at(seconds)),
                _ => None,
            };
            if let (Some(point), Stage::Playing(_), false) = (point, stage, player.out) {
                player.tracking.note(point.position - player.position());
            }
            let target = match (point, stage) {
                (Some(point), _) if !player.out => player.target(point, dt),
                (_, Stage::Enabling) => player.hold(dt),
                _ => player.rest(),
            };
            let (goal, reset) = match stage {
                Stage::Enabling => (Goal::Enabled, true),
                _ if player.out => (Goal::Disabled, false),
                Stage::Approaching(_) | Stage::Playing(_) => (Goal::Enabled, false),
                Stage::Ending if !state.has_torque() => (Goal::Disabled, false),
                Stage::Stopped(_) | Stage::Ending => (Goal::QuickStop, false),
            };
            let outputs = moment.outputs_of(player.axis.device());
            player.axis.write(outputs, state, goal, reset, target);
        }
    }
}

impl Controller for Conductor<'_> {
    fn beat(&mut self, moment: &mut Moment<'_>) {
        let enabled = self.read(moment);
        self.go_on(moment, enabled);
        self.write(moment);
        let rests =
            |it: &Player| matches!(it.state(), DriveState::SwitchOnDisabled | DriveState::Fault);
        if self.stage == Stage::Ending && self.players.iter().all(rests) {
            moment.stop();
        }
    }
}
