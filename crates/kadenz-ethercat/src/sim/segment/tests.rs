use super::*;
use crate::description::{Hardware, PortKind};
use crate::sim::Passive;
use crate::wire::sync_manager::SyncManagerControl;
use crate::wire::{
    AlStatus, Command, Configured, DatagramAddress, DlStatus, Fmmu, FrameWriter, Logical,
    PortStatus, Position, State, SyncManager,
};

mod ends;
mod many;

pub(super) fn model() -> Model {
    let mut sii = vec![0; 128];
    sii[14] = 0x30;
    Model {
        hardware: Hardware::et1100().with_ports([PortKind::Cable; 4]),
        sii,
        application: Box::new(Passive),
    }
}

pub(super) fn line(devices: usize) -> Segment {
    Segment::line((0..devices).map(|_| model()), 1).unwrap()
}

/// A MainDevice that sends one datagram a frame.
struct Sender {
    segment: Segment,
    now: Time,
    side: Side,
}

impl Sender {
    fn new(segment: Segment) -> Self {
        Self {
            segment,
            now: Time(1_000),
            side: Side::Primary,
        }
    }

    fn frame(
        &mut self,
        command: Command,
        address: DatagramAddress,
        data: &[u8],
    ) -> (Vec<u8>, Passed) {
        let mut frame = vec![0; 1514];
        let mut writer = FrameWriter::new(&mut frame, [0x10; 6]).unwrap();
        let slot = writer.push(command, 7, address, data.len()).unwrap();
        writer.data(slot).copy_from_slice(data);
        let length = writer.finish();
        frame.truncate(length);
        self.now = self.now.after(1_000_000);
        let passed = self.segment.pass_from(self.side, &mut frame, self.now);
        (frame, passed)
    }

    /// Data and working counter on return.
    fn send(&mut self, command: Command, address: DatagramAddress, data: &[u8]) -> (Vec<u8>, u16) {
        let (frame, passed) = self.frame(command, address, data);
        assert!(matches!(passed, Passed::Returned { .. }), "{passed:?}");
        let datagram = Datagrams::of(&frame).unwrap().next().unwrap().unwrap();
        (datagram.data.to_vec(), datagram.working_counter)
    }

    fn count(&mut self) -> u16 {
        self.send(Command::Brd, DatagramAddress::broadcast(0), &[0])
            .1
    }

    fn at(&mut self, position: u16, command: Command, register: u16, data: &[u8]) -> Vec<u8> {
        let address = DatagramAddress::position(Position(position), register);
        let (data, count) = self.send(command, address, data);
        assert_eq!(count, 1, "device {position}, register {register:04X}");
        data
    }

    fn read_u32(&mut self, position: u16, register: u16) -> u32 {
        let data = self.at(position, Command::Aprd, register, &[0; 4]);
        u32::from_le_bytes(data.try_into().unwrap())
    }

    fn name_all(&mut self) {
        for position in 0..self.segment.len() as u16 {
            let station = (0x1000 + position).to_le_bytes();
            self.at(position, Command::Apwr, register::STATION_ADDRESS, &station);
        }
    }
}

fn id(device: u16) -> DeviceId {
    DeviceId(device)
}

fn port(device: u16, port: u8) -> End {
    End::Device(DeviceId(device), port)
}

#[test]
fn every_device_of_a_line_counts_and_steps_the_position() {
    let mut sender = Sender::new(line(59));
    let (frame, _) = sender.frame(Command::Brd, DatagramAddress::broadcast(0), &[0]);
    let datagram = Datagrams::of(&frame).unwrap().next().unwrap().unwrap();
    assert_eq!((datagram.working_counter, datagram.data), (59, &[0x11][..]));
    assert_eq!(datagram.address.device(), 59);
    assert_eq!(frame[6], 0x12, "marked as returned");
}

#[test]
fn a_configured_address_finds_its_device_alone() {
    let mut sender = Sender::new(line(20));
    sender.name_all();
    let address =
        |station| DatagramAddress::configured(Configured(station), register::STATION_ADDRESS);
    let (data, count) = sender.send(Command::Fprd, address(0x1007), &[0; 2]);
    assert_eq!((data, count), (vec![0x07, 0x10], 1));
    assert_eq!(sender.send(Command::Fprd, address(0x1014), &[0; 2]).1, 0);
    sender.at(3, Command::Apwr, register::STATION_ADDRESS, &[0x07, 0x10]);
    assert_eq!(
        sender.send(Command::Fprd, address(0x1007), &[0; 2]).1,
        2,
        "two of one name"
    );
    assert_eq!(sender.send(Command::Fprd, address(0x1003), &[0; 2]).1, 0);
}

#[test]
fn process_data_of_all_goes_in_one_datagram() {
    let mut sender = Sender::new(line(10));
    for position in 0..10 {
        let output = SyncManager::new(0x1100, 2, SyncManagerControl::OUTPUTS).to_bytes();
        sender.at(position, Command::Apwr, register::SYNC_MANAGER, &output);
        let map = Fmmu::bytes(0x2000 + 2 * u32::from(position), 2, 0x1100).writing();
        sender.at(position, Command::Apwr, register::FMMU, &map.to_bytes());
    }
    let data: Vec<u8> = (0..20).collect();
    let address = DatagramAddress::logical(Logical(0x2000));
    assert_eq!(sender.send(Command::Lrw, address, &data).1, 20);
    assert_eq!(sender.send(Command::Lwr, address, &data).1, 10);
    assert_eq!(sender.send(Command::Lwr, address, &data[..3]).1, 2);
    let mut bytes = [0; 2];
    let device = sender.segment.device(id(7)).unwrap();
    device.peek(0x1100, &mut bytes);
    assert_eq!(bytes, [14, 15]);
}

/// A tree: 0 has 1 at port 3, 2 at port 1 and 3 at port 2; 4 is behind 1.
pub(super) fn tree() -> Segment {
    let mut segment = Segment::new(1);
    for _ in 0..5 {
        segment.add(model(), DeviceSettings::default()).unwrap();
    }
    let cable = Cable {
        delay_ns: 500,
        jitter_ns: 0,
    };
    for (a, b) in [
        (End::Main(Side::Primary), port(0, 0)),
        (port(0, 3), port(1, 0)),
        (port(0, 1), port(2, 0)),
        (port(0, 2), port(3, 0)),
        (port(1, 1), port(4, 0)),
    ] {
        segment.connect(a, b, cable).unwrap();
    }
    segment
}

#[test]
fn branches_are_passed_in_the_order_of_ports() {
    let mut segment = tree();
    let order = segment.positions(Side::Primary);
    assert_eq!(order, [0, 1, 4, 2, 3].map(DeviceId));
    let mut sender = Sender::new(segment);
    let status = sender.at(0, Command::Aprd, register::DL_STATUS, &[0; 2]);
    assert_eq!(status, 0xAAF1_u16.to_le_bytes(), "all four open");
    let status = sender.at(2, Command::Aprd, register::DL_STATUS, &[0; 2]);
    let status = DlStatus(u16::from_le_bytes(status.try_into().unwrap()));
    assert_eq!(status.port(0), PortStatus::Open, "device 4, the last");
    assert_eq!(status.port(1), PortStatus::Unplugged);
}

#[test]
fn receive_times_show_the_delays_of_the_branches() {
    let mut sender = Sender::new(tree());
    let (_, count) = sender.send(
        Command::Bwr,
        DatagramAddress::broadcast(register::DC_RECEIVE_TIME),
        &[0; 4],
    );
    assert_eq!(count, 5);
    let times = [0_u16, 12, 4, 8].map(|it| sender.read_u32(0, register::DC_RECEIVE_TIME + it));
    let since = times.map(|it| it.wrapping_sub(times[0]));
    // Into port 3 behind two devices there and back, then port 1, then port 2.
    assert_eq!(since, [0, 2_000, 3_000, 4_000]);
    let behind = [0_u16, 4].map(|it| sender.read_u32(1, register::DC_RECEIVE_TIME + it));
    assert_eq!(behind[1].wrapping_sub(behind[0]), 1_000);
}

fn ring(devices: u16) -> (Segment, Vec<CableId>) {
    let mut segment = line(devices.into());
    let back = segment
        .connect(
            port(devices - 1, 1),
            End::Main(Side::Redundant),
            Cable::default(),
        )
        .unwrap();
    let mut cables: Vec<_> = (0..devices)
        .map(|device| segment.cable_at(port(device, 0)).unwrap())
        .collect();
    cables.push(back);
    (segment, cables)
}

#[test]
fn a_ring_goes_on_with_a_cut_cable_by_both_sides() {
    let (segment, cables) = ring(6);
    let mut sender = Sender::new(segment);
    let (_, passed) = sender.frame(Command::Brd, DatagramAddress::broadcast(0), &[0]);
    let Passed::Returned { side, .. } = passed else {
        panic!("{passed:?}");
    };
    assert_eq!(side, Side::Redundant);
    sender.side = Side::Redundant;
    assert_eq!(sender.count(), 0, "the other way round no device processes");

    let cut = Fault::Wire(WireFault::Cut(cables[2]));
    sender.segment.inject(cut, sender.now);
    assert_eq!(sender.count(), 4, "from the far side");
    sender.side = Side::Primary;
    assert_eq!(sender.count(), 2);
    let healed = Fault::Wire(WireFault::Heal(cables[2]));
    sender.segment.inject(healed, sender.now);
    assert_eq!(sender.count(), 6);
}

#[test]
fn a_frame_that_went_round_is_destroyed() {
    let (segment, cables) = ring(4);
    let mut sender = Sender::new(segment);
    let cut = Fault::Wire(WireFault::Cut(cables[1]));
    sender.segment.inject(cut, sender.now);
    sender.side = Side::Redundant;
    let mut frame = [0; 60];
    let mut writer = FrameWriter::new(&mut frame, [0x10; 6]).unwrap();
    let address = DatagramAddress::broadcast(0);
    writer.push(Command::Brd, 0, address, 1).unwrap();
    writer.finish();
    let mut first = frame;
    let passed = sender
        .segment
        .pass_from(Side::Redundant, &mut first, sender.now);
    assert!(matches!(passed, Passed::Returned { .. }));
    assert_ne!(first[16 + 7] & 0x40, 0, "marked");
    let passed = sender
        .segment
        .pass_from(Side::Redundant, &mut first, sender.now);
    assert_eq!(passed, Passed::Lost(Loss::Circulated));
}

#[test]
fn a_port_held_open_into_nothing_loses_frames_and_one_held_closed_turns_them() {
    let mut sender = Sender::new(line(3));
    sender.at(1, Command::Apwr, register::DL_CONTROL + 1, &[0x0C]);
    assert_eq!(sender.count(), 2);
    sender.at(1, Command::Apwr, register::DL_CONTROL + 1, &[0x08]);
    assert_eq!(sender.count(), 3);
    sender.at(2, Command::Apwr, register::DL_CONTROL + 1, &[0x08]);
    let (_, passed) = sender.frame(Command::Brd, DatagramAddress::broadcast(0), &[0]);
    assert_eq!(passed, Passed::Lost(Loss::Nowhere));
}

#[test]
fn a_lost_frame_was_seen_by_those_before() {
    let mut sender = Sender::new(line(4));
    let lose = Fault::Frame(FrameFault::Lose { after: Some(2) });
    sender.segment.inject(lose, sender.now);
    let address = DatagramAddress::broadcast(0x1000);
    let (_, passed) = sender.frame(Command::Bwr, address, &[7]);
    assert_eq!(passed, Passed::Lost(Loss::Fault));
    let seen = [0, 1, 2, 3].map(|it| sender.at(it, Command::Aprd, 0x1000, &[0])[0]);
    assert_eq!(seen, [7, 7, 0, 0]);
    assert_eq!(sender.segment.counts().lost, 1);
}

#[test]
fn a_corrupted_frame_is_counted_where_it_broke_and_behind() {
    let mut sender = Sender::new(line(4));
    let corrupt = Fault::Frame(FrameFault::Corrupt { after: Some(1) });
    sender.segment.inject(corrupt, sender.now);
    let (_, passed) = sender.frame(Command::Brd, DatagramAddress::broadcast(0), &[0]);
    assert_eq!(passed, Passed::Lost(Loss::Corrupted));
    let invalid = [0, 1, 2, 3].map(|it| sender.at(it, Command::Aprd, register::RX_ERRORS, &[0])[0]);
    assert_eq!(invalid, [0, 1, 0, 0]);
    let behind =
        [0, 1, 2, 3].map(|it| sender.at(it, Command::Aprd, register::FORWARDED_ERRORS, &[0])[0]);
    assert_eq!(behind, [0, 0, 1, 1]);
}

#[test]
fn late_double_short_and_miscounted_frames_are_reported() {
    let mut sender = Sender::new(line(2));
    let (_, plain) = sender.frame(Command::Brd, DatagramAddress::broadcast(0), &[0]);
    let Passed::Returned { at: plain, .. } = plain else {
        panic!("{plain:?}");
    };
    let took = plain.since(sender.now);
    for fault in [
        FrameFault::Delay { ns: 5_000 },
        FrameFault::Duplicate { ns: 300 },
        FrameFault::Truncate { length: 20 },
        FrameFault::Skew { by: -1 },
    ] {
        sender.segment.inject(Fault::Frame(fault), sender.now);
    }
    let (frame, passed) = sender.frame(Command::Brd, DatagramAddress::broadcast(0), &[0]);
    let at = sender.now.after(took + 5_000);
    assert_eq!(
        passed,
        Passed::Returned {
            side: Side::Primary,
            at,
            held_ns: 5_000,
            length: 20,
            again: Some(at.after(300))
        }
    );
    let datagram = Datagrams::of(&frame).unwrap().next().unwrap().unwrap();
    assert_eq!(datagram.working_counter, 1);
    assert_eq!(sender.count(), 2, "the next is whole again");
}

#[test]
fn a_device_without_power_cuts_off_those_behind_and_begins_anew() {
    let mut sender = Sender::new(line(5));
    sender.name_all();
    let cycle = WireFault::PowerCycle(id(2), 10_000_000);
    sender.segment.inject(Fault::Wire(cycle), sender.now);
    assert_eq!(sender.count(), 2);
    let lost = sender.at(1, Command::Aprd, register::LOST_LINKS, &[0; 4]);
    assert_eq!(lost, [0, 1, 0, 0]);
    sender.now = sender.now.after(10_000_000);
    assert_eq!(sender.count(), 5);
    let station = |sender: &mut Sender, it| sender.at(it, Command::Aprd, 0x0010, &[0; 2]);
    assert_eq!(station(&mut sender, 2), [0, 0], "forgotten");
    assert_eq!(station(&mut sender, 3), [3, 0x10], "kept");
}

#[test]
fn a_device_may_leave_its_state_unasked() {
    let mut sender = Sender::new(line(2));
    sender.at(1, Command::Apwr, register::AL_CONTROL, &[2, 0]);
    let code = crate::wire::AlStatusCode::WATCHDOG;
    let leave = WireFault::Leave(id(1), State::Init, code);
    sender.segment.inject(Fault::Wire(leave), sender.now);
    let status = sender.at(1, Command::Aprd, register::AL_STATUS, &[0; 6]);
    assert_eq!(status[0], AlStatus::new(State::Init, true).0 as u8);
    assert_eq!(status[4..], [0x1B, 0]);
}

/// With delays measured by receive times and offsets set, clocks that drift by up to 50 ppm follow the
/// first within 100 ns, though frames jitter.
#[test]
fn clocks_follow_the_first_one() {
    let mut segment = Segment::new(9);
    let mut end = End::Main(Side::Primary);
    for device in 0..8_u16 {
        let settings = DeviceSettings {
            drift_ppm: f64::from(device) * 12.5 - 50.0,
            clock_start: u64::from(device) * 1_000_003,
            ..DeviceSettings::default()
        };
        let it = segment.add(model(), settings).unwrap();
        let cable = Cable {
            delay_ns: 700,
            jitter_ns: 20,
        };
        segment.connect(end, End::Device(it, 0), cable).unwrap();
        end = End::Device(it, 1);
    }
    let mut sender = Sender::new(segment);
    let latch = DatagramAddress::broadcast(register::DC_RECEIVE_TIME);
    sender.send(Command::Bwr, latch, &[0; 4]);
    let unit = |sender: &mut Sender, it| {
        let bytes = sender.at(it, Command::Aprd, register::DC_RECEIVE_TIME_UNIT, &[0; 8]);
        u64::from_le_bytes(bytes.try_into().unwrap())
    };
    let reference = unit(&mut sender, 0);
    for device in 1..8 {
        let delay = 710 * u64::from(device);
        let offset = (reference + delay).wrapping_sub(unit(&mut sender, device));
        sender.at(
            device,
            Command::Apwr,
            register::DC_OFFSET,
            &offset.to_le_bytes(),
        );
        let delay = (delay as u32).to_le_bytes();
        sender.at(device, Command::Apwr, register::DC_DELAY, &delay);
    }
    let follow = DatagramAddress::position(Position(0), register::DC_SYSTEM_TIME);
    for _ in 0..2_000 {
        sender.send(Command::Armw, follow, &[0; 8]);
    }
    let now = sender.segment.now();
    let time = |device| sender.segment.device(id(device)).unwrap().system_time(now);
    for device in 1..8 {
        let apart = time(device).wrapping_sub(time(0)) as i64;
        assert!(apart.abs() < 100, "device {device} is {apart} ns apart");
    }
    for device in 1..8 {
        let difference = sender.read_u32(device, register::DC_DIFFERENCE) & 0x7FFF_FFFF;
        assert!(difference < 100, "device {device} says {difference} ns");
    }
}

#[test]
fn jitter_is_the_same_for_the_same_seed() {
    let run = |seed| {
        let mut segment = Segment::new(seed);
        let it = segment.add(model(), DeviceSettings::default()).unwrap();
        let cable = Cable {
            delay_ns: 100,
            jitter_ns: 50,
        };
        let main = End::Main(Side::Primary);
        segment.connect(main, End::Device(it, 0), cable).unwrap();
        let mut sender = Sender::new(segment);
        let mut back = || {
            sender
                .frame(Command::Brd, DatagramAddress::broadcast(0), &[0])
                .1
        };
        [back(), back(), back()]
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn what_cannot_be_plugged_says_why() {
    let mut segment = line(1);
    let main = End::Main(Side::Primary);
    let lay = |segment: &mut Segment, a, b| segment.connect(a, b, Cable::default()).unwrap_err();
    assert_eq!(lay(&mut segment, main, port(0, 1)), CableError::Taken(main));
    assert_eq!(
        lay(&mut segment, port(7, 0), port(0, 1)),
        CableError::NoDevice(7, 1)
    );
    assert_eq!(
        lay(&mut segment, port(0, 4), port(0, 1)),
        CableError::NoPort(0, 4)
    );
    assert_eq!(
        lay(&mut segment, port(0, 1), port(0, 1)),
        CableError::Same(port(0, 1))
    );
}

#[test]
fn without_a_cable_nothing_comes_back() {
    let mut sender = Sender::new(Segment::new(1));
    let (_, passed) = sender.frame(Command::Brd, DatagramAddress::broadcast(0), &[0]);
    assert_eq!(passed, Passed::Lost(Loss::NoLink));
}

#[test]
fn passing_frames_allocates_nothing() {
    let mut segment = line(20);
    let mut frame = [0; 1400];
    let mut writer = FrameWriter::new(&mut frame, [0x10; 6]).unwrap();
    for command in Command::ALL {
        writer
            .push(command, 0, DatagramAddress::from_raw(0), 64)
            .unwrap();
    }
    let length = writer.finish();
    let mut pass = |now| segment.pass(&mut frame[..length], Time(now));
    pass(1);
    pass(2);
    let info = allocation_counter::measure(|| {
        pass(1_000_000);
        pass(2_000_000);
    });
    assert_eq!(info.count_total, 0);
}
