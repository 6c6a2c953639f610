//! A drive that loses its power while it moves comes back as it was commissioned, in virtual time.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod tended;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kadenz_ethercat::control::cyclic::{Controller as _, CycleContext};
use kadenz_ethercat::control::inline_loop::InlineLoop;
use kadenz_ethercat::control::notice::{Event, Subscription};
use kadenz_ethercat::control::supervisor::{DeviceTable, SegmentSupervisor};
use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::clocks::{self, Bounds, Clocks, Epoch};
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::main_device::mailbox::Mail;
use kadenz_ethercat::main_device::sdo;
use kadenz_ethercat::motion::axis::Control;
use kadenz_ethercat::motion::pid::Gains;
use kadenz_ethercat::motion::{self, AxisGroup, Cause, MotionHandle, Stage};
use kadenz_ethercat::port::Side;
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::fault::WireFault;
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::wire::State;
use kadenz_ethercat::wire::cia402::{DriveState, object};
use kadenz_ethercat::wire::coe::Address;

use tended::Tended;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
/// The time of the reference clock when the clocks were set.
const EPOCH_NS: u64 = 1_000_000_000_000_000;
const DEVICES: usize = 10;
/// A drive in the middle of a leg.
const DRIVE: usize = 6;
/// A sensor: it has inputs and no axis.
const IMU: usize = 3;

/// Playing axes, their loop, its supervisor and a segment, all in one thread.
struct Rig {
    inline_loop: InlineLoop<WirePort>,
    supervisor: SegmentSupervisor,
    device_table: Arc<DeviceTable>,
    group: Arc<Mutex<AxisGroup<'static>>>,
    handle: &'static MotionHandle,
    notices: Subscription,
}

impl Rig {
    /// A rig whose drives all play under that control.
    fn playing(control: Control, with_clocks: bool) -> Self {
        Self::prepared(control, with_clocks, |_, _| ())
    }

    /// The same; `prepare_one` may write to the drive before its commissioning.
    fn prepared(
        control: Control,
        with_clocks: bool,
        prepare_one: impl FnOnce(&mut Registers<'_>, &mut SubDevice),
    ) -> Self {
        let mut link = Link::new(WirePort::new(humanoid(DEVICES).build().unwrap()), 1);
        let mut exchange = BlockingExchange::over(&mut link);
        let mut registers = Registers::by(&mut exchange);
        let mut devices = find(&mut registers).unwrap();
        prepare_one(&mut registers, &mut devices[DRIVE]);
        let mut plan = motion::demo(&mut registers, &mut devices).unwrap();
        for axis in &mut plan.axes {
            axis.control = control;
            axis.gains = Gains {
                proportional: 20.0,
                ..Gains::default()
            };
        }
        let runners = plan.commission(&mut registers, &mut devices).unwrap();
        let drives = motion::setups(&mut registers, &mut devices, &runners, plan.cycle).unwrap();
        let clocks = with_clocks.then(|| aligned(&mut registers, &devices));
        let reference = clocks.as_ref().and_then(Clocks::reference);
        let cycle = prepare(&mut registers, &mut devices, reference).unwrap();
        let layout = cycle.layout().clone();
        let handle: &'static MotionHandle = Box::leak(Box::default());
        let mut inline_loop = InlineLoop::new(link, cycle, MS);
        let supervisor = SegmentSupervisor::new(devices, &layout, inline_loop.health())
            .with_setup(motion::as_commissioned(drives, clocks));
        let group = AxisGroup::new(runners, plan.safety, handle);
        let group = group.with_device_table(supervisor.device_table());
        let group = Arc::new(Mutex::new(group));
        let playing = Arc::clone(&group);
        inline_loop
            .control(move |context: &mut CycleContext<'_>| playing.lock().unwrap().beat(context))
            .unwrap();
        let notices = supervisor.notices().subscribe(10_000);
        let mut rig = Self {
            notices,
            device_table: supervisor.device_table(),
            inline_loop,
            supervisor,
            group,
            handle,
        };
        rig.until("at the start", Rig::plays);
        rig.run(MS * 500);
        assert!(rig.plays());
        rig
    }

    fn stage(&self) -> Stage {
        self.group.lock().unwrap().stage()
    }

    fn plays(&self) -> bool {
        matches!(self.stage(), Stage::Playing(_))
    }

    fn is_well(&self) -> bool {
        self.device_table.is_well() && self.inline_loop.health().snapshot().is_whole
    }

    fn power_cycle(&mut self, device: usize, off: Duration) {
        let id = self.device(device);
        self.inject(WireFault::PowerCycle(id, off.as_nanos() as u64));
    }

    /// An object of the drive.
    fn object(&mut self, index: u16, sub: u8) -> Vec<u8> {
        let address = Address::new(index, sub);
        self.device_table
            .read_object(&mut self.inline_loop, DRIVE, address)
            .unwrap()
    }

    /// The offset of each device's clock from that of the first device, in ns, and the time of the latter.
    fn clocks(&mut self) -> (Vec<i64>, u64) {
        let port = self.inline_loop.link_mut().port_mut();
        let now = port.time();
        let devices = port.segment_mut().positions(Side::Primary);
        let times = devices.iter().map(|it| {
            let device = port.segment_mut().device(*it).unwrap();
            device.system_time(now)
        });
        let times: Vec<_> = times.collect();
        let first = times[0];
        let apart = |it: &u64| it.wrapping_sub(first).cast_signed();
        (times.iter().map(apart).collect(), first)
    }

    /// Positions and states of all axes.
    fn axes(&self) -> Vec<(f64, DriveState)> {
        let group = self.group.lock().unwrap();
        let readings = group.runners().iter().map(|it| it.reading().unwrap());
        readings.map(|it| (it.position, it.state())).collect()
    }

    /// The cycles that each axis has played, and its greatest tracking error.
    fn tracking(&self) -> Vec<(u64, f64)> {
        let group = self.group.lock().unwrap();
        let all = group.runners().iter().map(|it| it.tracking());
        all.map(|it| (it.cycles, it.greatest)).collect()
    }
}

impl Tended for Rig {
    fn hands(&mut self) -> (&mut InlineLoop<WirePort>, &mut SegmentSupervisor) {
        (&mut self.inline_loop, &mut self.supervisor)
    }
}

fn aligned(registers: &mut Registers<'_>, devices: &[SubDevice]) -> Clocks {
    let clocks = clocks::measure(registers, devices, &clocks::ClockSettings::default()).unwrap();
    clocks.set(registers, Epoch::Now(EPOCH_NS)).unwrap();
    clocks
        .align(registers, &Bounds::default(), &mut |_| {})
        .unwrap();
    clocks
}

#[test]
fn a_moving_drive_that_lost_its_power_is_set_up_again_and_moves_again_after_a_reset() {
    for (control, pdo, mode) in [
        // Its default mapping has no velocity.
        (Control::Velocity, 0x1601_u16, 9_u8),
        (Control::Position, 0x1600, 8),
    ] {
        let mut rig = Rig::playing(control, false);
        rig.power_cycle(DRIVE, MS * 200);
        rig.run(MS * 200);
        let Stage::Stopped(cause) = rig.stage() else {
            panic!("{control:?}: {:?}", rig.stage());
        };
        assert!(matches!(cause, Cause::Lost(_)), "{cause:?}");
        let took = rig.until("power cycle", Rig::is_well);
        assert!(took < SECOND, "{took:?}");
        assert_eq!(rig.object(0x1C12, 1), pdo.to_le_bytes());
        assert_eq!(rig.object(0x6060, 0), [mode]);
        assert_eq!(rig.object(0x60C2, 1), [1]);
        assert_eq!(rig.object(0x60C2, 2), [(-3_i8).cast_unsigned()]);

        // The group stays stopped for the first cause, while cycles are complete.
        rig.run(SECOND);
        let before = rig.axes();
        let wrong = rig.inline_loop.health().snapshot().wrong;
        rig.run(SECOND);
        assert_eq!(rig.inline_loop.health().snapshot().wrong, wrong);
        assert_eq!(rig.stage(), Stage::Stopped(cause));
        for ((position, state), (before, _)) in rig.axes().into_iter().zip(before) {
            assert!(!state.has_torque(), "{state:?}");
            assert!((position - before).abs() < 1e-3, "{position} {before}");
        }

        rig.handle.reset();
        rig.until("reset", Rig::plays);
        let before = rig.tracking();
        rig.run(SECOND);
        for ((cycles, greatest), (before, _)) in rig.tracking().into_iter().zip(before) {
            assert!(cycles >= before + 990, "{cycles} {before}");
            assert!(greatest < 0.05, "{greatest} rad");
        }
        let enabled = |it: &(f64, DriveState)| it.1 == DriveState::OperationEnabled;
        assert!(rig.axes().iter().all(enabled));
    }
}

#[test]
fn a_clock_that_lost_its_power_is_set_again_even_the_reference() {
    let mut rig = Rig::playing(Control::Position, true);
    let (apart, before) = rig.clocks();
    let with_clock: Vec<_> = apart.iter().map(|it| it.abs() < 1_000).collect();
    assert_eq!(with_clock.iter().filter(|it| !**it).count(), 1, "{apart:?}");
    assert!(with_clock[DRIVE]);
    for device in [DRIVE, 0] {
        rig.power_cycle(device, MS * 200);
        rig.run(MS * 200);
        rig.until("power cycle", Rig::is_well);
        rig.run(SECOND);
        let (apart, now) = rig.clocks();
        assert!(now > before, "{now} {before}");
        assert!(now < EPOCH_NS + 100_000_000_000, "{now}");
        for (apart, _) in apart.iter().zip(&with_clock).filter(|it| *it.1) {
            assert!(apart.abs() < 1_000, "{apart} ns after {device}");
        }
    }
}

#[test]
fn a_reset_before_the_drive_is_back_moves_no_axis_until_it_is() {
    let mut rig = Rig::playing(Control::Position, false);
    rig.power_cycle(DRIVE, MS * 500);
    rig.run(MS * 200);
    assert!(
        matches!(rig.stage(), Stage::Stopped(_)),
        "{:?}",
        rig.stage()
    );
    rig.handle.reset();
    rig.run(MS * 200);
    let before = rig.axes();
    rig.run(MS * 50);
    assert_eq!(rig.stage(), Stage::Enabling);
    for ((position, _), (before, _)) in rig.axes().into_iter().zip(before) {
        assert!((position - before).abs() < 1e-3, "{position} {before}");
    }
    rig.until("back", Rig::plays);
}

#[test]
fn axes_are_enabled_also_while_a_device_that_moves_nothing_is_not_in_op() {
    let mut rig = Rig::playing(Control::Position, false);
    rig.device_table.want(IMU, State::SafeOp).unwrap();
    rig.power_cycle(DRIVE, MS * 200);
    rig.run(MS * 200);
    rig.until("power cycle", Rig::is_well);
    assert!(!rig.device_table.operates(IMU) && rig.device_table.operates(DRIVE));
    rig.handle.reset();
    rig.until("reset", Rig::plays);
}

#[test]
fn a_drive_that_does_not_come_to_op_is_named_as_the_cause() {
    let mut rig = Rig::playing(Control::Position, false);
    rig.device_table.want(DRIVE, State::SafeOp).unwrap();
    rig.until("SAFEOP", |it| !it.device_table.operates(DRIVE));
    rig.run(SECOND);
    rig.handle.reset();
    // The drive has ten seconds to come to OP, and ten to be enabled.
    rig.run(MS * 19_900);
    assert_eq!(rig.stage(), Stage::Enabling);
    rig.run(MS * 200);
    let group = rig.group.lock().unwrap();
    let mut axes = group.runners().iter();
    let late = axes.position(|it| it.axis().device() == DRIVE).unwrap();
    assert_ne!(late, 0);
    let stage = group.stage();
    let is_it = matches!(stage, Stage::Stopped(Cause::NotEnabled { axis, .. }) if axis == late);
    assert!(is_it, "{stage:?}");
}

#[test]
fn all_drives_that_lost_their_power_are_set_up_again() {
    let mut rig = Rig::playing(Control::Velocity, false);
    for device in (0..DEVICES).rev() {
        rig.power_cycle(device, MS * 200);
    }
    rig.run(MS * 200);
    rig.until("all of them", Rig::is_well);
    assert!(
        matches!(rig.stage(), Stage::Stopped(_)),
        "{:?}",
        rig.stage()
    );
    rig.handle.reset();
    rig.until("reset", Rig::plays);
    let greatest = |it: &(u64, f64)| it.1 < 0.05;
    rig.run(SECOND);
    assert!(rig.plays());
    assert!(rig.tracking().iter().all(greatest), "{:?}", rig.tracking());
}

#[test]
fn a_drive_that_comes_back_with_other_units_moves_no_axis_and_says_why() {
    // The drive loses a polarity that was set and not stored with its power.
    let turn = |registers: &mut Registers<'_>, device: &mut SubDevice| {
        let (target, mailboxes) = (device.target(), device.mailboxes);
        let (counter, emergencies) = (&mut device.counter, &mut device.emergencies);
        let mut mail = Mail::of(target, mailboxes, counter, emergencies).unwrap();
        let polarity = Address::new(object::POLARITY, 0);
        sdo::write(registers, &mut mail, polarity, false, &[0xC0]).unwrap();
    };
    let mut rig = Rig::prepared(Control::Position, false, turn);
    rig.power_cycle(DRIVE, MS * 200);
    rig.run(SECOND * 2);
    rig.handle.reset();
    rig.run(SECOND);
    let before = rig.axes();
    rig.run(SECOND * 2);
    assert_eq!(rig.stage(), Stage::Enabling);
    for ((position, _), (before, _)) in rig.axes().into_iter().zip(before) {
        assert!((position - before).abs() < 1e-3, "{position} {before}");
    }
    assert!(!rig.device_table.status(DRIVE).unwrap().is_well());
    let mut notices = std::iter::from_fn(|| rig.notices.try_next());
    let is_why = |event: &Event| matches!(event, Event::Setup { why } if why.contains("polarity"));
    assert!(
        notices.any(|it| is_why(&it.event)),
        "no notice gives the reason"
    );
    // With the polarity as before, the drive moves with the others.
    let polarity = Address::new(object::POLARITY, 0);
    let device_table = Arc::clone(&rig.device_table);
    device_table
        .write_object(&mut rig.inline_loop, DRIVE, polarity, &[0xC0])
        .unwrap();
    rig.until("set right", Rig::plays);
}
