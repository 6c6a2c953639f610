//! A MainDevice that configures devices by their vendor's ESI file, against devices made from such a file.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod tended;

use std::time::Duration;

use kadenz_ethercat::description::Description;
use kadenz_ethercat::esi::Esi;
use kadenz_ethercat::main_device::bring_up::{self, BringUpError, prepare};
use kadenz_ethercat::main_device::clocks;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers};
use kadenz_ethercat::main_device::from_esi::{Descriptions, Matched, find};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::main_device::mapping;
use kadenz_ethercat::port::Side;
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::fault::WireFault;
use kadenz_ethercat::sim::model::{Device, Idle};
use kadenz_ethercat::sim::{Cable, DeviceSettings, End, Segment};
use kadenz_ethercat::wire::coe::Address;
use kadenz_ethercat::wire::sii::{Direction, coe_details};

use tended::{Rig, Tended as _};

const GRIPPER: &str = include_str!("../../../conformance/ethercat/esi/gripper.xml");
const MS: Duration = Duration::from_millis(1);

/// The file as a user wants it: the drive under force control, and the width before the status.
fn by_force() -> String {
    let text = GRIPPER
        .replace(
            r#"<RxPdo Sm="2" Fixed="1"><Index>#x1601"#,
            r#"<RxPdo Fixed="1"><Index>#x1601"#,
        )
        .replace(
            r#"<RxPdo Fixed="1"><Index>#x1602"#,
            r#"<RxPdo Sm="2" Fixed="1"><Index>#x1602"#,
        );
    let status = text
        .find("<Entry><Index>#x6000</Index><SubIndex>1")
        .unwrap();
    let width = text
        .find("<Entry><Index>#x6000</Index><SubIndex>2")
        .unwrap();
    let end = text[width..].find("</TxPdo>").unwrap() + width;
    let (before, behind) = (&text[..status], &text[end..]);
    [before, &text[width..end], &text[status..width], behind].concat()
}

/// A line of devices of the gripper's file.
fn segment(devices: usize, change: impl Fn(&mut Description)) -> Segment {
    let mut description = Esi::read(GRIPPER).unwrap().devices.remove(0);
    change(&mut description);
    let mut segment = Segment::new(1);
    let mut before = End::Main(Side::Primary);
    for _ in 0..devices {
        let model = Device::new(description.clone(), Idle).model().unwrap();
        let device = segment.add(model, DeviceSettings::default()).unwrap();
        let cable = Cable {
            delay_ns: 500,
            jitter_ns: 0,
        };
        segment
            .connect(before, End::Device(device, 0), cable)
            .unwrap();
        before = End::Device(device, 1);
    }
    segment
}

fn described(text: &str) -> Descriptions {
    let mut descriptions = Descriptions::default();
    descriptions.add(&Esi::read(text).unwrap());
    descriptions
}

fn with<R>(link: &mut Link<WirePort>, work: impl FnOnce(&mut Registers<'_>) -> R) -> R {
    let mut exchange = BlockingExchange::over(link);
    work(&mut Registers::by(&mut exchange))
}

type Found = (Vec<SubDevice>, Matched);

fn found(segment: Segment, text: &str) -> (Link<WirePort>, Result<Found, BringUpError>) {
    let mut link = Link::new(WirePort::new(segment), 1);
    let found = with(&mut link, |it| find(it, &described(text)));
    (link, found)
}

impl Rig {
    /// Set up by a file.
    fn by(segment: Segment, text: &str) -> Self {
        let (mut link, found) = found(segment, text);
        let (mut devices, matched) = found.unwrap();
        let cycle = with(&mut link, |it| prepare(it, &mut devices, None).unwrap());
        let again = move |device: &mut SubDevice, registers: &mut Registers<'_>| {
            matched.set_up(registers, device)
        };
        let mut rig = Self::of(link, cycle, devices, Some(Box::new(again)));
        rig.until_well();
        rig
    }

    fn until_well(&mut self) {
        self.until("all well", Self::is_well);
    }

    fn object(&mut self, device: usize, index: u16, sub: u8) -> Vec<u8> {
        let address = Address::new(index, sub);
        let read = self
            .device_table
            .read_object(&mut self.inline_loop, device, address);
        read.unwrap()
    }

    /// Asserts that a device is as the file of [`by_force`] demands.
    fn judge(&mut self, device: usize) {
        assert_eq!(self.object(device, 0x1C12, 0), [2]);
        assert_eq!(self.object(device, 0x1C12, 2), 0x1602_u16.to_le_bytes());
        let width_first = 0x6000_0220_u32.to_le_bytes();
        assert_eq!(self.object(device, 0x1A00, 1), width_first);
        assert_eq!(self.object(device, 0x8000, 1), 2003_u16.to_le_bytes());
        assert_eq!(self.object(device, 0x8000, 2), 100_000_u32.to_le_bytes());
        assert_eq!(self.object(device, 0x8010, 2), 0x22_u16.to_le_bytes());
        // Kadenz does not write the file's value for the transition to OP.
        assert_eq!(self.object(device, 0x8000, 3), [0]);
    }
}

#[test]
fn devices_get_the_pdos_and_the_values_of_the_file_and_again_after_they_lost_their_power() {
    let mut rig = Rig::by(segment(3, |_| ()), &by_force());
    for device in 0..3 {
        rig.judge(device);
    }
    let middle = rig.device(1);
    rig.inject(WireFault::PowerCycle(middle, 50_000_000));
    rig.run(MS * 100);
    rig.until_well();
    rig.judge(1);
}

#[test]
fn devices_pulse_by_the_mode_of_the_file_and_by_that_of_their_memory_where_none_describes_them() {
    let text = GRIPPER.replace("Factor=\"2\"", "Factor=\"4\"");
    let (mut link, found) = found(segment(2, |_| ()), &text);
    let (devices, matched) = found.unwrap();
    let clocks = with(&mut link, |it| {
        clocks::measure(it, &devices, &clocks::ClockSettings::default()).unwrap()
    });
    let cycles = |matched: &Matched| {
        let pulses = matched.pulses(&devices, &clocks, 1_000_000, 5_000);
        let each = pulses.iter().map(|it| (it.1.cycle0_ns, it.1.shift0_ns));
        each.collect::<Vec<_>>()
    };
    assert_eq!(cycles(&matched), [(4_000_000, 30_000); 2]);
    assert_eq!(cycles(&Matched::default()), [(2_000_000, 30_000); 2]);
}

#[test]
fn mapped_entries_have_the_names_of_the_file() {
    let text = by_force().replace("Target force", "Newtons");
    // The device's own memory has no names.
    let (mut link, found) = found(segment(1, |it| it.pdos_in_sii = false), &text);
    let (mut devices, matched) = found.unwrap();
    let mut managers = with(&mut link, |it| mapping::read(it, &mut devices[0]).unwrap());
    matched.of(&devices[0]).unwrap().name_entries(&mut managers);
    assert_eq!(managers[0].direction, Direction::Outputs);
    assert_eq!(managers[0].pdos[1].entries[0].name, "Newtons");
    assert_eq!(managers[1].pdos[0].entries[0].name, "Width");
}

#[test]
fn a_device_that_reports_nothing_of_its_process_data_has_what_the_file_says() {
    let reports_nothing = |it: &mut Description| {
        (it.coe, it.pdos_in_sii) = (None, false);
        it.sync_managers.drain(..2);
        it.fixed.mailboxes = Default::default();
        it.fixed.protocols = Default::default();
    };
    let text = GRIPPER
        .replace("MBoxOut", "Unused")
        .replace("MBoxIn", "Unused");
    let mut link = Link::new(WirePort::new(segment(1, reports_nothing)), 1);
    let alone = with(&mut link, |it| bring_up::find(it).unwrap());
    assert_eq!(alone[0].process_data.demand().outputs, 0);
    let (devices, _) = with(&mut link, |it| find(it, &described(&text)).unwrap());
    let demand = devices[0].process_data.demand();
    assert_eq!((demand.outputs, demand.inputs), (6, 6));
}

#[test]
fn a_device_that_refuses_a_value_of_the_file_is_named_with_the_object() {
    let text = GRIPPER.replace(
        "<Index>#x8000</Index><SubIndex>1<",
        "<Index>#x8000</Index><SubIndex>9<",
    );
    let (_, refused) = found(segment(1, |_| ()), &text);
    let said = refused.map(|_| ()).unwrap_err().to_string();
    for part in [
        "SubDevice 0",
        "0x8000:09 (Kind of grip)",
        "sub-index",
        "revision",
    ] {
        assert!(said.to_lowercase().contains(&part.to_lowercase()), "{said}");
    }
}

#[test]
fn a_device_whose_pdos_are_as_the_file_wants_them_is_read_and_not_written() {
    let fixed = |it: &mut Description| {
        // The device does not allow writes of lists and mappings.
        it.general.coe &= !(coe_details::PDO_ASSIGN | coe_details::PDO_CONFIG);
        it.pdos.iter_mut().for_each(|pdo| pdo.flags |= 0x10);
    };
    let (_, found) = found(segment(1, fixed), GRIPPER);
    let (devices, _) = found.unwrap();
    let demand = devices[0].process_data.demand();
    assert_eq!((demand.outputs, demand.inputs), (6, 6));
}

#[test]
fn a_device_stays_where_its_memory_has_it_where_the_file_does_not_say() {
    let mut text = GRIPPER.to_owned();
    for start in ["#x1000", "#x1080", "#x1100", "#x1180"] {
        text = text.replace(&format!("StartAddress=\"{start}\""), "");
    }
    let (_, found) = found(segment(1, |_| ()), &text);
    let (devices, _) = found.unwrap();
    let mailboxes = devices[0].mailboxes;
    assert_eq!(
        (mailboxes.receive.start, mailboxes.send.start),
        (0x1000, 0x1080)
    );
    let data = &devices[0].process_data;
    let starts = (data.outputs[0].manager.start, data.inputs[0].manager.start);
    assert_eq!(starts, (0x1100, 0x1180));
}

#[test]
fn a_device_is_not_set_up_where_its_description_cannot_be_read() {
    let text = GRIPPER.replacen("<SubIndex>1<", "<SubIndex>300<", 1);
    let (_, refused) = found(segment(1, |_| ()), &text);
    let said = refused.map(|_| ()).unwrap_err().to_string();
    for part in ["SubDevice 0", "line 14: \"300\"", "omit it"] {
        assert!(said.contains(part), "{said}");
    }
    // A description of another product has no effect on the device.
    let text = text.replace("ProductCode=\"18\"", "ProductCode=\"19\"");
    let (_, found) = found(segment(1, |_| ()), &text);
    assert!(found.unwrap().1.is_empty());
}
