//! All axes together: enabled, brought to where their programs begin, played, stopped.

use kadenz_rt::clock::MonotonicTime;

use crate::control::cyclic::{Controller, Moment};
use crate::wire::cia402::{DriveState, Goal};

use super::safety::{Cause, Policy, Safety};
use super::switch::{Report, Switch, Telling};
use super::trajectory::Trajectory;

pub use super::player::{Player, Tracking};

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

impl Stage {
    const fn moves(self) -> bool {
        matches!(self, Self::Approaching(_) | Self::Playing(_))
    }
}

/// How long axes may take to come to rest before the end, in s; then their power is taken away.
const BRAKING: f64 = 1.0;
/// How long the loop goes on then for drives that do not tell that they rest, in s.
const PARTING: f64 = 0.1;

/// Time as motion has it, in s.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// What passed since the cycle before.
    passed: f64,
    /// How far trajectories go on.
    onward: f64,
}

impl Step {
    /// Of this cycle. A trajectory goes on by one interval a cycle at most: where beats were missed, the time
    /// that passed is lost to all axes alike, and none is asked to make up for it by a jump. It does not go on
    /// either behind a target whose frame did not come back; where a frame came back and a drive took no part,
    /// it does.
    fn of(moment: &Moment<'_>) -> Self {
        let interval = moment.interval().as_ns_f64() * 1e-9;
        let since = moment.elapsed().as_secs_f64();
        // A beat's jitter is not motion's.
        let passed = if (since - interval).abs() < interval / 2.0 {
            interval
        } else {
            since
        };
        let is_lost = moment.outcome().is_some_and(|it| it.answered < it.sent);
        Self {
            passed,
            onward: if is_lost { 0.0 } else { passed.min(interval) },
        }
    }
}

/// Plays the programs of all axes, as the loop's [`Controller`]. Neither allocates, locks nor waits.
///
/// When the loop is to end ([`Settings::farewell`](crate::control::cyclic::Settings::farewell)), or the
/// [`Switch`] says so, it stops all axes, takes their power away and ends the loop, after little more than a
/// second at the latest.
#[derive(Debug)]
pub struct Conductor<'s> {
    players: Vec<Player>,
    safety: Safety,
    switch: &'s Switch,
    telling: Option<Telling<'s>>,
    stage: Stage,
    /// For so many seconds.
    seconds: f64,
    /// Seconds of whole cycles in which not all were enabled.
    waited: f64,
    stops: u64,
    stopped: Option<(Cause, u64, MonotonicTime)>,
    ends: bool,
}

impl<'s> Conductor<'s> {
    /// Conducts these axes. What they do is told by the switch, where no other conductor has it. Allocates.
    #[must_use]
    pub fn new(players: Vec<Player>, policy: Policy, switch: &'s Switch) -> Self {
        Self {
            telling: switch.seat(&players),
            players,
            safety: Safety::new(policy),
            switch,
            stage: Stage::Enabling,
            seconds: 0.0,
            waited: 0.0,
            stops: 0,
            stopped: None,
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

    /// Reads all axes.
    fn read(&mut self, moment: &Moment<'_>) {
        for player in &mut self.players {
            player.read(moment.inputs_of(player.axis().device()));
        }
    }

    /// What comes after what it was doing.
    fn go_on(&mut self, moment: &Moment<'_>, step: Step) {
        let before = self.stage;
        let reset = self.safety.hear(self.switch);
        self.stage = match before {
            Stage::Ending => Stage::Ending,
            _ if moment.is_ending() || self.switch.ends() => Stage::Ending,
            Stage::Stopped(_) if reset => self.begin(),
            Stage::Stopped(cause) => Stage::Stopped(cause),
            Stage::Enabling => self.enable(moment, step),
            Stage::Approaching(seconds) if self.is_at_start(seconds) => Stage::Playing(0.0),
            Stage::Approaching(seconds) => Stage::Approaching(seconds + step.onward),
            Stage::Playing(seconds) if self.ends && self.is_played(seconds) => Stage::Ending,
            Stage::Playing(seconds) => Stage::Playing(seconds + step.onward),
        };
        self.watch(moment);
        let is_same = std::mem::discriminant(&self.stage) == std::mem::discriminant(&before);
        self.seconds = if is_same {
            self.seconds + step.passed
        } else {
            0.0
        };
    }

    /// Everything anew, with one reset for each fault.
    fn begin(&mut self) -> Stage {
        self.stopped = None;
        self.waited = 0.0;
        self.switch.set_in_force(None, 0);
        for player in &mut self.players {
            player.begin();
        }
        Stage::Enabling
    }

    /// Waits for all; for those that answer up to a limit. What a device told before it was gone is no reason
    /// to do anything, and its return is the steward's.
    fn enable(&mut self, moment: &Moment<'_>, step: Step) -> Stage {
        if !moment.is_whole() {
            return Stage::Enabling;
        }
        self.waited += step.passed;
        self.reset_faults(step);
        let waits = |it: &Player| !it.is_out() && !it.is_enabled();
        let late = self.players.iter().position(waits);
        match late {
            None if self.safety.cause().is_none() => self.approach(),
            Some(axis) if self.waited > self.safety.policy().enabling.as_secs_f64() => {
                let reading = self.players[axis].reading();
                let status = reading.map_or(0, |it| it.status.0);
                self.safety.stop(Cause::NotEnabled { axis, status });
                Stage::Enabling
            }
            _ => Stage::Enabling,
        }
    }

    fn reset_faults(&mut self, step: Step) {
        for (axis, player) in self.players.iter_mut().enumerate() {
            if player.is_out() || !player.reset_fault(step.passed) {
                continue;
            }
            if self.safety.policy().stop_on_fault {
                let code = player.error_code();
                self.safety.stop(Cause::Fault { axis, code });
            } else {
                player.leave();
            }
        }
    }

    fn approach(&mut self) -> Stage {
        for player in &mut self.players {
            player.approach();
        }
        Stage::Approaching(0.0)
    }

    fn is_at_start(&self, seconds: f64) -> bool {
        self.players.iter().all(|it| it.is_at_start(seconds))
    }

    fn is_played(&self, seconds: f64) -> bool {
        let is_over = |it: &Player| seconds >= it.program().duration();
        self.players.iter().all(is_over)
    }

    /// Stops all where something is wrong. Before the axes move, what is not there yet is none.
    fn watch(&mut self, moment: &Moment<'_>) {
        if self.stage.moves() {
            let mut fault = None;
            for (axis, player) in self.players.iter_mut().enumerate() {
                if !player.is_enabled() {
                    player.leave();
                    let code = player.error_code();
                    fault = fault.or(Some(Cause::Fault { axis, code }));
                }
            }
            // Where nothing was sent before, nothing is lost.
            let whole = moment.outcome().is_none_or(|it| it.is_whole());
            self.safety.look(whole, moment.missed(), fault);
        }
        if matches!(self.stage, Stage::Stopped(_) | Stage::Ending) {
            return;
        }
        if let Some(cause) = self.safety.cause() {
            self.stops += 1;
            self.stopped = Some((cause, moment.number(), moment.woken()));
            self.stage = Stage::Stopped(cause);
            self.switch.set_in_force(Some(cause), self.safety.by());
        }
    }

    fn write(&mut self, moment: &mut Moment<'_>, step: Step) {
        let stage = self.stage;
        let brakes = self.seconds < BRAKING;
        for player in &mut self.players {
            let target = player.next(stage, step.passed);
            let (goal, reset) = match stage {
                _ if player.is_out() => (Goal::Disabled, false),
                Stage::Enabling => (Goal::Enabled, player.resets()),
                Stage::Approaching(_) | Stage::Playing(_) => (Goal::Enabled, false),
                Stage::Ending if !(brakes && player.state().has_torque()) => {
                    (Goal::Disabled, false)
                }
                Stage::Stopped(_) | Stage::Ending => (Goal::QuickStop, false),
            };
            player.write(moment, goal, reset, target);
        }
    }

    /// Whether everything is done that can be.
    fn is_over(&self) -> bool {
        let rests =
            |it: &Player| matches!(it.state(), DriveState::SwitchOnDisabled | DriveState::Fault);
        let is_late = self.seconds >= BRAKING + PARTING;
        self.stage == Stage::Ending && (is_late || self.players.iter().all(rests))
    }

    fn tell(&mut self, moment: &Moment<'_>) {
        let Some(telling) = &mut self.telling else {
            return;
        };
        let report = Report {
            cycle: moment.number(),
            now: moment.woken(),
            stage: self.stage,
            seconds: self.seconds,
            stops: self.stops,
            stopped: self.stopped,
            by: self.safety.by(),
        };
        telling.tell(&report, &self.players);
    }
}

impl Controller for Conductor<'_> {
    fn beat(&mut self, moment: &mut Moment<'_>) {
        let step = Step::of(moment);
        self.read(moment);
        self.go_on(moment, step);
        self.write(moment, step);
        self.tell(moment);
        if self.is_over() {
            moment.stop();
        }
    }
}
