//! Drives with various units, from their objects to the positions of their joints.

use super::models::drive;
use super::*;
use crate::motion::axis::UnitSettings;
use crate::motion::program::{Program, ProgramPiece};
use crate::motion::trajectory::{Limits, Quintic};
use crate::sim::model::drive::{Motor, Parameters};

/// The target of the joint, in rad.
const THERE: f64 = 1.0;

/// Behind a gear of 1:50; an encoder of 65536 increments.
fn geared() -> Parameters {
    Parameters {
        motor: Motor {
            increments: 50 * 65_536,
            ..Motor::elbow()
        },
        gear: [50, 1],
        ..Parameters::default()
    }
}

/// Two of these drives, which go to the target and stay there.
fn bench(
    parameters: Parameters,
    without: &[u16],
    change: impl FnOnce(&mut AxisPlan),
) -> Result<Bench, PlanError> {
    let models = [drive(parameters, without), drive(parameters, without)];
    let segment = Segment::line(models, 1).unwrap();
    let mut bench = Bench::of(
        segment,
        |_, _| (),
        |plan| {
            let limits = Limits {
                velocity: 1.0,
                acceleration: 2.0,
            };
            let there = ProgramPiece::Quintic(Quintic::between(0.0, THERE, limits));
            plan.axes.truncate(1);
            plan.axes[0].program = Program::new(0.0, vec![there], false);
            change(&mut plan.axes[0]);
        },
    )?;
    bench.watched = 0;
    Ok(bench)
}

/// Plays the way; returns the axis, and values of the drive: position, velocity, torque.
fn play(mut bench: Bench) -> (AxisRunner, i32, i16) {
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    bench.play(5_000, &mut group, |_, _| ());
    let stage = group.stage();
    assert!(matches!(stage, Stage::Playing(_)), "{stage:?}");
    let inputs = bench.cycle.layout().shares[0].inputs.clone();
    let raw = &bench.cycle.inputs()[inputs];
    // Status word, position, velocity, torque.
    let position = i32::from_le_bytes(raw[2..6].try_into().unwrap());
    let torque = i16::from_le_bytes(raw[10..12].try_into().unwrap());
    (group.runners()[0].clone(), position, torque)
}

const ALL: [Control; 3] = [Control::Position, Control::Velocity, Control::Torque];

#[test]
fn a_joint_behind_a_gear_goes_where_it_should() {
    for control in ALL {
        let (runner, position, torque) = play(bench(geared(), &[], regulated(control)).unwrap());
        assert!(runner.tracking().greatest < 0.06, "{control:?} {runner:?}");
        let joint = f64::from(position) / (50.0 * 65_536.0) * std::f64::consts::TAU;
        assert!((joint - THERE).abs() < 0.02, "{control:?} {joint}");
        // The torque that holds an elbow against gravity, except for friction.
        let reading = runner.reading().unwrap();
        let gravity = Motor::elbow().gravity * joint.sin();
        let held = reading.torque.unwrap();
        assert!((held - gravity).abs() < 0.6, "{control:?} {held} {gravity}");
        assert_eq!(torque.signum(), 1);
        assert!(reading.velocity.unwrap().abs() < 0.05, "{reading:?}");
    }
}

#[test]
fn a_joint_whose_drive_counts_the_other_way_follows_under_every_control() {
    for polarity in [0xC0, 0x80, 0x40] {
        for control in ALL {
            let parameters = Parameters {
                polarity,
                ..geared()
            };
            let bench = bench(parameters, &[], regulated(control)).unwrap();
            let (runner, _, torque) = play(bench);
            let what = format!("0x{polarity:02X} {control:?} {runner:?}");
            assert!(runner.tracking().greatest < 0.06, "{what}");
            let reading = runner.reading().unwrap();
            assert!((reading.position - THERE).abs() < 0.02, "{what}");
            // Where positions have the reverse sign, the joint is on the other side, and torques are not.
            let turned = polarity & 0x80 != 0;
            assert_eq!(torque.signum(), if turned { -1 } else { 1 }, "{what}");
            assert!(reading.torque.unwrap() > 2.0, "{what}");
        }
    }
}

#[test]
fn a_joint_that_counts_against_its_drive_goes_the_other_way() {
    for control in ALL {
        let bench = bench(geared(), &[], |axis| {
            regulated(control)(axis);
            axis.stated.reverse = true;
        });
        let (runner, position, torque) = play(bench.unwrap());
        assert!(runner.tracking().greatest < 0.06, "{control:?} {runner:?}");
        let joint = f64::from(position) / (50.0 * 65_536.0) * std::f64::consts::TAU;
        assert!((joint + THERE).abs() < 0.02, "{control:?} {joint}");
        assert_eq!(torque.signum(), -1);
    }
}

fn refused(without: &[u16], control: Control) -> String {
    match bench(geared(), without, regulated(control)) {
        Ok(_) => panic!("it is taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_unit_that_a_drive_does_not_state_is_not_guessed() {
    let words = refused(&[object::ENCODER_RESOLUTION], Control::Position);
    assert!(words.starts_with("device 0 (joint): "), "{words}");
    for part in ["0x608F", "increments_per_turn"] {
        assert!(words.contains(part), "{words}");
    }
    let words = refused(&[object::RATED_TORQUE], Control::Torque);
    for part in ["0x6076", "rated_torque"] {
        assert!(words.contains(part), "{words}");
    }
    // Position control needs no rated torque, and then reads no torque.
    let bench = bench(geared(), &[object::RATED_TORQUE], |_| ());
    let (runner, ..) = play(bench.unwrap());
    assert_eq!(runner.reading().unwrap().torque, None);
}

#[test]
fn what_a_user_states_stands_in_the_place_of_what_a_drive_does_not_report() {
    let without = [
        object::ENCODER_RESOLUTION,
        object::GEAR_RATIO,
        object::POLARITY,
        object::RATED_TORQUE,
    ];
    for control in ALL {
        let bench = bench(geared(), &without, |axis| {
            regulated(control)(axis);
            axis.stated = UnitSettings {
                increments: Some(50.0 * 65_536.0),
                gear: Some(50.0),
                rated: Some(Motor::elbow().rated / 50.0),
                ..UnitSettings::default()
            };
        });
        let (runner, position, _) = play(bench.unwrap());
        assert!(runner.tracking().greatest < 0.06, "{control:?} {runner:?}");
        let joint = f64::from(position) / (50.0 * 65_536.0) * std::f64::consts::TAU;
        assert!((joint - THERE).abs() < 0.02, "{control:?} {joint}");
    }
}

#[test]
fn a_program_beyond_what_the_drive_can_count_is_refused() {
    // 32 bits are 327 turns of this joint each way.
    let far = bench(geared(), &[], |axis| {
        axis.program = Program::new(5_000.0, Vec::new(), false);
    });
    let Err(error) = far else {
        panic!("it is taken")
    };
    let words = error.to_string();
    assert!(words.contains("counts up to 4117"), "{words}");
}

#[test]
fn a_drive_that_answers_and_is_not_enabled_stops_the_waiting_by_name() {
    // Without this object the model does not work, and reports 0 forever.
    let bench = bench(Parameters::default(), &[object::HOMING_METHOD], |_| ());
    let mut bench = bench.unwrap();
    let handle = MotionHandle::default();
    let policy = Policy {
        enabling: Duration::from_millis(300),
        ..Policy::default()
    };
    let mut group = AxisGroup::new(bench.runners.clone(), policy, &handle);
    bench.play(290, &mut group, |_, _| ());
    assert_eq!(group.stage(), Stage::Enabling);
    bench.play(100, &mut group, |_, _| ());
    let cause = Cause::NotEnabled { axis: 0, status: 0 };
    assert_eq!(group.stage(), Stage::Stopped(cause));
    let why = handle.status().unwrap().stopped.unwrap().why;
    assert_eq!(
        why,
        "joint: axis 0 was not enabled in time, its status word is 0x0000 (not ready to switch on)"
    );
}
