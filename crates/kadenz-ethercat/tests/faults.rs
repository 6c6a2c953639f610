//! All faults of a wire, one by one, in virtual time: process data goes on, the supervisor brings lost devices back,
//! and a notice reports every event.
//!
//! Longer than 500 lines: the faults are one list, each a short test with the same rig.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod tended;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kadenz_ethercat::control::inline_loop::InlineLoop;
use kadenz_ethercat::control::notice::{Event, Notice, Subscription};
use kadenz_ethercat::control::supervisor::{
    DeviceTable, SegmentSupervisor, Serials, SupervisorSettings,
};
use kadenz_ethercat::main_device::bring_up::find;
use kadenz_ethercat::main_device::cycle::{BESIDES, Cycle, Outcome};
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{
    BlockingExchange, Exchange, ExchangeError, FrameBuffer, Registers, Target,
};
use kadenz_ethercat::main_device::layout::{Layout, room};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::port::Side;
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::fault::{Fault, FrameFault, When, WireFault};
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::sim::{CableId, DeviceId, End, Segment};
use kadenz_ethercat::wire::register::{AL_STATUS, FMMU, STATION_ADDRESS};
use kadenz_ethercat::wire::sii::Image;
use kadenz_ethercat::wire::{AlStatusCode, Position, State};
use kadenz_rt::clock::MonotonicTime;

use tended::Tended;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// A loop, its supervisor and a segment, all in one thread.
struct Rig {
    inline_loop: InlineLoop<WirePort>,
    supervisor: SegmentSupervisor,
    device_table: Arc<DeviceTable>,
    notices: Subscription,
    /// Whether each cycle was whole.
    whole: Arc<Mutex<Vec<bool>>>,
}

/// Discovers the devices of a segment.
fn found(segment: Segment) -> (Link<WirePort>, Vec<SubDevice>) {
    let mut link = Link::new(WirePort::new(segment), 1);
    let mut exchange = BlockingExchange::over(&mut link);
    let found = find(&mut Registers::by(&mut exchange)).unwrap();
    (link, found)
}

impl Rig {
    /// A rig with known devices, on a wire where some may be missing.
    fn of(link: Link<WirePort>, devices: Vec<SubDevice>, settings: SupervisorSettings) -> Self {
        let demands: Vec<_> = devices.iter().map(|it| it.process_data.demand()).collect();
        let layout = Layout::of(&demands, room(BESIDES)).unwrap();
        let cycle = Cycle::new(layout.clone(), None).unwrap();
        let mut inline_loop = InlineLoop::new(link, cycle, MS);
        let whole = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&whole);
        inline_loop.after_beat(move |_, _, outcome| noted.lock().unwrap().push(outcome.is_whole()));
        let supervisor =
            SegmentSupervisor::new(devices, &layout, inline_loop.health()).with_settings(settings);
        Self {
            inline_loop,
            device_table: supervisor.device_table(),
            notices: supervisor.notices().subscribe(10_000),
            supervisor,
            whole,
        }
    }

    /// A rig with `devices` devices of the humanoid, in OP.
    fn in_op(devices: usize) -> Self {
        let (link, found) = found(humanoid(devices).build().unwrap());
        let mut rig = Self::of(link, found, SupervisorSettings::default());
        rig.until_well("at the start", SECOND * 5);
        rig.run(MS * 50);
        rig.notices();
        rig
    }

    /// Runs until all devices are in their states and process data is complete; returns how long this took.
    fn until_well(&mut self, what: &str, at_most: Duration) -> Duration {
        let start = self.inline_loop.now();
        loop {
            self.step();
            let took = Duration::from_nanos(self.inline_loop.now().since(start) as u64);
            if self.device_table.is_well() && self.inline_loop.health().snapshot().is_whole {
                return took;
            }
            if took > at_most {
                let ill: Vec<_> = self.device_table.all();
                let ill: Vec<_> = ill.iter().filter(|it| !it.is_well()).collect();
                panic!("{what}: {ill:#?}\n{}", list(&self.notices()));
            }
        }
    }

    fn notices(&mut self) -> Vec<Notice> {
        std::iter::from_fn(|| self.notices.try_next()).collect()
    }

    /// The cable before a device.
    fn cable(&mut self, position: usize) -> CableId {
        let device = self.device(position);
        self.segment().cable_at(End::Device(device, 0)).unwrap()
    }

    /// The number of incomplete cycles since the last call.
    fn broken_cycles(&mut self) -> usize {
        let mut whole = self.whole.lock().unwrap();
        let broken = whole.iter().filter(|it| !**it).count();
        whole.clear();
        broken
    }

    /// Station addresses of all powered devices.
    fn stations(&mut self) -> Vec<u16> {
        let devices = self.segment().positions(Side::Primary);
        let segment = self.segment();
        let station = |it: &DeviceId| {
            let mut bytes = [0; 2];
            segment
                .device(*it)
                .unwrap()
                .peek(STATION_ADDRESS, &mut bytes);
            u16::from_le_bytes(bytes)
        };
        devices.iter().map(station).collect()
    }
}

impl Tended for Rig {
    fn hands(&mut self) -> (&mut InlineLoop<WirePort>, &mut SegmentSupervisor) {
        (&mut self.inline_loop, &mut self.supervisor)
    }
}

fn list(notices: &[Notice]) -> String {
    let lines: Vec<_> = notices.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn has_event(notices: &[Notice], device: Option<usize>, is_it: impl Fn(&Event) -> bool) -> bool {
    let mut all = notices.iter();
    all.any(|it| it.device.as_ref().map(|it| it.device) == device && is_it(&it.event))
}

/// An exchange on which no frame is answered.
struct Deaf(MonotonicTime);

impl Exchange for Deaf {
    fn exchange(&mut self, _: &mut FrameBuffer) -> Result<(), ExchangeError> {
        self.0 = self.0 + SECOND;
        Err(ExchangeError::Lost(SECOND, 1))
    }

    fn pause(&mut self, span: Duration) {
        self.0 = self.0 + span;
    }

    fn now(&self) -> MonotonicTime {
        self.0
    }
}

#[test]
fn an_unlucky_question_is_not_the_loss_of_all_while_process_data_comes_back() {
    let mut rig = Rig::in_op(3);
    let mut deaf = Deaf(rig.inline_loop.now() + SECOND);
    for _ in 0..3 {
        rig.supervisor.step(&mut deaf).unwrap();
        deaf.pause(SECOND);
    }
    let is_lost = |it: &Notice| matches!(it.event, Event::WireLost | Event::Lost);
    let notices = rig.notices();
    assert!(!notices.iter().any(is_lost), "{}", list(&notices));
    let nothing = Outcome {
        sent: 1,
        ..Outcome::default()
    };
    rig.inline_loop.health().note(&nothing);
    rig.supervisor.step(&mut deaf).unwrap();
    let notices = rig.notices();
    assert!(notices.iter().any(is_lost), "{}", list(&notices));
}

#[test]
fn the_supervisor_alone_brings_the_humanoid_to_op() {
    for devices in [1, 59, 128] {
        let (link, found) = found(humanoid(devices).build().unwrap());
        let mut rig = Rig::of(link, found, SupervisorSettings::default());
        rig.until_well("at the start", SECOND * 5);
        rig.broken_cycles();
        rig.run(MS * 300);
        assert_eq!(rig.broken_cycles(), 0);
        let notices = rig.notices();
        let to_op = |it: &&Notice| matches!(it.event, Event::State { to: 8, .. });
        assert_eq!(notices.iter().filter(to_op).count(), devices);
    }
}

#[test]
fn a_faulty_frame_costs_its_cycle_is_reported_and_loses_no_device() {
    let mut rig = Rig::in_op(59);
    for fault in [
        FrameFault::Lose { after: None },
        FrameFault::Lose { after: Some(20) },
        FrameFault::Corrupt { after: None },
        FrameFault::Corrupt { after: Some(30) },
        FrameFault::Delay { ns: 5_000_000 },
        FrameFault::Duplicate { ns: 100_000 },
        FrameFault::Truncate { length: 40 },
        FrameFault::Truncate { length: 3 },
        FrameFault::Skew { by: -1 },
        FrameFault::Skew { by: 3 },
    ] {
        // Long enough that the supervisor reports an event again.
        rig.run(SECOND + SECOND);
        rig.notices();
        rig.broken_cycles();
        let now = rig.inline_loop.link_mut().port_mut().time();
        rig.segment().inject(Fault::Frame(fault), now);
        rig.run(MS * 4);
        assert!(rig.broken_cycles() <= 1, "{fault:?}");
        rig.run(SECOND * 2);
        assert_eq!(rig.broken_cycles(), 0, "{fault:?}");
        let notices = rig.notices();
        let is_reported = has_event(&notices, None, |it| match it {
            Event::Frames {
                lost,
                late,
                foreign,
                damaged,
                ..
            } => lost + late + foreign + damaged > 0,
            Event::WorkingCounter { .. } => true,
            _ => false,
        });
        assert!(is_reported, "{fault:?}: {}", list(&notices));
        let lost = notices
            .iter()
            .any(|it| matches!(it.event, Event::Lost | Event::State { .. }));
        assert!(!lost, "{fault:?}: {}", list(&notices));
    }
}

#[test]
fn frames_that_go_wrong_by_chance_end_nothing_and_lose_no_device() {
    for fault in [
        FrameFault::Lose { after: None },
        FrameFault::Garble { bits: 3 },
        FrameFault::Truncate { length: 50 },
        FrameFault::Skew { by: -1 },
        FrameFault::Delay { ns: 3_000_000 },
        FrameFault::Duplicate { ns: 500_000 },
    ] {
        let mut rig = Rig::in_op(20);
        let id = rig
            .segment()
            .faults()
            .add(When::Chance(0.05), Fault::Frame(fault))
            .unwrap();
        rig.run(SECOND * 3);
        rig.segment().faults().remove(id);
        rig.until_well(&format!("{fault:?}"), SECOND);
        let notices = rig.notices();
        let bad = |it: &&Notice| {
            matches!(
                it.event,
                Event::Lost | Event::Unknown { .. } | Event::Moved { .. }
            )
        };
        let bad: Vec<_> = notices.iter().filter(bad).collect();
        assert!(bad.is_empty(), "{fault:?}: {bad:#?}");
        rig.run(MS * 20);
        rig.broken_cycles();
        rig.run(MS * 200);
        assert_eq!(rig.broken_cycles(), 0, "{fault:?}");
    }
}

#[test]
fn a_device_that_was_power_cycled_in_the_middle_is_found_again() {
    let mut rig = Rig::in_op(59);
    let stations = rig.stations();
    // The device at the end, one in the middle of a limb (those behind it are cut off), and the first one.
    for position in [58, 30, 0] {
        let device = rig.device(position);
        rig.inject(WireFault::PowerCycle(device, 300_000_000));
        rig.run(MS * 290);
        assert!(
            rig.device_table
                .status(position)
                .unwrap()
                .position
                .is_none()
        );
        rig.run(MS * 10);
        let took = rig.until_well(&format!("position {position}"), SECOND);
        assert!(took <= SECOND, "{took:?}");
        assert_eq!(
            rig.stations(),
            stations,
            "no two devices have the same address"
        );
        let notices = rig.notices();
        assert!(has_event(&notices, Some(position), |it| *it == Event::Lost));
        let back = |it: &Event| matches!(it, Event::Back { powered: false, .. });
        assert!(
            has_event(&notices, Some(position), back),
            "{}",
            list(&notices)
        );
        let op = |it: &Event| matches!(it, Event::State { to: 8, .. });
        assert!(
            has_event(&notices, Some(position), op),
            "{}",
            list(&notices)
        );
        rig.run(MS * 10);
        rig.broken_cycles();
        rig.run(MS * 100);
        assert_eq!(rig.broken_cycles(), 0);
    }
}

#[test]
fn the_whole_segment_power_cycled_comes_back() {
    let mut rig = Rig::in_op(59);
    let stations = rig.stations();
    for position in (0..59).rev() {
        let device = rig.device(position);
        rig.inject(WireFault::PowerCycle(device, 200_000_000));
    }
    rig.run(MS * 200);
    rig.until_well("all of them", SECOND);
    assert_eq!(rig.stations(), stations);
    let notices = rig.notices();
    assert!(has_event(&notices, None, |it| *it == Event::WireLost));
    assert!(has_event(&notices, None, |it| *it == Event::WireBack));
}

#[test]
fn a_cable_that_was_cut_and_healed_gives_back_all_behind_it() {
    let mut rig = Rig::in_op(59);
    for position in [0, 10, 40] {
        let cable = rig.cable(position);
        rig.inject(WireFault::Cut(cable));
        // Long enough for the watchdogs.
        rig.run(MS * 500);
        assert!(
            rig.device_table
                .status(position)
                .unwrap()
                .position
                .is_none()
        );
        rig.inject(WireFault::Heal(cable));
        rig.until_well(&format!("cable before {position}"), SECOND);
        let notices = rig.notices();
        assert!(has_event(&notices, Some(position), |it| *it == Event::Lost));
        let back = |it: &Event| matches!(it, Event::Back { powered: true, .. });
        assert!(
            has_event(&notices, Some(position), back),
            "{}",
            list(&notices)
        );
        let watchdog = AlStatusCode::WATCHDOG.0;
        let by_watchdog = |it: &Notice| matches!(it.event, Event::State { to: 0x14, code, .. } if code == watchdog);
        assert!(notices.iter().any(by_watchdog), "{}", list(&notices));
        if position > 0 {
            let link = |it: &Notice| matches!(it.event, Event::LinkDown { .. });
            assert!(notices.iter().any(link), "{}", list(&notices));
            let link = |it: &Notice| matches!(it.event, Event::LinkUp { .. });
            assert!(notices.iter().any(link), "{}", list(&notices));
        }
    }
}

#[test]
fn a_link_that_flaps_for_seconds_is_survived() {
    let mut rig = Rig::in_op(59);
    let cable = rig.cable(20);
    for round in 0..10 {
        let down = 20_000_000 + round * 37_000_000;
        rig.inject(WireFault::Flap(cable, down));
        rig.run(Duration::from_nanos(down));
        rig.until_well(&format!("flap {round}"), SECOND);
        rig.run(MS * 500);
    }
    let notices = rig.notices();
    let downs = notices
        .iter()
        .filter(|it| matches!(it.event, Event::LinkDown { .. }));
    assert!(
        downs.count() >= 9,
        "one of 20 ms may be too short to be seen by the link alone"
    );
}

#[test]
fn a_device_that_leaves_its_state_is_brought_back_with_the_reason() {
    let mut rig = Rig::in_op(20);
    for (position, state, code) in [
        (5, State::SafeOp, AlStatusCode::WATCHDOG),
        (6, State::PreOp, AlStatusCode::BAD_SYNC_MANAGER),
        (7, State::Init, AlStatusCode::RESTARTED),
        (8, State::SafeOp, AlStatusCode::FATAL_SYNC),
    ] {
        let device = rig.device(position);
        rig.inject(WireFault::Leave(device, state, code));
        rig.run(MS * 20);
        rig.until_well(&format!("{state}"), SECOND);
        let notices = rig.notices();
        let left =
            |it: &Event| matches!(it, Event::State { from: 8, code: it, .. } if *it == code.0);
        assert!(
            has_event(&notices, Some(position), left),
            "{}",
            list(&notices)
        );
    }
}

#[test]
fn an_emergency_is_reported() {
    let mut rig = Rig::in_op(20);
    let position = 6;
    let device = rig.device(position);
    rig.inject(WireFault::Fail(device, 0x4310));
    rig.run(MS * 300);
    let notices = rig.notices();
    let hot = |it: &Event| matches!(it, Event::Emergency { code: 0x4310, .. });
    assert!(
        has_event(&notices, Some(position), hot),
        "{}",
        list(&notices)
    );
    assert_eq!(rig.device_table.status(position).unwrap().emergencies, 1);
}

#[test]
fn a_device_that_was_absent_at_the_start_joins_and_the_others_do_not_wait_for_it() {
    let (_, devices) = found(humanoid(20).build().unwrap());
    let mut segment = humanoid(20).build().unwrap();
    let last = segment.positions(Side::Primary)[19];
    let now = segment.now();
    segment.inject(Fault::Wire(WireFault::PowerOff(last)), now);
    let link = Link::new(WirePort::new(segment), 1);
    let mut rig = Rig::of(link, devices, SupervisorSettings::default());
    rig.run(SECOND);
    let all = rig.device_table.all();
    assert!(all[..19].iter().all(|it| it.is_well()), "{all:#?}");
    assert!(all[19].position.is_none());
    assert!(has_event(&rig.notices(), Some(19), |it| *it == Event::Lost));
    let inputs = rig.inline_loop.cycle_mut().inputs().to_vec();
    rig.run(MS * 50);
    assert_ne!(
        rig.inline_loop.cycle_mut().inputs(),
        inputs,
        "the others' inputs go on"
    );
    rig.inject(WireFault::PowerOn(last));
    rig.until_well("hot connect", SECOND);
}

#[test]
fn inputs_of_a_device_that_is_gone_stay_as_they_were() {
    let mut rig = Rig::in_op(20);
    let position = (0..20)
        .rev()
        .find(|it| {
            rig.inline_loop.cycle_mut().layout().shares[*it]
                .inputs
                .len()
                > 4
        })
        .unwrap();
    let share = rig.inline_loop.cycle_mut().layout().shares[position]
        .inputs
        .clone();
    let before = rig.inline_loop.cycle_mut().inputs()[share.clone()].to_vec();
    assert!(before.iter().any(|it| *it != 0));
    let device = rig.device(position);
    let whole = rig.inline_loop.cycle_mut().inputs().to_vec();
    rig.inject(WireFault::PowerOff(device));
    let last = rig.inline_loop.cycle_mut().inputs()[share.clone()].to_vec();
    rig.run(MS * 100);
    assert_eq!(rig.inline_loop.cycle_mut().inputs()[share], last);
    assert_ne!(
        rig.inline_loop.cycle_mut().inputs(),
        whole,
        "the others' go on"
    );
}

#[test]
fn an_unknown_device_is_reported_once() {
    let (_, devices) = found(humanoid(20).build().unwrap());
    // The serial numbers of the larger robot's devices are the same, except for its additional last device.
    let segment = humanoid(21).build().unwrap();
    let link = Link::new(WirePort::new(segment), 1);
    let mut rig = Rig::of(link, devices, SupervisorSettings::default());
    rig.until_well("the known ones", SECOND * 2);
    let unknown = |it: &Notice| {
        matches!(
            it.event,
            Event::Unknown {
                identity: Some(_),
                ..
            }
        )
    };
    assert_eq!(rig.notices().iter().filter(|it| unknown(it)).count(), 1);
    rig.run(SECOND * 3);
    assert!(
        !rig.notices().iter().any(unknown),
        "the supervisor reports it once"
    );
}

/// Devices of the same kind that change places while their power is off are known by their serial numbers.
#[test]
fn a_device_that_moved_is_known_and_reported() {
    let mut rig = Rig::in_op(20);
    let (a, b) = two_alike(&rig.device_table);
    let (at_a, at_b) = (rig.device(a), rig.device(b));
    for device in [at_b, at_a] {
        rig.inject(WireFault::PowerOff(device));
    }
    rig.run(MS * 50);
    let sii_a = rig.segment().device(at_a).unwrap().sii().to_vec();
    let sii_b = rig.segment().device(at_b).unwrap().sii().to_vec();
    rig.segment()
        .device_mut(at_a)
        .unwrap()
        .sii_mut()
        .copy_from_slice(&sii_b);
    rig.segment()
        .device_mut(at_b)
        .unwrap()
        .sii_mut()
        .copy_from_slice(&sii_a);
    for device in [at_a, at_b] {
        rig.inject(WireFault::PowerOn(device));
    }
    rig.until_well("changed places", SECOND);
    let status = |it| rig.device_table.status(it).unwrap();
    assert_eq!(status(a).position, Some(b as u16));
    assert_eq!(status(b).position, Some(a as u16));
    let notices = rig.notices();
    let moved = |it: &Notice| matches!(it.event, Event::Moved { .. });
    assert!(notices.iter().any(moved), "{}", list(&notices));
    let mut stations = rig.stations();
    stations.sort_unstable();
    stations.dedup();
    assert_eq!(stations.len(), 20, "no address is twice on the wire");
}

/// Two drives of one kind.
fn two_alike(device_table: &DeviceTable) -> (usize, usize) {
    let all = device_table.all();
    for a in &all {
        let same = |it: &&_| {
            let it: &kadenz_ethercat::control::supervisor::DeviceStatus = it;
            it.device > a.device && it.identity[..3] == a.identity[..3]
        };
        if let Some(b) = all.iter().find(same) {
            return (a.device, b.device);
        }
    }
    panic!("a humanoid has several drives");
}

/// Writes a byte of a device's EEPROM, such as one of its serial number; returns the byte before.
fn rewrite(rig: &mut Rig, device: DeviceId, word: usize, value: u8) -> u8 {
    let sii = rig.segment().device_mut(device).unwrap().sii_mut();
    std::mem::replace(&mut sii[2 * word], value)
}

#[test]
fn an_eeprom_that_says_something_else_makes_a_device_unknown_until_it_is_mended() {
    let mut rig = Rig::in_op(20);
    let position = 12;
    let device = rig.device(position);
    // The product code.
    let right = rewrite(&mut rig, device, 0x0A, 0xEE);
    rig.inject(WireFault::PowerCycle(device, 50_000_000));
    rig.run(SECOND);
    let notices = rig.notices();
    let unknown = |it: &Event| matches!(it, Event::Unknown { .. });
    assert!(has_event(&notices, None, unknown), "{}", list(&notices));
    assert!(
        rig.device_table
            .status(position)
            .unwrap()
            .position
            .is_none()
    );
    // The EEPROM is written again, without a power cycle.
    rewrite(&mut rig, device, 0x0A, right);
    rig.until_well("repaired", SECOND * 6);
}

#[test]
fn another_of_the_same_kind_takes_a_place_only_where_that_is_allowed() {
    for (serials, taken) in [(Serials::MayDiffer, true), (Serials::MustMatch, false)] {
        let (link, devices) = found(humanoid(20).build().unwrap());
        let settings = SupervisorSettings {
            serials,
            ..SupervisorSettings::default()
        };
        let mut rig = Rig::of(link, devices, settings);
        rig.until_well("at the start", SECOND * 5);
        let device = rig.device(12);
        rewrite(&mut rig, device, 0x0E, 0xEE);
        rig.inject(WireFault::PowerCycle(device, 50_000_000));
        rig.run(SECOND);
        assert_eq!(rig.device_table.status(12).unwrap().is_well(), taken);
        let notices = rig.notices();
        let replaced = |it: &Event| matches!(it, Event::Replaced { now: 0xEE, .. });
        assert_eq!(
            has_event(&notices, Some(12), replaced),
            taken,
            "{}",
            list(&notices)
        );
    }
}

/// As with a device of another bench that kept the address which another MainDevice had given it.
#[test]
fn an_address_that_is_twice_on_the_wire_is_sorted_out() {
    let (link, devices) = found(humanoid(21).build().unwrap());
    let stations: Vec<_> = devices.iter().map(|it| it.station.0).collect();
    let mut rig = Rig::of(link, devices, SupervisorSettings::default());
    rig.until_well("at the start", SECOND * 5);
    rig.run(MS * 50);
    rig.notices();
    let thief = Target::At(Position(15));
    Registers::by(&mut rig.inline_loop)
        .put_u16(thief, STATION_ADDRESS, stations[7])
        .unwrap();
    rig.run(MS * 200);
    rig.until_well("sorted out", SECOND);
    assert_eq!(rig.stations(), stations);
    let notices = rig.notices();
    let back = |it: &Event| matches!(it, Event::Back { .. });
    assert!(has_event(&notices, Some(15), back), "{}", list(&notices));
    // The device that had the address goes on.
    let any = |_: &Event| true;
    assert!(!has_event(&notices, Some(7), any), "{}", list(&notices));
}

#[test]
fn a_device_that_another_main_device_had_is_set_up_anew() {
    let mut rig = Rig::in_op(6);
    let device = Target::At(Position(5));
    let mut registers = Registers::by(&mut rig.inline_loop);
    let ours: [u8; 16] = registers.get(device, FMMU).unwrap();
    let mut theirs = ours;
    // Another logical address, in its second byte.
    theirs[1] ^= 0x10;
    registers.write(device, FMMU, &theirs).unwrap();
    registers.put_u16(device, STATION_ADDRESS, 0x7000).unwrap();
    rig.run(MS * 200);
    rig.until_well("set up", SECOND * 5);
    let mut registers = Registers::by(&mut rig.inline_loop);
    assert_eq!(registers.get::<16>(device, FMMU).unwrap(), ours);
}

#[test]
fn an_unknown_device_that_another_main_device_had_in_op_leaves_the_process_data() {
    let mut rig = Rig::in_op(6);
    let device = rig.device(5);
    // The product code.
    rewrite(&mut rig, device, 0x0A, 0xEE);
    let target = Target::At(Position(5));
    let mut registers = Registers::by(&mut rig.inline_loop);
    assert_ne!(registers.get::<16>(target, FMMU).unwrap(), [0; 16]);
    registers.put_u16(target, STATION_ADDRESS, 0x7000).unwrap();
    rig.run(SECOND);
    let notices = rig.notices();
    let unknown = |it: &Event| matches!(it, Event::Unknown { .. });
    assert!(has_event(&notices, None, unknown), "{}", list(&notices));
    let mut registers = Registers::by(&mut rig.inline_loop);
    let init = u16::from(State::Init.number());
    assert_eq!(registers.get_u16(target, AL_STATUS).unwrap(), init);
    assert_eq!(registers.get::<16>(target, FMMU).unwrap(), [0; 16]);
}

#[test]
fn a_device_that_refuses_is_asked_again_with_pauses_that_grow() {
    let mut rig = Rig::in_op(6);
    let position = 5;
    let device = rig.device(position);
    let id = rig
        .segment()
        .faults()
        .add(
            When::Every {
                first: kadenz_ethercat::sim::Time::ZERO,
                period: 3_000_000,
            },
            Fault::Wire(WireFault::Leave(
                device,
                State::SafeOp,
                AlStatusCode::NO_OUTPUTS,
            )),
        )
        .unwrap();
    rig.run(SECOND * 4);
    let notices = rig.notices();
    let tries = notices.iter().filter_map(|it| match it.event {
        Event::Stuck { tries, .. } => Some(tries),
        _ => None,
    });
    let tries = tries.max();
    assert!(
        tries.is_some_and(|it| (5..60).contains(&it)),
        "{tries:?} tries in 4 s"
    );
    let stuck = |it: &Event| matches!(it, Event::Stuck { .. });
    assert!(has_event(&notices, Some(position), stuck));
    rig.segment().faults().remove(id);
    rig.until_well("when it ends", SECOND);
}

#[test]
fn a_device_wanted_in_another_state_goes_there_and_stays() {
    let mut rig = Rig::in_op(20);
    for state in [State::SafeOp, State::PreOp, State::Init, State::Op] {
        rig.device_table.want(9, state).unwrap();
        rig.run(MS * 300);
        let status = rig.device_table.status(9).unwrap();
        assert_eq!(status.status, u16::from(state.number()), "{state}");
    }
    assert!(rig.device_table.want(20, State::Op).is_err());
    rig.until_well("all in OP again", SECOND);
}

#[test]
fn setup_is_done_on_every_way_up() {
    let (link, devices) = found(humanoid(6).build().unwrap());
    let mut rig = Rig::of(link, devices, SupervisorSettings::default());
    let times = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&times);
    let health = rig.inline_loop.health();
    let (_, devices) = found(humanoid(6).build().unwrap());
    let layout = rig.inline_loop.cycle_mut().layout().clone();
    rig.supervisor =
        SegmentSupervisor::new(devices, &layout, health).with_setup(Box::new(move |device, _| {
            *counted.lock().unwrap() += i32::from(device.name == "KZ-Drive");
            Ok(())
        }));
    rig.device_table = rig.supervisor.device_table();
    rig.until_well("at the start", SECOND * 5);
    let drives = *times.lock().unwrap();
    assert!(drives > 0);
    let device = rig.device(5);
    rig.inject(WireFault::PowerCycle(device, 50_000_000));
    rig.run(MS * 60);
    rig.until_well("power cycle", SECOND);
    assert_eq!(*times.lock().unwrap(), drives + 1);
}

#[test]
fn the_bytes_to_overwrite_are_product_and_serial() {
    let (_, devices) = found(humanoid(6).build().unwrap());
    let fixed = Image::of(&devices[5].sii).unwrap().fixed();
    assert_eq!(devices[5].sii[2 * 0x0A], fixed.identity.product as u8);
    assert_eq!(devices[5].sii[2 * 0x0E], fixed.identity.serial as u8);
}
