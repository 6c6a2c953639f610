use std::f64::consts::TAU;

use super::*;
use crate::sim::model::tests::bench::Bench;
use crate::wire::cia402::Goal;
use proptest::prelude::*;

const TURN: i64 = 1 << 20;

fn drive() -> Bench<Drive> {
    let mut bench = Bench::new(Drive::device("joint", 1, Parameters::default()));
    bench.to(State::Op).unwrap();
    bench
}

/// Cycles of a millisecond, with the controlword of a goal and outputs set by the closure.
fn cycles(
    bench: &mut Bench<Drive>,
    number: u32,
    goal: Goal,
    reset: bool,
    mut outputs: impl FnMut(&mut Bench<Drive>, u32),
) {
    for cycle in 0..number {
        let status = Statusword(bench.read(object::STATUSWORD) as u16);
        let before = Controlword(bench.read(object::CONTROLWORD) as u16);
        let word = goal.controlword(status.state(), reset, before);
        bench.write(object::CONTROLWORD, i64::from(word.0));
        outputs(bench, cycle);
        bench.exchange();
    }
}

#[test]
fn a_drive_follows_cyclic_positions() {
    let mut bench = drive();
    cycles(&mut bench, 10, Goal::Enabled, false, |_, _| {});
    assert_eq!(
        bench.device.behaviour().state(),
        DriveState::OperationEnabled
    );
    // A fifth of a turn there and back in two seconds.
    let path = |cycle: u32| {
        let phase = f64::from(cycle) / 2000.0 * TAU;
        ((1.0 - phase.cos()) / 10.0 * TURN as f64) as i64
    };
    let mut worst = 0;
    cycles(&mut bench, 2000, Goal::Enabled, false, |bench, cycle| {
        bench.write(object::TARGET_POSITION, path(cycle));
        worst = worst.max((bench.read(object::POSITION) - path(cycle)).abs());
    });
    assert_eq!(
        bench.device.behaviour().state(),
        DriveState::OperationEnabled
    );
    assert!(worst < TURN / 100, "{worst}");
    assert!(worst > 0, "something moved");
}

#[test]
fn a_target_out_of_reach_is_a_following_error_and_an_emergency() {
    let mut bench = drive();
    cycles(&mut bench, 10, Goal::Enabled, false, |_, _| {});
    cycles(&mut bench, 60, Goal::Enabled, false, |bench, _| {
        bench.write(object::TARGET_POSITION, TURN);
    });
    assert!(!bench.device.behaviour().state().has_torque() || bench.read(object::ERROR_CODE) != 0);
    assert_eq!(
        bench.read(object::ERROR_CODE),
        i64::from(error_code::FOLLOWING_ERROR)
    );
    let emergency = bench.emergencies().pop().unwrap();
    assert_eq!(
        (emergency.code, emergency.register),
        (error_code::FOLLOWING_ERROR, 0x21)
    );
    // The joint stops, and starts again where it is after a reset.
    cycles(&mut bench, 500, Goal::Disabled, false, |_, _| {});
    assert_eq!(bench.device.behaviour().state(), DriveState::Fault);
    let here = bench.read(object::POSITION);
    bench.write(object::TARGET_POSITION, here);
    cycles(&mut bench, 20, Goal::Enabled, true, |_, _| {});
    assert_eq!(
        bench.device.behaviour().state(),
        DriveState::OperationEnabled
    );
    assert_eq!(bench.emergencies().pop().unwrap().code, error_code::NONE);
    assert_eq!(bench.read(object::ERROR_CODE), 0);
}

#[test]
fn cyclic_velocity_and_torque_do_what_they_say() {
    let mut bench = drive();
    bench
        .download(
            object::MODE,
            &[OperationMode::CyclicVelocity.number() as u8],
        )
        .unwrap();
    bench.assign(&[0x1601], &[0x1A00]);
    cycles(&mut bench, 400, Goal::Enabled, false, |bench, _| {
        bench.write(object::TARGET_VELOCITY, TURN / 4);
    });
    let velocity = bench.read(object::VELOCITY);
    assert!((velocity - TURN / 4).abs() < TURN / 100, "{velocity}");
    assert_eq!(
        bench.read(object::MODE_DISPLAY),
        i64::from(OperationMode::CyclicVelocity.number())
    );

    let mut bench = drive();
    bench
        .download(object::MODE, &[OperationMode::CyclicTorque.number() as u8])
        .unwrap();
    bench.assign(&[0x1602], &[0x1A00]);
    cycles(&mut bench, 20, Goal::Enabled, false, |bench, _| {
        bench.write(object::TARGET_TORQUE, 100);
    });
    assert!((bench.read(object::TORQUE) - 100).abs() <= 1);
    assert!(bench.read(object::VELOCITY) > 0);
}

#[test]
fn a_profile_takes_its_set_point_by_the_handshake_and_arrives() {
    let mut bench = drive();
    bench
        .download(
            object::MODE,
            &[OperationMode::ProfilePosition.number() as u8],
        )
        .unwrap();
    cycles(&mut bench, 10, Goal::Enabled, false, |bench, _| {
        bench.write(object::TARGET_POSITION, TURN / 10);
    });
    assert_eq!(bench.read(object::POSITION), 0, "no edge, no motion");
    let set = i64::from(
        Controlword::ENABLE_OPERATION
            .with(Controlword::NEW_SET_POINT)
            .0,
    );
    let mut acknowledged = false;
    cycles(&mut bench, 3000, Goal::Enabled, false, |bench, _| {
        bench.write(object::CONTROLWORD, set);
        acknowledged |= Statusword(bench.read(object::STATUSWORD) as u16).has(Statusword::MODE_12);
    });
    assert!(acknowledged);
    let status = Statusword(bench.read(object::STATUSWORD) as u16);
    assert!(status.has(Statusword::TARGET_REACHED));
    assert!((bench.read(object::POSITION) - TURN / 10).abs() < TURN / 2000);
}

#[test]
fn homing_makes_here_zero() {
    let mut bench = drive();
    // A hand moves the joint.
    bench.device.behaviour_mut().axis.motion = Motion {
        position: 1.0,
        ..Motion::default()
    };
    bench.exchange();
    assert!(bench.read(object::POSITION) > TURN / 10);
    bench
        .download(object::MODE, &[OperationMode::Homing.number() as u8])
        .unwrap();
    let start = i64::from(
        Controlword::ENABLE_OPERATION
            .with(Controlword::NEW_SET_POINT)
            .0,
    );
    cycles(&mut bench, 10, Goal::Enabled, false, |_, _| {});
    cycles(&mut bench, 10, Goal::Enabled, false, |bench, _| {
        bench.write(object::CONTROLWORD, start);
    });
    assert!(Statusword(bench.read(object::STATUSWORD) as u16).has(Statusword::MODE_12));
    assert!(bench.read(object::POSITION).abs() < TURN / 1000);
}

#[test]
fn a_drive_that_loses_the_bus_stops_and_says_so() {
    let mut bench = drive();
    cycles(&mut bench, 10, Goal::Enabled, false, |_, _| {});
    bench.watchdog();
    assert_eq!(bench.state, State::SafeOp);
    assert_eq!(
        bench.emergencies().pop().unwrap().code,
        error_code::COMMUNICATION
    );
    bench.wait_ms(100);
    assert_eq!(bench.device.behaviour().state(), DriveState::Fault);
}

#[test]
fn a_failure_from_outside_stands_until_it_ends() {
    let mut bench = drive();
    bench.fail(error_code::TEMPERATURE);
    assert_eq!(bench.emergencies().pop().unwrap().register, 0x09);
    cycles(&mut bench, 30, Goal::Enabled, true, |_, _| {});
    assert_eq!(
        bench.read(object::ERROR_CODE),
        i64::from(error_code::TEMPERATURE)
    );
    bench.fail(error_code::NONE);
    cycles(&mut bench, 30, Goal::Enabled, true, |_, _| {});
    assert_eq!(
        bench.device.behaviour().state(),
        DriveState::OperationEnabled
    );
}

#[test]
fn a_mode_that_does_not_exist_is_refused() {
    let mut bench = drive();
    assert_eq!(bench.download(object::MODE, &[99]), Err(Abort::VALUE));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_outputs_make_a_drive_s_numbers_senseless(words in prop::collection::vec((any::<u16>(), any::<i32>(), any::<i16>(), any::<i8>()), 1..60)) {
        let mut bench = drive();
        for (word, number, torque, mode) in words {
            bench.write(object::MODE, i64::from(mode % 12));
            bench.write(object::CONTROLWORD, i64::from(word));
            bench.write(object::TARGET_POSITION, i64::from(number));
            bench.write(object::TARGET_VELOCITY, i64::from(number));
            bench.write(object::TORQUE_OFFSET, i64::from(torque));
            bench.exchange();
            let motion = bench.device.behaviour().motion();
            prop_assert!(motion.position.is_finite() && motion.velocity.is_finite() && motion.torque.abs() <= 36.001);
        }
    }
}
