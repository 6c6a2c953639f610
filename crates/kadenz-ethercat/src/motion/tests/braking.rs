//! How axes come to rest: by themselves, before a reset takes effect, at the end.

use std::sync::atomic::Ordering;

use super::models::{OwnWill, drive, willed, without_transition_16};
use super::*;
use crate::motion::program::{Program, ProgramPiece};
use crate::motion::trajectory::{Limits, Quintic};
use crate::sim::Model;
use crate::sim::model::drive::{Motor, Parameters};

/// Cycles until the joints move at 1 rad/s, their fastest.
const FAST: u64 = 2_800;

/// Two joints on a long way, the first with commands of its own. Their quick stops brake by so many rad/s2, and end
/// as object 0x605A says.
fn bench(will: &OwnWill, deceleration: f64, option: u8) -> Bench {
    bench_of(willed(will), deceleration, option)
}

/// The same with another first drive.
fn bench_of(first: Model, deceleration: f64, option: u8) -> Bench {
    let models = [first, drive(Parameters::default(), &[])];
    let segment = Segment::line(models, 1).unwrap();
    let counts = Motor::elbow().counts(deceleration).round() as u32;
    let prepare = |registers: &mut Registers<'_>, devices: &mut [SubDevice]| {
        for device in devices {
            let ramp = counts.to_le_bytes();
            write_object(registers, device, object::QUICK_STOP_DECELERATION, &ramp);
            write_object(registers, device, object::QUICK_STOP_OPTION, &[option, 0]);
        }
    };
    let far = |plan: &mut Plan| {
        let limits = Limits {
            velocity: 1.0,
            acceleration: 2.0,
        };
        for axis in &mut plan.axes {
            let there = ProgramPiece::Quintic(Quintic::between(0.0, 3.0, limits));
            axis.program = Program::new(0.0, vec![there], false);
        }
    };
    let mut bench = Bench::of(segment, prepare, far).unwrap();
    bench.watched = 0;
    bench
}

impl Bench {
    /// Plays until the joints are fast; records only what follows.
    fn go_fast(&mut self, group: &mut AxisGroup<'_>) {
        self.play(FAST, group, |_, _| ());
        assert!(is_moving(group.stage()), "{:?}", group.stage());
        let velocity = self.seen.last().unwrap().reading.velocity.unwrap();
        assert!((velocity - 1.0).abs() < 0.05, "{velocity}");
        self.seen.clear();
    }

    /// Cycles of the watched axis in its quick stop.
    fn braking(&self) -> Vec<Seen> {
        let all = self.seen.iter().copied();
        all.filter(|it| it.is(DriveState::QuickStopActive))
            .collect()
    }

    /// How many of them had a controlword that kept the power on.
    fn with_power(&self) -> usize {
        let braking = self.braking();
        let with_power = braking
            .iter()
            .filter(|it| it.word == Controlword::QUICK_STOP);
        with_power.count()
    }
}

/// A policy under which axes may brake for so long.
fn braking_for(span: Duration) -> Policy {
    Policy {
        braking: span,
        ..Policy::default()
    }
}

#[test]
fn an_axis_that_brakes_by_itself_keeps_its_power_until_it_rests() {
    for stop_on_fault in [true, false] {
        let will = OwnWill::default();
        let mut bench = bench(&will, 2.0, 2);
        let policy = Policy {
            stop_on_fault,
            ..Policy::default()
        };
        let handle = MotionHandle::default();
        let mut group = AxisGroup::new(bench.runners.clone(), policy, &handle);
        bench.go_fast(&mut group);
        will.store(0x0002, Ordering::Relaxed);
        bench.play(1_000, &mut group, |_, _| ());
        let cause = Cause::Fault {
            axis: 0,
            code: None,
        };
        match stop_on_fault {
            true => assert_eq!(group.stage(), Stage::Stopped(cause)),
            false => assert!(is_moving(group.stage()), "{:?}", group.stage()),
        }
        let braking = bench.braking();
        // By its ramp: friction would take a tenth of a second.
        assert!((450..560).contains(&braking.len()), "{}", braking.len());
        let half = braking[braking.len() / 2].reading.velocity.unwrap();
        assert!((half - 0.5).abs() < 0.1, "{half}");
        for seen in &braking {
            assert_eq!(seen.word, Controlword::QUICK_STOP, "{seen:?}");
        }
        let last = bench.seen.last().unwrap();
        assert!(last.is(DriveState::SwitchOnDisabled), "{last:?}");
        assert!(group.runners()[0].is_out());
    }
}

#[test]
fn one_that_stays_in_its_own_quick_stop_loses_its_power_after_the_time_to_brake() {
    let will = OwnWill::default();
    let mut bench = bench(&will, 0.2, 6);
    let policy = braking_for(Duration::from_millis(300));
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), policy, &handle);
    bench.go_fast(&mut group);
    will.store(0x0002, Ordering::Relaxed);
    bench.play(1_000, &mut group, |_, _| ());
    let with_power = bench.with_power();
    assert!((295..=305).contains(&with_power), "{with_power}");
    let last = bench.seen.last().unwrap();
    assert!(last.is(DriveState::SwitchOnDisabled), "{last:?}");
    let [_, other] = group.runners() else {
        panic!("two axes")
    };
    assert_eq!(
        other.state(),
        DriveState::QuickStopActive,
        "it is stopped, and stays"
    );
}

#[test]
fn a_reset_lets_axes_come_to_rest_before_they_are_enabled() {
    // They stay in their quick stop, and may be enabled from there.
    let mut bench = bench(&OwnWill::default(), 2.0, 6);
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    bench.go_fast(&mut group);
    bench.play(1_500, &mut group, |number, _| match number {
        1 => handle.stop(),
        3 => handle.reset(),
        _ => {}
    });
    assert!(is_moving(group.stage()), "{:?}", group.stage());
    assert_eq!(group.stops(), 1);
    let enabled = bench.seen.iter().skip(3);
    let mut enabled = enabled.skip_while(|it| it.word != Controlword::ENABLE_OPERATION);
    let first = enabled.next().unwrap();
    assert!(first.is(DriveState::QuickStopActive), "{first:?}");
    assert!(first.reading.velocity.unwrap().abs() < 0.05, "{first:?}");
    for seen in enabled {
        let apart = (seen.asked - seen.reading.position).abs();
        assert!(apart < 0.01, "{apart} {seen:?}");
    }
}

#[test]
fn a_drive_that_cannot_be_enabled_from_its_quick_stop_is_enabled_by_way_of_no_power() {
    let mut bench = bench_of(without_transition_16(), 2.0, 6);
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    bench.go_fast(&mut group);
    bench.words.clear();
    bench.play(2_500, &mut group, |number, _| match number {
        1 => handle.stop(),
        3 => handle.reset(),
        _ => {}
    });
    assert!(is_moving(group.stage()), "{:?}", group.stage());
    assert_eq!(group.stops(), 1);
    assert_eq!(
        bench.words,
        [
            Controlword::QUICK_STOP,
            Controlword::ENABLE_OPERATION,
            Controlword::DISABLE_VOLTAGE,
            Controlword::SHUTDOWN,
            Controlword::SWITCH_ON,
            Controlword::ENABLE_OPERATION,
        ]
    );
}

#[test]
fn a_reset_takes_the_power_of_an_axis_that_does_not_come_to_rest() {
    let mut bench = bench(&OwnWill::default(), 0.2, 6);
    let policy = braking_for(Duration::from_millis(300));
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), policy, &handle);
    bench.go_fast(&mut group);
    bench.play(500, &mut group, |number, _| match number {
        1 => handle.stop(),
        3 => handle.reset(),
        _ => {}
    });
    let with_power = bench.with_power();
    assert!((298..=305).contains(&with_power), "{with_power}");
    let unpowered = |it: &Seen| it.word == Controlword::DISABLE_VOLTAGE;
    assert!(bench.braking().iter().any(unpowered));
}

#[test]
fn at_the_end_axes_may_brake_for_as_long_as_the_policy_says() {
    let mut bench = bench(&OwnWill::default(), 0.667, 2);
    let policy = braking_for(Duration::from_secs(2));
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), policy, &handle);
    bench.go_fast(&mut group);
    handle.end();
    let ended = bench.play(5_000, &mut group, |_, _| ());
    assert_eq!(ended.by, EndedBy::Controller);
    assert!((1_400..1_700).contains(&ended.cycles), "{ended:?}");
    for seen in bench.braking() {
        assert_eq!(seen.word, Controlword::QUICK_STOP, "{seen:?}");
    }
    for runner in group.runners() {
        assert!(!runner.reading().unwrap().state().has_torque());
    }
}
