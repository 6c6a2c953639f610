//! The bring-up of a segment while cables flap and devices are missing, in virtual time.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod tended;

use std::cell::Cell;
use std::time::Duration;

use kadenz_ethercat::control::notice::Event;
use kadenz_ethercat::main_device::bring_up::{
    BringUpError, configure, is_passing, prepare, retry, silent,
};
use kadenz_ethercat::main_device::cycle::Cycle;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Exchange, Registers};
use kadenz_ethercat::main_device::expected::{Expected, FoundDevices};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::main_device::states;
use kadenz_ethercat::motion::axis::{Control, UnitSettings, commission};
use kadenz_ethercat::port::Side;
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::fault::{Fault, When, WireFault};
use kadenz_ethercat::sim::file::SegmentPlan;
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::sim::{CableId, End};
use kadenz_ethercat::wire::{Configured, State};
use tended::{Rig, Tended as _};

const DEVICES: usize = 6;
/// The drive of the humanoid's first six devices.
const DRIVE: usize = 5;
const MS: Duration = Duration::from_millis(1);
const TIMEOUT: Duration = Duration::from_secs(10);

fn link() -> Link<WirePort> {
    Link::new(WirePort::new(humanoid(DEVICES).build().unwrap()), 1)
}

fn waiting(link: &mut Link<WirePort>) -> BlockingExchange<'_, WirePort> {
    BlockingExchange::over(link)
}

/// A complete bring-up with a drive, as a program does it.
fn attempt(
    segment: &mut dyn Exchange,
    expected: &mut Expected,
    accepts_missing: bool,
) -> Result<(Vec<SubDevice>, Cycle), Box<dyn std::error::Error>> {
    let accept = |found: &FoundDevices| match accepts_missing {
        true => Ok(()),
        false => found.ensure_complete(),
    };
    expected.bring_up(segment, accept, |registers, devices| {
        configure(registers, devices)?;
        let (control, cycle) = (Control::Velocity, MS);
        let drive = &mut devices[DRIVE];
        commission(registers, drive, control, &UnitSettings::default(), cycle)?;
        Ok(prepare(registers, devices, None)?)
    })
}

/// The cable before a device.
fn cable(link: &mut Link<WirePort>, position: usize) -> CableId {
    let segment = link.port_mut().segment_mut();
    let device = segment.positions(Side::Primary)[position];
    segment.cable_at(End::Device(device, 0)).unwrap()
}

/// Lets the cable before a device flap for 300 ms from the frame of that number on.
fn flap(link: &mut Link<WirePort>, position: usize, frame: u64) {
    let fault = Fault::Wire(WireFault::Flap(cable(link, position), 300_000_000));
    let segment = link.port_mut().segment_mut();
    segment.faults().add(When::Frame(frame), fault).unwrap();
}

fn frames(link: &mut Link<WirePort>) -> u64 {
    link.port_mut().segment_mut().counts().frames
}

#[test]
fn a_flap_at_any_step_costs_a_bring_up_time_and_nothing_else() {
    let mut whole = link();
    attempt(&mut waiting(&mut whole), &mut Expected::default(), false).unwrap();
    let needed = frames(&mut whole);
    let mut tries_of_all = 0;
    for step in 0..40 {
        let mut link = link();
        flap(&mut link, 3, 1 + step * needed / 40);
        let mut expected = Expected::of(humanoid(DEVICES)).unwrap();
        let tries = Cell::new(0);
        let made = retry(
            &mut waiting(&mut link),
            TIMEOUT,
            |segment| {
                tries.set(tries.get() + 1);
                attempt(segment, &mut expected, false)
            },
            |error| is_passing(&**error),
        );
        let (devices, _) = made.unwrap_or_else(|error| panic!("step {step}: {error}"));
        assert_eq!(devices.len(), DEVICES);
        tries_of_all += tries.get();
        let mut registers = waiting(&mut link);
        let mut registers = Registers::by(&mut registers);
        for device in &devices {
            let state = states::read(&mut registers, device.target()).unwrap();
            assert_eq!(
                state.state(),
                Some(State::SafeOp),
                "step {step}: {}",
                device.label()
            );
        }
    }
    assert!(
        tries_of_all > 80,
        "the flaps were not met: {tries_of_all} tries"
    );
}

#[test]
fn a_device_seen_before_is_expected_without_a_file() {
    let mut link = link();
    let mut expected = Expected::default();
    expected
        .discover(&mut Registers::by(&mut waiting(&mut link)))
        .unwrap();
    let cut = WireFault::Cut(cable(&mut link, 4));
    let now = link.port_mut().time();
    link.port_mut().segment_mut().inject(Fault::Wire(cut), now);
    let found = expected
        .discover(&mut Registers::by(&mut waiting(&mut link)))
        .unwrap();
    assert_eq!(found.missing, [4, 5]);
    let error = found.ensure_complete().unwrap_err();
    assert!(is_passing(&error));
    let names = [4, 5].map(|it| expected.label(Configured(0x1001 + it)));
    for name in names {
        assert!(error.to_string().contains(&name), "{error} without {name}");
    }
}

#[test]
fn a_missing_device_that_may_be_one_that_is_there_is_not_guessed() {
    let rack = |serials: [u32; 2]| {
        let [left, right] = serials;
        let text = format!(
            "[[device]]\nname = \"coupler\"\nmodel = \"ek1100\"\n\
             [[device]]\nname = \"left\"\nmodel = \"el2889\"\nserial = {left}\n\
             [[device]]\nname = \"right\"\nmodel = \"el2889\"\nserial = {right}\n"
        );
        let no_files = &mut |_: &str| Err("no files here".to_owned());
        SegmentPlan::parse("rack.toml", &text, no_files).unwrap()
    };
    for (serials, is_sure) in [([7, 8], true), ([0, 0], false)] {
        let mut link = Link::new(WirePort::new(rack(serials).build().unwrap()), 1);
        let cut = WireFault::Cut(cable(&mut link, 2));
        let now = link.port_mut().time();
        link.port_mut().segment_mut().inject(Fault::Wire(cut), now);
        let mut expected = Expected::of(rack(serials)).unwrap();
        let mut exchange = waiting(&mut link);
        let found = expected
            .discover(&mut Registers::by(&mut exchange))
            .unwrap();
        assert_eq!(found.missing, [2]);
        let result = found.ensure_unambiguous();
        assert_eq!(result.is_ok(), is_sure);
        if let Err(error) = result {
            assert!(!is_passing(&error));
            assert!(error.to_string().contains("position 2"), "{error}");
        }
    }
}

#[test]
fn a_device_that_was_counted_and_not_identified_is_expected_too() {
    let mut link = link();
    let cut = Fault::Wire(WireFault::Cut(cable(&mut link, 4)));
    let faults = link.port_mut().segment_mut().faults();
    faults.add(When::Frame(30), cut).unwrap();
    let mut expected = Expected::default();
    let mut exchange = waiting(&mut link);
    let error = expected.discover(&mut Registers::by(&mut exchange));
    let silent = silent(&error.unwrap_err()).unwrap();
    let found = expected
        .discover(&mut Registers::by(&mut exchange))
        .unwrap();
    assert_eq!(found.devices.len(), 4);
    let error = found.ensure_complete().unwrap_err();
    assert!(
        matches!(error, BringUpError::Changed { before: 6, now: 4 }),
        "{error}"
    );
    // The label does not use the name of another device.
    assert!(
        expected
            .label(silent)
            .starts_with("the device at position ")
    );
}

#[test]
fn a_device_that_does_not_answer_is_named_at_any_step() {
    let mut expected = Expected::default();
    let mut whole = link();
    attempt(&mut waiting(&mut whole), &mut expected, false).unwrap();
    let needed = frames(&mut whole);
    let label = expected.label(Configured(0x1001 + DRIVE as u16));
    assert_eq!(label, "waist pitch (position 5, address 0x1006)");
    let mut named = 0;
    for step in 0..40 {
        let mut link = link();
        let cut = Fault::Wire(WireFault::Cut(cable(&mut link, DRIVE)));
        let faults = link.port_mut().segment_mut().faults();
        faults
            .add(When::Frame(1 + step * needed / 40), cut)
            .unwrap();
        let mut expected = Expected::of(humanoid(DEVICES)).unwrap();
        let Err(error) = attempt(&mut waiting(&mut link), &mut expected, false) else {
            panic!("step {step}: a device that was cut off was configured");
        };
        assert!(is_passing(&*error), "step {step}: {error}");
        match silent(&*error) {
            Some(station) => {
                named += 1;
                assert_eq!(expected.label(station), label, "step {step}");
            }
            None => assert!(
                matches!(
                    error.downcast_ref(),
                    Some(BringUpError::Missing { .. } | BringUpError::Changed { .. })
                ),
                "step {step}: {error}"
            ),
        }
    }
    assert!(named > 10, "{named}");
}

#[test]
fn what_a_device_refuses_is_not_asked_again() {
    let mut link = link();
    let error = attempt(&mut waiting(&mut link), &mut Expected::default(), false);
    assert!(error.is_ok());
    let mut expected = Expected::default();
    let mut found = expected
        .discover(&mut Registers::by(&mut waiting(&mut link)))
        .unwrap();
    let mut exchange = waiting(&mut link);
    let mut registers = Registers::by(&mut exchange);
    configure(&mut registers, &mut found.devices).unwrap();
    // A coupler is not a drive.
    let (control, stated) = (Control::Position, UnitSettings::default());
    let coupler = &mut found.devices[0];
    let error = commission(&mut registers, coupler, control, &stated, MS).unwrap_err();
    assert!(!is_passing(&error) && silent(&error).is_none(), "{error}");
}

#[test]
fn a_device_that_is_away_at_the_start_is_configured_offline_and_joins() {
    for position in [2, DRIVE] {
        let mut link = link();
        let segment = link.port_mut().segment_mut();
        let device = segment.positions(Side::Primary)[position];
        let now = segment.now();
        segment.inject(Fault::Wire(WireFault::PowerOff(device)), now);
        let mut expected = Expected::of(humanoid(DEVICES)).unwrap();
        let refused = attempt(&mut waiting(&mut link), &mut expected, false).unwrap_err();
        assert!(refused.to_string().contains("no answer from "), "{refused}");
        let (devices, cycle) = attempt(&mut waiting(&mut link), &mut expected, true).unwrap();
        let mut rig = Rig::of(link, cycle, devices, None);
        let device_table = rig.supervisor.device_table();
        // The devices behind it are missing as well.
        rig.until("those that are there", |_| {
            (0..position).all(|it| device_table.status(it).unwrap().is_well())
        });
        assert!(device_table.status(position).unwrap().position.is_none());
        let notices = rig.supervisor.notices();
        assert!(notices.recent().iter().any(|it| it.event == Event::Lost));
        rig.inject(WireFault::PowerOn(device));
        rig.until("all", |_| device_table.is_well());
        let unknown = |it: &Event| matches!(it, Event::Unknown { .. });
        assert!(!notices.recent().iter().any(|it| unknown(&it.event)));
    }
}

#[test]
fn a_device_that_a_file_does_not_name_is_not_expected() {
    let mut link = link();
    // The file does not name the last device, which comes and goes.
    let mut expected = Expected::of(humanoid(DEVICES - 1)).unwrap();
    let mut found = |link: &mut Link<WirePort>| {
        let mut exchange = waiting(link);
        expected
            .discover(&mut Registers::by(&mut exchange))
            .unwrap()
    };
    found(&mut link).ensure_complete().unwrap();
    let cut = WireFault::Cut(cable(&mut link, DEVICES - 1));
    let now = link.port_mut().time();
    link.port_mut().segment_mut().inject(Fault::Wire(cut), now);
    found(&mut link).ensure_complete().unwrap();
}
