//! Error codes in the notices of faults.

use std::sync::atomic::Ordering;

use super::models::{OwnWill, willed};
use super::*;

#[test]
fn a_fault_s_code_comes_from_the_process_data_or_a_request_to_the_drive() {
    for mapped in [true, false] {
        let segment = humanoid(12).build().unwrap();
        let assign = |registers: &mut Registers<'_>, devices: &mut [SubDevice]| {
            if mapped {
                // All inputs of the model, the error code among them.
                assign_inputs(registers, &mut devices[5], 0x1A01);
            }
        };
        let mut bench = Bench::of(segment, assign, |_| ()).unwrap();
        let handle = MotionHandle::default();
        let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
        bench.play(1_000, &mut group, |_, _| ());
        bench.inject(5, |it| WireFault::Fail(it, 0x3230));
        bench.play(300, &mut group, |_, _| ());
        let code = mapped.then_some(0x3230);
        let cause = Cause::Fault { axis: 1, code };
        assert_eq!(group.stage(), Stage::Stopped(cause));
        let mut asked = Vec::new();
        handle.read_error_codes(|device| {
            asked.push(device);
            Some(0x3230)
        });
        let wanted: &[usize] = if mapped { &[] } else { &[5] };
        assert_eq!(asked, wanted);
        let stopped = handle.status().unwrap().stopped.unwrap();
        assert_eq!(
            stopped.why,
            "left hip yaw: axis 1 has a fault, error code 0x3230"
        );
        assert_eq!(handle.status().unwrap().axes[1].error_code, Some(0x3230));
    }
}

fn assign_inputs(registers: &mut Registers<'_>, device: &mut SubDevice, pdo: u16) {
    let (target, mailboxes) = (device.target(), device.mailboxes);
    let (counter, emergencies) = (&mut device.counter, &mut device.emergencies);
    let mut mail = Mail::of(target, mailboxes, counter, emergencies).unwrap();
    for (sub, value) in [(0, vec![0]), (1, pdo.to_le_bytes().to_vec()), (0, vec![1])] {
        let address = Address::new(0x1C13, sub);
        sdo::write(registers, &mut mail, address, false, &value).unwrap();
    }
    crate::main_device::configure::read_process_data(registers, device).unwrap();
}

#[test]
fn the_cause_of_a_stop_keeps_its_code_when_the_drive_has_its_fault_no_more() {
    let will = OwnWill::default();
    let segment = Segment::line([willed(&will)], 1).unwrap();
    let mut bench = Bench::of(segment, |_, _| (), |_| ()).unwrap();
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    bench.play(500, &mut group, |_, _| ());
    bench.inject(0, |it| WireFault::Fail(it, 0x3230));
    bench.inject(0, |it| WireFault::Fail(it, 0));
    bench.play(300, &mut group, |_, _| ());
    handle.read_error_codes(|_| Some(0x3230));
    let why = || handle.status().unwrap().stopped.unwrap().why;
    let known = "joint: axis 0 has a fault, error code 0x3230";
    assert_eq!(why(), known);

    // A reset at its panel.
    will.store(0x80, Ordering::Relaxed);
    bench.play(10, &mut group, |_, _| ());
    let axis = &handle.status().unwrap().axes[0];
    assert_eq!(
        (&*axis.state, axis.error_code),
        ("switch on disabled", None)
    );
    assert_eq!(why(), known);

    // The next stop has a cause of its own.
    handle.reset();
    bench.play(500, &mut group, |_, _| ());
    assert!(is_moving(group.stage()), "{:?}", group.stage());
    bench.inject(0, |it| WireFault::Fail(it, 0x4310));
    bench.play(300, &mut group, |_, _| ());
    assert_eq!(why(), "joint: axis 0 stopped by itself");
    handle.read_error_codes(|_| Some(0x4310));
    assert_eq!(why(), "joint: axis 0 has a fault, error code 0x4310");
}
