//! How long devices that need a setup take to come back, in virtual time; a device that fails its setup delays no
//! other.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod tended;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use kadenz_ethercat::control::notice::Event;
use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::clocks::{self, Bounds, Clocks, Epoch};
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Exchange as _, Registers};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::motion::{self, axis};
use kadenz_ethercat::port::Side;
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::fault::WireFault;
use kadenz_ethercat::sim::file::Kind;
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::sim::{
    Application, Cable, Decision, DeviceId, DeviceSettings, End, Pdi, Segment, Signal, StateChange,
    Time,
};
use kadenz_ethercat::wire::coe::Address;
use kadenz_ethercat::wire::register::{DC_ACTIVATION, DC_SYNC0_CYCLE};
use kadenz_ethercat::wire::{AlStatus, AlStatusCode, State};

use tended::{Rig, Tended as _};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const CYCLE_NS: u32 = 1_000_000;
/// The shift of the devices' pulses after a whole cycle.
const SHIFT_NS: i32 = 250_000;
/// Drives of the whole humanoid.
const DRIVES: usize = 50;
/// A drive in the middle of a leg.
const DRIVE: usize = 8;

/// A peculiarity of a device's firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartBehaviour {
    Good,
    /// The device reads its mailbox and answers nothing, from its second power-on on.
    Mute,
    /// The device goes to OP only while SYNC0 pulses.
    NeedsSync,
}

struct Firmware {
    inner: Box<dyn Application>,
    behaviour: StartBehaviour,
    power_ons: u32,
    /// The time of the last SYNC0, by the segment's clock and by the device's own.
    pulse: Option<(Time, u64)>,
}

impl Application for Firmware {
    fn power_on(&mut self, pdi: &mut dyn Pdi) {
        self.power_ons += 1;
        self.pulse = None;
        self.inner.power_on(pdi);
    }

    fn change(&mut self, change: StateChange, pdi: &mut dyn Pdi) -> Decision {
        let pulses = self
            .pulse
            .is_some_and(|it| pdi.now().since(it.0) < 2_000_000);
        if change.to == State::Op && self.behaviour == StartBehaviour::NeedsSync && !pulses {
            return Decision::Refuse(AlStatusCode::NO_SYNC);
        }
        self.inner.change(change, pdi)
    }

    fn changed(&mut self, from: State, to: State, pdi: &mut dyn Pdi) {
        self.inner.changed(from, to, pdi);
    }

    fn mailbox(&mut self, message: &[u8], pdi: &mut dyn Pdi) {
        if self.behaviour != StartBehaviour::Mute || self.power_ons < 2 {
            self.inner.mailbox(message, pdi);
        }
    }

    fn outputs_written(&mut self, sync_manager: u8, pdi: &mut dyn Pdi) {
        self.inner.outputs_written(sync_manager, pdi);
    }

    fn inputs_read(&mut self, sync_manager: u8, pdi: &mut dyn Pdi) {
        self.inner.inputs_read(sync_manager, pdi);
    }

    fn sync(&mut self, signal: Signal, pdi: &mut dyn Pdi) {
        self.pulse = Some((pdi.now(), pdi.system_time()));
        self.inner.sync(signal, pdi);
    }

    fn watchdog_expired(&mut self, pdi: &mut dyn Pdi) {
        self.inner.watchdog_expired(pdi);
    }

    fn next_run(&self) -> Time {
        self.inner.next_run()
    }

    fn run(&mut self, pdi: &mut dyn Pdi) {
        self.inner.run(pdi);
    }

    fn fail(&mut self, code: u16, pdi: &mut dyn Pdi) {
        self.inner.fail(code, pdi);
    }
}

/// A humanoid whose drives may have peculiar firmware.
fn segment(devices: usize, behaviour: impl Fn(usize) -> StartBehaviour) -> Segment {
    let mut segment = Segment::new(59);
    for (number, placed) in humanoid(devices).devices.iter().enumerate() {
        let mut model = placed.model().unwrap();
        if matches!(placed.kind, Kind::Drive(_)) {
            model.application = Box::new(Firmware {
                inner: model.application,
                behaviour: behaviour(number),
                power_ons: 0,
                pulse: None,
            });
        }
        let settings = DeviceSettings {
            drift_ppm: placed.drift_ppm,
            ..DeviceSettings::default()
        };
        let device = segment.add(model, settings).unwrap();
        let before = match placed.parent {
            None => End::Main(Side::Primary),
            Some(parent) => End::Device(DeviceId(parent.device as u16), parent.port),
        };
        let cable = Cable {
            delay_ns: placed.delay_ns,
            jitter_ns: placed.jitter_ns,
        };
        segment
            .connect(before, End::Device(device, 0), cable)
            .unwrap();
    }
    segment
}

impl Rig {
    /// A rig in SAFEOP, with running pulses if `pulses` is set.
    fn new(segment: Segment, control: axis::Control, pulses: bool) -> Self {
        let mut link = Link::new(WirePort::new(segment), 1);
        let mut exchange = BlockingExchange::over(&mut link);
        let mut registers = Registers::by(&mut exchange);
        let mut devices = find(&mut registers).unwrap();
        let mut plan = motion::demo(&mut registers, &mut devices).unwrap();
        for axis in &mut plan.axes {
            axis.control = control;
        }
        let runners = plan.commission(&mut registers, &mut devices).unwrap();
        let drives = motion::setups(&mut registers, &mut devices, &runners, plan.cycle).unwrap();
        let clocks = pulses.then(|| pulsing(&mut registers, &devices));
        let reference = clocks.as_ref().and_then(Clocks::reference);
        let cycle = prepare(&mut registers, &mut devices, reference).unwrap();
        let set_up = motion::as_commissioned(drives, clocks);
        Self::of(link, cycle, devices, Some(set_up))
    }

    /// Whether all devices are well, except perhaps one.
    fn others_are_well(&self, but: usize) -> bool {
        let all = self.device_table.all();
        all.iter().all(|it| it.device == but || it.is_well())
    }

    /// Switches these devices off, all at once, for `off`.
    fn power_cycle(&mut self, positions: impl IntoIterator<Item = usize>, off: Duration) {
        let all = self.segment().positions(Side::Primary);
        for position in positions {
            self.inject(WireFault::PowerCycle(all[position], off.as_nanos() as u64));
        }
        self.run(off);
    }

    /// The difference between a device's clock and that of the first device, in ns.
    fn apart(&mut self, position: usize) -> u64 {
        let (first, other) = (self.device(0), self.device(position));
        let port = self.inline_loop.link_mut().port_mut();
        let now = port.time();
        let time = |it| port.segment().device(it).unwrap().system_time(now);
        time(first).abs_diff(time(other))
    }

    /// SYNC0 of a device: its registers 0x0981 and 0x09A0, and how long after a whole cycle of system time it came
    /// last.
    fn pulse(&mut self, position: usize) -> (u8, u32, u64) {
        let id = self.device(position);
        let device = self.segment().device_mut(id).unwrap();
        let (mut active, mut cycle) = ([0], [0; 4]);
        device.peek(DC_ACTIVATION, &mut active);
        device.peek(DC_SYNC0_CYCLE, &mut cycle);
        let any: &mut dyn Any = device.application_mut();
        let pulse = any.downcast_mut::<Firmware>().unwrap().pulse;
        let later = pulse.unwrap().1 % u64::from(CYCLE_NS);
        (active[0], u32::from_le_bytes(cycle), later)
    }
}

fn pulsing(registers: &mut Registers<'_>, devices: &[SubDevice]) -> Clocks {
    let mut clocks =
        clocks::measure(registers, devices, &clocks::ClockSettings::default()).unwrap();
    clocks.set(registers, Epoch::Own).unwrap();
    clocks
        .align(registers, &Bounds::default(), &mut |_| {})
        .unwrap();
    let wanted = clocks::pulses_by_sii(devices, &clocks, CYCLE_NS, SHIFT_NS);
    assert!(!wanted.is_empty());
    clocks.pulse(registers, wanted, MS * 100).unwrap();
    clocks
}

/// The PDO that a control assigns to a drive; the one for velocity is not the default.
fn pdo(control: axis::Control) -> [u8; 2] {
    match control {
        axis::Control::Velocity => 0x1601_u16.to_le_bytes(),
        _ => 0x1600_u16.to_le_bytes(),
    }
}

#[test]
fn all_of_59_that_lost_their_power_at_once_are_set_up_and_in_op_within_a_second() {
    for (control, pulses) in [
        (axis::Control::Position, false),
        (axis::Control::Velocity, false),
        (axis::Control::Velocity, true),
    ] {
        let what = format!("{control:?}, pulses: {pulses}");
        let mut rig = Rig::new(segment(59, |_| StartBehaviour::Good), control, pulses);
        rig.until("at the start", Rig::is_well);
        rig.run(MS * 50);
        rig.power_cycle([DRIVE], MS * 200);
        let took = rig.until("one of them", Rig::is_well);
        println!("59 devices, {what}: {took:?} for a drive");
        assert!(took <= SECOND, "{what}: {took:?}");
        rig.run(MS * 50);
        rig.power_cycle(0..59, MS * 200);
        assert!(!rig.device_table.is_well());
        let took = rig.until("all of them", Rig::is_well);
        println!("59 devices, {what}: {took:?} for all at once");
        assert!(took <= SECOND, "{what}: {took:?}");
        let device_table = Arc::clone(&rig.device_table);
        let all = device_table.all();
        let drives: Vec<_> = all.iter().filter(|it| it.name == "KZ-Drive").collect();
        assert_eq!(drives.len(), DRIVES);
        for drive in drives {
            let list = Address::new(0x1C12, 1);
            let assigned = device_table.read_object(&mut rig.inline_loop, drive.device, list);
            assert_eq!(assigned.unwrap(), pdo(control));
        }
    }
}

#[test]
fn a_mute_mailbox_delays_no_other_device() {
    let mute = DeviceId(8);
    let behaviour = |number| match number == usize::from(mute.0) {
        true => StartBehaviour::Mute,
        false => StartBehaviour::Good,
    };
    let mut rig = Rig::new(segment(59, behaviour), axis::Control::Velocity, false);
    rig.until("at the start", Rig::is_well);
    let order = rig.segment().positions(Side::Primary);
    let mute = order.iter().position(|it| *it == mute).unwrap();
    rig.run(MS * 50);
    while rig.notices.try_next().is_some() {}
    rig.power_cycle(0..59, MS * 200);
    let took = rig.until("the others", |it| it.others_are_well(mute));
    println!("58 devices beside a mute one: {took:?}");
    assert!(took <= SECOND, "{took:?}");
    rig.run(SECOND * 4);
    assert!(rig.others_are_well(mute) && !rig.device_table.is_well());
    let notices: Vec<_> = std::iter::from_fn(|| rig.notices.try_next()).collect();
    let mut failed = notices
        .iter()
        .filter(|it| matches!(it.event, Event::Setup { .. }));
    let of = |it: &kadenz_ethercat::control::notice::Notice| it.device.as_ref().unwrap().device;
    assert!(failed.clone().count() > 0 && failed.all(|it| of(it) == mute));
}

#[test]
fn a_device_in_use_by_another_caller_delays_no_other_device() {
    let mut rig = Rig::new(
        segment(20, |_| StartBehaviour::Good),
        axis::Control::Velocity,
        false,
    );
    rig.until("at the start", Rig::is_well);
    let device_table = Arc::clone(&rig.device_table);
    device_table
        .with(DRIVE, |_| {
            rig.power_cycle(0..20, MS * 200);
            let took = rig.until("the others", |it| it.others_are_well(DRIVE));
            assert!(took <= SECOND, "{took:?}");
            rig.run(MS * 100);
            assert!(!rig.device_table.status(DRIVE).unwrap().is_well());
        })
        .unwrap();
    let took = rig.until("and that one", Rig::is_well);
    assert!(took <= SECOND, "{took:?}");
}

#[test]
fn a_read_during_a_set_up_is_refused_and_the_set_up_goes_on() {
    let mut rig = Rig::new(
        segment(10, |_| StartBehaviour::Good),
        axis::Control::Velocity,
        false,
    );
    rig.until("at the start", Rig::is_well);
    rig.power_cycle([DRIVE], MS * 200);
    let (device_table, mode) = (Arc::clone(&rig.device_table), Address::new(0x6060, 0));
    let mut refused = 0;
    let start = rig.inline_loop.now();
    while !rig.is_well() {
        let pause = rig.supervisor.step(&mut rig.inline_loop).unwrap();
        rig.inline_loop.pause(pause);
        if let Err(error) = device_table.read_object(&mut rig.inline_loop, DRIVE, mode) {
            refused += u32::from(error.to_string().contains("being set up"));
        }
        assert!(rig.inline_loop.now().since(start) < 60_000_000_000);
    }
    assert!(refused > 0);
    assert_eq!(
        device_table
            .read_object(&mut rig.inline_loop, DRIVE, mode)
            .unwrap(),
        [9]
    );
}

#[test]
fn a_device_that_goes_during_its_set_up_is_set_up_when_it_is_back() {
    let mut rig = Rig::new(
        segment(10, |_| StartBehaviour::Good),
        axis::Control::Velocity,
        false,
    );
    rig.until("at the start", Rig::is_well);
    rig.power_cycle([DRIVE], MS * 200);
    for _ in 0..3 {
        let in_pre_op = AlStatus::new(State::PreOp, false).0;
        rig.until("in PREOP", |it| {
            it.device_table.status(DRIVE).unwrap().status == in_pre_op
        });
        rig.run(MS * 30);
        rig.power_cycle([DRIVE], MS * 50);
    }
    let took = rig.until("at last", Rig::is_well);
    assert!(took <= SECOND, "{took:?}");
}

#[test]
fn firmware_that_takes_its_time_is_brought_back_too() {
    for reaction in [MS, MS * 20, MS * 75] {
        let mut rig = Rig::new(
            segment(10, |_| StartBehaviour::Good),
            axis::Control::Position,
            false,
        );
        for id in rig.segment().positions(Side::Primary) {
            let device = rig.segment().device_mut(id).unwrap();
            device.set_reaction(reaction.as_nanos() as u64);
        }
        rig.until("at the start", Rig::is_well);
        let id = rig.device(DRIVE);
        rig.inject(WireFault::Leave(id, State::SafeOp, AlStatusCode::WATCHDOG));
        rig.run(MS * 10);
        let took = rig.until("left OP", Rig::is_well);
        assert!(took <= SECOND, "{reaction:?}: {took:?}");
        rig.power_cycle([DRIVE], MS * 200);
        let took = rig.until("power cycle", Rig::is_well);
        assert!(took <= SECOND, "{reaction:?}: {took:?}");
    }
}

#[test]
fn drives_that_need_sync0_come_to_op_only_with_it_and_again_after_they_lost_power() {
    let all = || segment(12, |_| StartBehaviour::NeedsSync);
    let mut rig = Rig::new(all(), axis::Control::Position, false);
    rig.run(SECOND * 2);
    assert!(!rig.device_table.status(DRIVE).unwrap().is_well());
    let is_refusal =
        |it: &Event| matches!(it, Event::State { code, .. } if *code == AlStatusCode::NO_SYNC.0);
    let mut notices = std::iter::from_fn(|| rig.notices.try_next());
    assert!(notices.any(|it| is_refusal(&it.event)));

    let mut rig = Rig::new(all(), axis::Control::Position, true);
    rig.until("at the start", Rig::is_well);
    rig.run(MS * 300);
    let before = rig.pulse(DRIVE);
    assert_eq!((before.0, before.1), (3, CYCLE_NS));
    assert!(before.2.abs_diff(SHIFT_NS as u64) < 1_000, "{before:?}");
    rig.power_cycle([DRIVE], MS * 200);
    let took = rig.until("power cycle", Rig::is_well);
    assert!(took <= SECOND, "{took:?}");
    rig.run(MS * 300);
    let after = rig.pulse(DRIVE);
    assert_eq!((after.0, after.1), (3, CYCLE_NS));
    assert!(after.2.abs_diff(SHIFT_NS as u64) < 1_000, "{after:?}");
    // All devices at once, with the reference, whose clock has to be set before the others.
    rig.power_cycle(0..12, MS * 200);
    let took = rig.until("all of them", Rig::is_well);
    assert!(took <= SECOND, "{took:?}");
    rig.run(MS * 300);
    for drive in [5, DRIVE, 10] {
        let (active, cycle, later) = rig.pulse(drive);
        assert_eq!((active, cycle), (3, CYCLE_NS));
        assert!(later.abs_diff(SHIFT_NS as u64) < 1_000, "{drive}: {later}");
        let apart = rig.apart(drive);
        assert!(apart < 1_000, "{drive}: {apart} ns from the reference");
    }
}
