//! How an axis comes to rest, and the detection of its rest.

use crate::wire::cia402::{DriveState, Goal};

/// An axis is at rest when it does not leave so small a range, in rad,
const STILL: f64 = 0.002;
/// or this many units of its drive's position,
const STILL_UNITS: f64 = 2.0;
/// for so long, in s.
const STANDSTILL_S: f64 = 0.05;

/// The range of an axis at rest, in rad, for a drive with so many units a turn.
pub(super) fn still(increments: f64) -> f64 {
    STILL.max(STILL_UNITS * std::f64::consts::TAU / increments.abs())
}

/// An axis on its way to rest.
///
/// # Real-time safety
/// Real-time safe.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Braking {
    /// Seconds since it began to brake.
    seconds: f64,
    /// The place that it last moved to, and for how many seconds it has stayed there.
    place: Option<(f64, f64)>,
    rests: bool,
}

impl Braking {
    /// Advances by a cycle in which the drive reported that state and position.
    pub(super) fn update(&mut self, state: DriveState, position: f64, still: f64, passed: f64) {
        self.wait(passed);
        let (place, since) = match self.place {
            Some((place, since)) if (position - place).abs() <= still => (place, since + passed),
            _ => (position, 0.0),
        };
        self.place = Some((place, since));
        self.rests |= !state.has_torque() || since >= STANDSTILL_S;
    }

    /// Advances by a cycle in which the drive reported nothing.
    pub(super) fn wait(&mut self, passed: f64) {
        self.seconds += passed;
    }

    /// Whether it was at rest, or without torque, since it began to brake.
    pub(super) const fn rests(&self) -> bool {
        self.rests
    }

    /// Whether it has time left, of so many seconds.
    pub(super) fn may(&self, most: f64) -> bool {
        self.seconds < most
    }

    /// The goal that brings a drive in that state to rest: a quick stop for so many seconds, and then no power.
    pub(super) fn goal(&self, state: DriveState, most: f64) -> Goal {
        if state.has_torque() && self.may(most) {
            Goal::QuickStop
        } else {
            Goal::Disabled
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 0.001;

    /// Cycles of a millisecond until it rests, along that way; at most a thousand.
    fn until_rest(state: DriveState, position_at: impl Fn(f64) -> f64) -> Option<usize> {
        let mut braking = Braking::default();
        (1..=1000).find(|cycle| {
            braking.update(state, position_at(*cycle as f64 * MS), still(1e6), MS);
            braking.rests()
        })
    }

    #[test]
    fn an_axis_rests_that_stays_where_it_is_or_has_no_torque() {
        let quick_stop = DriveState::QuickStopActive;
        assert_eq!(until_rest(quick_stop, |_| 1.0), Some(51));
        assert_eq!(until_rest(quick_stop, |seconds| seconds * 0.1), None);
        let ramp = |seconds: f64| {
            let left = (0.4 - seconds).max(0.0);
            -left * left * 2.5
        };
        let rests = until_rest(quick_stop, ramp).unwrap();
        assert!((400..460).contains(&rests), "{rests}");
        let disabled = DriveState::SwitchOnDisabled;
        assert_eq!(until_rest(disabled, |seconds| seconds), Some(1));
    }

    #[test]
    fn an_encoder_of_few_increments_stands_also_between_two_of_them() {
        let increment = std::f64::consts::TAU / 1000.0;
        let mut braking = Braking::default();
        for cycle in 0..60 {
            let position = f64::from(cycle % 2) * increment;
            braking.update(DriveState::QuickStopActive, position, still(-1000.0), MS);
        }
        assert!(braking.rests());
    }

    #[test]
    fn a_drive_brakes_for_so_long_and_loses_its_power_then() {
        let mut braking = Braking::default();
        for _ in 0..3 {
            let goal = braking.goal(DriveState::QuickStopActive, 0.0025);
            assert_eq!(goal, Goal::QuickStop);
            braking.wait(MS);
        }
        let goal = braking.goal(DriveState::QuickStopActive, 0.0025);
        assert_eq!(goal, Goal::Disabled);
        let fresh = Braking::default();
        let goal = fresh.goal(DriveState::SwitchOnDisabled, 1.0);
        assert_eq!(goal, Goal::Disabled, "there is nothing to brake");
    }
}
