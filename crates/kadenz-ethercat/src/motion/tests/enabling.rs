//! The conditions for all axes to be enabled, and the causes of stops before that.

use super::models::{drive, slow};
use super::*;
use crate::sim::model::drive::Parameters;

/// Two drives in SAFEOP, of which the second takes so long to OP, and has a fault that a reset ends.
fn faulty(seconds: u64) -> Bench {
    let late = slow(
        drive(Parameters::default(), &[]),
        Duration::from_secs(seconds).as_nanos() as u64,
    );
    let models = [drive(Parameters::default(), &[]), late];
    let segment = Segment::line(models, 1).unwrap();
    let mut bench = Bench::in_safe_op(segment, |_, _| (), |_| ()).unwrap();
    bench.watched = 1;
    bench.inject(1, |it| WireFault::Fail(it, 0x7500));
    bench.inject(1, |it| WireFault::Fail(it, 0));
    bench
}

#[test]
fn a_fault_is_reset_when_the_drive_is_in_op_however_long_that_takes() {
    let mut bench = faulty(2);
    let handle = MotionHandle::default();
    let policy = Policy {
        // The time on its way to OP does not count here.
        enabling: Duration::from_secs(1),
        ..Policy::default()
    };
    let mut group = AxisGroup::new(bench.runners.clone(), policy, &handle);
    bench.play(1_500, &mut group, |_, _| ());
    bench.ask_for_op();
    bench.play(1_900, &mut group, |_, _| ());
    assert_eq!(group.stage(), Stage::Enabling);
    for seen in &bench.seen[1..] {
        assert!(seen.is(DriveState::Fault), "{seen:?}");
        assert_eq!(seen.word, Controlword::DISABLE_VOLTAGE, "{seen:?}");
    }
    bench.play(1_000, &mut group, |_, _| ());
    assert!(is_moving(group.stage()), "{:?}", group.stage());
    assert_eq!((group.stops(), bench.take_resets()), (0, 1));
}

#[test]
fn a_drive_that_answers_and_does_not_come_to_op_is_not_waited_for_for_ever() {
    let mut bench = faulty(3_600);
    let handle = MotionHandle::default();
    let policy = Policy {
        enabling: Duration::from_millis(500),
        ..Policy::default()
    };
    let mut group = AxisGroup::new(bench.runners.clone(), policy, &handle);
    bench.ask_for_op();
    // ETG.1020 gives it ten seconds.
    bench.play(10_450, &mut group, |_, _| ());
    assert_eq!(group.stage(), Stage::Enabling);
    bench.play(100, &mut group, |_, _| ());
    // Without a device table the drive is unknown: the stop names the first.
    let Stage::Stopped(Cause::NotEnabled { axis: 0, .. }) = group.stage() else {
        panic!("{:?}", group.stage())
    };
    assert_eq!(bench.take_resets(), 0);
}

#[test]
fn an_axis_that_is_held_until_others_are_enabled_is_stopped_when_it_is_heard_no_more() {
    for control in [Control::Velocity, Control::Torque] {
        let models = [
            drive(Parameters::default(), &[]),
            // Without this object the model does not work.
            drive(Parameters::default(), &[object::HOMING_METHOD]),
        ];
        let segment = Segment::line(models, 1).unwrap();
        let regulate = |plan: &mut Plan| plan.axes.iter_mut().for_each(regulated(control));
        let mut bench = Bench::of(segment, |_, _| (), regulate).unwrap();
        bench.watched = 0;
        let handle = MotionHandle::default();
        let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
        bench.play(300, &mut group, |_, _| ());
        assert_eq!(group.stage(), Stage::Enabling);
        assert!(group.runners()[0].is_held());
        bench.seen.clear();
        // Outputs arrive; inputs do not.
        bench.lose_behind(None, 100);
        bench.play(20, &mut group, |_, _| ());
        assert_eq!(group.stage(), Stage::Stopped(Cause::Lost(11)));
        // The first frame of the loop, which has no answers to read.
        let (blind, stopped) = bench.seen[1..].split_at(10);
        for seen in blind {
            assert_eq!(seen.word, Controlword::ENABLE_OPERATION, "{seen:?}");
            assert_eq!(seen.asked, blind[0].asked, "the error does not add up");
        }
        for seen in stopped {
            assert_eq!(
                (seen.word, seen.asked),
                (Controlword::QUICK_STOP, 0.0),
                "{seen:?}"
            );
        }
    }
}

#[test]
fn where_any_loss_is_tolerated_no_torque_is_repeated_for_long() {
    for control in [Control::Velocity, Control::Torque] {
        let models = [0, 1].map(|_| drive(Parameters::default(), &[]));
        let segment = Segment::line(models, 1).unwrap();
        let regulate = |plan: &mut Plan| plan.axes.iter_mut().for_each(regulated(control));
        let mut bench = Bench::of(segment, |_, _| (), regulate).unwrap();
        bench.watched = 0;
        let policy = Policy {
            lost: None,
            ..Policy::default()
        };
        let handle = MotionHandle::default();
        let mut group = AxisGroup::new(bench.runners.clone(), policy, &handle);
        bench.play(400, &mut group, |_, _| ());
        assert!(is_moving(group.stage()));
        bench.seen.clear();
        bench.lose_behind(None, 50);
        bench.play(51, &mut group, |_, _| ());
        assert!(is_moving(group.stage()));
        let (blind, long) = bench.seen[1..].split_at(10);
        assert!(blind[0].asked.abs() > 0.05, "{control:?} {:?}", blind[0]);
        assert!(blind.iter().all(|it| it.asked == blind[0].asked));
        assert!(long.iter().all(|it| it.asked == 0.0), "{control:?}");
        bench.play(1_000, &mut group, |_, _| ());
        let stage = group.stage();
        assert!(is_moving(stage), "{control:?} {stage:?}");
    }
}
