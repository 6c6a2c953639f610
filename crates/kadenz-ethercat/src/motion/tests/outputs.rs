//! Outputs that an axis does not write, and targets at the ends of their range.

use super::models::with_outputs;
use super::*;
use crate::wire::cia402::Goal;
use crate::wire::coe::DataType;

const U16: DataType = DataType::UNSIGNED16;
const I16: DataType = DataType::INTEGER16;
const I32: DataType = DataType::INTEGER32;

#[test]
fn a_mapped_torque_limit_keeps_the_drive_s_value_and_an_old_offset_does_not() {
    let drive = with_outputs(&[
        (object::CONTROLWORD, U16),
        (object::TARGET_POSITION, I32),
        (object::TORQUE_LIMIT, U16),
        (object::TORQUE_OFFSET, I16),
    ]);
    let segment = Segment::line([drive], 1).unwrap();
    let mut limit = [0; 2];
    let read_limit = |registers: &mut Registers<'_>, devices: &mut [SubDevice]| {
        let drive = &mut devices[0];
        write_object(registers, drive, object::TORQUE_OFFSET, &[5, 0]);
        let mut mail = drive.mail().unwrap();
        let address = Address::new(object::TORQUE_LIMIT, 0);
        limit = sdo::get(registers, &mut mail, address).unwrap();
    };
    let mut bench = Bench::of(segment, read_limit, |_| ()).unwrap();
    assert_ne!(limit, [0; 2]);
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    for cycles in [1, 1_500] {
        bench.play(cycles, &mut group, |_, _| ());
        assert_eq!(bench.cycle.outputs()[6..8], limit);
        assert_eq!(bench.cycle.outputs()[8..10], [0; 2]);
    }
    assert!(is_moving(group.stage()), "{:?}", group.stage());
}

#[test]
fn a_drive_whose_mapped_torque_limit_is_zero_is_not_commissioned() {
    let drive = with_outputs(&[
        (object::CONTROLWORD, U16),
        (object::TARGET_POSITION, I32),
        (object::TORQUE_LIMIT, U16),
    ]);
    let segment = Segment::line([drive], 1).unwrap();
    let no_torque = |registers: &mut Registers<'_>, devices: &mut [SubDevice]| {
        write_object(registers, &mut devices[0], object::TORQUE_LIMIT, &[0, 0]);
    };
    let refused = Bench::of(segment, no_torque, |_| ()).err().unwrap();
    assert!(
        refused.to_string().contains("a limit of the torque"),
        "{refused}"
    );
}

#[test]
fn a_target_beyond_the_range_of_a_short_field_is_its_end_and_does_not_change_sign() {
    let drive = with_outputs(&[(object::CONTROLWORD, U16), (object::TARGET_POSITION, I16)]);
    let segment = Segment::line([drive], 1).unwrap();
    let bench = Bench::in_safe_op(segment, |_, _| (), |_| ()).unwrap();
    let axis = bench.runners[0].axis();
    for (target, number) in [
        (1e6, i16::MAX),
        (-1e6, i16::MIN),
        (f64::INFINITY, i16::MAX),
        (f64::NAN, 0),
        (0.0, 0),
    ] {
        let mut outputs = [0; 4];
        let enabled = DriveState::OperationEnabled;
        axis.write(&mut outputs, enabled, Goal::Enabled, false, target);
        assert_eq!(outputs[2..], number.to_le_bytes(), "{target}");
    }
}
