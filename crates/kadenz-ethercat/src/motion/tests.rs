use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::axis::{Control, Reading};
use super::pid::Gains;
use super::*;
use crate::control::cyclic::{
    CycleContext, CycleReport, Ended, EndedBy, Loop, LoopMode, LoopSettings, Overrun, Timekeeper,
    VirtualTime, operate,
};
use crate::main_device::acyclic::AcyclicQueue;
use crate::main_device::bring_up::{find, prepare as prepare_all};
use crate::main_device::cycle::Cycle;
use crate::main_device::device::SubDevice;
use crate::main_device::exchange::{BlockingExchange, Registers, Target};
use crate::main_device::link::Link;
use crate::main_device::mailbox::Mail;
use crate::main_device::sdo;
use crate::port::Side;
use crate::sim::WirePort;
use crate::sim::fault::{Fault, FrameFault, When, WireFault};
use crate::sim::humanoid::humanoid;
use crate::sim::{DeviceId, Segment};
use crate::wire::cia402::{Controlword, DriveState, object};
use crate::wire::coe::Address;
use crate::wire::register::AL_CONTROL;
use crate::wire::{AlControl, State};

mod braking;
mod codes;
mod enabling;
mod following;
mod hearing;
mod late;
mod models;
mod outputs;
mod units;

/// A segment in OP with its axes.
struct Bench {
    link: Link<WirePort>,
    cycle: Cycle,
    runners: Vec<AxisRunner>,
    settings: LoopSettings,
    /// The device whose controlwords are noted.
    watched: usize,
    /// Its controlwords; repetitions count once.
    words: Vec<Controlword>,
    /// All cycles of its axis.
    seen: Vec<Seen>,
}

/// A cycle of an axis.
#[derive(Debug, Clone, Copy)]
struct Seen {
    reading: Reading,
    word: Controlword,
    asked: f64,
}

impl Seen {
    fn is(&self, state: DriveState) -> bool {
        self.reading.state() == state
    }
}

/// Writes an object before anything is commissioned.
fn write_object(registers: &mut Registers<'_>, device: &mut SubDevice, index: u16, value: &[u8]) {
    let (target, mailboxes) = (device.target(), device.mailboxes);
    let (counter, emergencies) = (&mut device.counter, &mut device.emergencies);
    let mut mail = Mail::of(target, mailboxes, counter, emergencies).unwrap();
    sdo::write(registers, &mut mail, Address::new(index, 0), false, value).unwrap();
}

impl Bench {
    fn new(devices: u16, change: impl FnOnce(&mut Plan)) -> Self {
        let segment = humanoid(usize::from(devices)).build().unwrap();
        Self::of(segment, |_, _| (), change).unwrap()
    }

    /// All drives of a segment; `prepare` may write objects before they are commissioned.
    fn of(
        segment: Segment,
        prepare: impl FnOnce(&mut Registers<'_>, &mut [SubDevice]),
        change: impl FnOnce(&mut Plan),
    ) -> Result<Self, PlanError> {
        let mut bench = Self::in_safe_op(segment, prepare, change)?;
        let devices = bench.devices();
        operate(
            &mut Loop::new(
                &mut bench.link,
                &mut bench.cycle,
                &AcyclicQueue::default(),
                &AtomicBool::new(false),
            ),
            devices,
            &bench.settings,
            &mut VirtualTime,
        )
        .unwrap();
        Ok(bench)
    }

    /// The same, not in OP yet.
    fn in_safe_op(
        segment: Segment,
        prepare: impl FnOnce(&mut Registers<'_>, &mut [SubDevice]),
        change: impl FnOnce(&mut Plan),
    ) -> Result<Self, PlanError> {
        let mut link = Link::new(WirePort::new(segment), 1);
        let mut exchange = BlockingExchange::over(&mut link);
        let mut registers = Registers::by(&mut exchange);
        let mut found = find(&mut registers).unwrap();
        prepare(&mut registers, &mut found);
        let mut plan = demo(&mut registers, &mut found).unwrap();
        change(&mut plan);
        let runners = plan.commission(&mut registers, &mut found)?;
        let cycle = prepare_all(&mut registers, &mut found, None).unwrap();
        Ok(Self {
            link,
            cycle,
            runners,
            settings: plan.settings().unwrap(),
            watched: 5,
            words: Vec::new(),
            seen: Vec::new(),
        })
    }

    fn devices(&self) -> u16 {
        self.cycle.layout().shares.len() as u16
    }

    fn ask_for_op(&mut self) {
        let devices = Target::All(self.devices());
        let mut exchange = BlockingExchange::over(&mut self.link);
        let op = AlControl::request(State::Op).0;
        let mut registers = Registers::by(&mut exchange);
        registers.put_u16(devices, AL_CONTROL, op).unwrap();
    }

    /// Plays for so many cycles; before each, `before_cycle` may inspect and change the bench.
    fn play(
        &mut self,
        cycles: u64,
        group: &mut AxisGroup<'_>,
        before_cycle: impl FnMut(u64, &AxisGroup<'_>),
    ) -> Ended {
        self.play_by(cycles, group, &mut VirtualTime, before_cycle)
    }

    /// The same on a computer that is slow at times.
    fn play_by(
        &mut self,
        cycles: u64,
        group: &mut AxisGroup<'_>,
        time: &mut impl Timekeeper<WirePort>,
        mut before_cycle: impl FnMut(u64, &AxisGroup<'_>),
    ) -> Ended {
        let settings = LoopSettings {
            cycles: Some(cycles),
            ..self.settings
        };
        let (watched, words, seen) = (self.watched, &mut self.words, &mut self.seen);
        let mut controller = |context: &mut CycleContext<'_>| {
            before_cycle(context.number(), group);
            crate::control::cyclic::Controller::beat(group, context);
            if let Some(word) = context.outputs_of(watched).first_chunk() {
                let word = Controlword(u16::from_le_bytes(*word));
                if words.last() != Some(&word) {
                    words.push(word);
                }
                let mut runners = group.runners().iter();
                let runner = runners.find(|it| it.axis().device() == watched);
                seen.extend(runner.and_then(|it| {
                    let (reading, asked) = (it.reading()?, it.asked());
                    Some(Seen {
                        reading,
                        word,
                        asked,
                    })
                }));
            }
        };
        Loop::new(
            &mut self.link,
            &mut self.cycle,
            &AcyclicQueue::default(),
            &AtomicBool::new(false),
        )
        .run(&settings, time, &mut controller, &mut |_: &CycleReport<
            '_,
        >| ())
    }

    /// Edges of the fault reset in the watched drive's controlwords since the last call.
    fn take_resets(&mut self) -> usize {
        let words = std::mem::take(&mut self.words);
        let resets = words.iter().filter(|it| it.has(0x80));
        resets.count()
    }

    fn inject(&mut self, position: usize, fault: impl FnOnce(DeviceId) -> WireFault) {
        let now = self.link.port_mut().time();
        let segment = self.link.port_mut().segment_mut();
        let device = segment.positions(Side::Primary)[position];
        segment.inject(Fault::Wire(fault(device)), now);
    }

    /// Loses so many frames, from the next on, before any device receives them.
    fn lose(&mut self, frames: u64) {
        self.lose_behind(Some(0), frames);
    }

    /// Loses so many frames, from the next on, behind so many devices; `None`: on their way back.
    fn lose_behind(&mut self, after: Option<u16>, frames: u64) {
        let segment = self.link.port_mut().segment_mut();
        let next = segment.counts().frames + 1;
        let fault = Fault::Frame(FrameFault::Lose { after });
        segment
            .faults()
            .add(When::Frames(next, next + frames), fault)
            .unwrap();
    }
}

/// Puts an axis of the simulator's elbow under that control, with gains that suit it.
fn regulated(control: Control) -> impl Fn(&mut AxisPlan) {
    move |axis| {
        axis.control = control;
        axis.gains = match control {
            Control::Torque => Gains {
                proportional: 200.0,
                integral: 500.0,
                derivative: 9.0,
                filter: 0.002,
                limit: Some(30.0),
            },
            Control::Position | Control::Velocity => Gains {
                proportional: 20.0,
                integral: 100.0,
                ..Gains::default()
            },
        };
    }
}

fn is_moving(stage: Stage) -> bool {
    matches!(stage, Stage::Approaching(_) | Stage::Playing(_))
}

#[test]
fn lost_cycles_within_the_policy_are_ridden_out_and_more_stop_all_until_a_reset() {
    let mut bench = Bench::new(12, |_| ());
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    bench.play(1_000, &mut group, |_, _| ());
    assert!(is_moving(group.stage()));
    bench.lose(10);
    bench.play(100, &mut group, |_, _| ());
    assert!(is_moving(group.stage()));
    bench.lose(11);
    bench.play(300, &mut group, |_, _| ());
    assert_eq!(group.stage(), Stage::Stopped(Cause::Lost(11)));
    for runner in group.runners() {
        assert!(!runner.reading().unwrap().state().has_torque());
    }
    bench.play(300, &mut group, |_, _| ());
    assert_eq!(group.stops(), 1, "it stays");
    handle.reset();
    bench.play(1_000, &mut group, |_, _| ());
    assert!(is_moving(group.stage()), "{:?}", group.stage());
}

#[test]
fn the_fault_of_one_axis_stops_all_and_is_reset_once_at_each_request() {
    let mut bench = Bench::new(12, |_| ());
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    bench.play(1_000, &mut group, |_, _| ());
    bench.inject(5, |it| WireFault::Fail(it, 0x3230));
    bench.play(300, &mut group, |_, _| ());
    // Its process data has no error code.
    let stopped = Stage::Stopped(Cause::Fault {
        axis: 1,
        code: None,
    });
    assert_eq!(group.stage(), stopped);
    for runner in group.runners() {
        assert!(!runner.reading().unwrap().state().has_torque());
    }
    assert_eq!(bench.take_resets(), 0);
    // The fault remains: one reset, and all stop again because of the same drive.
    for stops in 2..4 {
        handle.reset();
        bench.play(1_000, &mut group, |_, _| ());
        assert_eq!((group.stage(), group.stops()), (stopped, stops));
        assert_eq!(bench.take_resets(), 1);
    }
    bench.inject(5, |it| WireFault::Fail(it, 0));
    bench.play(300, &mut group, |_, _| ());
    assert_eq!(group.stage(), stopped, "it stays");
    handle.reset();
    bench.play(1_000, &mut group, |_, _| ());
    assert!(is_moving(group.stage()), "{:?}", group.stage());
    assert_eq!(bench.take_resets(), 1);
}

#[test]
fn with_another_policy_the_others_go_on_and_the_failed_axis_stays_without_power() {
    let mut bench = Bench::new(12, |_| ());
    let handle = MotionHandle::default();
    let policy = Policy {
        stop_on_fault: false,
        ..Policy::default()
    };
    let mut group = AxisGroup::new(bench.runners.clone(), policy, &handle);
    bench.play(1_000, &mut group, |_, _| ());
    bench.inject(5, |it| WireFault::Fail(it, 0x3230));
    bench.play(500, &mut group, |_, _| ());
    assert!(is_moving(group.stage()));
    let only_one_is_out = |group: &AxisGroup<'_>| {
        for (number, runner) in group.runners().iter().enumerate() {
            let powered = runner.reading().unwrap().state().has_torque();
            assert_eq!(powered, number != 1, "{number}");
        }
        let status = handle.status().unwrap();
        assert!(status.axes.iter().all(|it| it.out == (it.axis == 1)));
    };
    only_one_is_out(&group);
    // After a stop, too, they wait for its one reset, and no longer.
    handle.stop();
    bench.play(300, &mut group, |_, _| ());
    assert_eq!(group.stage(), Stage::Stopped(Cause::Asked));
    bench.take_resets();
    handle.reset();
    bench.play(1_500, &mut group, |_, _| ());
    assert!(is_moving(group.stage()), "{:?}", group.stage());
    assert_eq!(bench.take_resets(), 1);
    only_one_is_out(&group);
}

#[test]
fn other_threads_read_the_requester_and_each_axis_and_may_end_the_loop() {
    let mut bench = Bench::new(12, |_| ());
    let handle = MotionHandle::default();
    assert_eq!(handle.status(), None);
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    assert_eq!(handle.status(), None, "no cycle yet");
    bench.play(1_500, &mut group, |_, _| ());
    let status = handle.status().unwrap();
    assert_eq!((status.cycle, status.stage), (1_500, StageName::Playing));
    assert_eq!((status.stops, &status.stopped), (0, &None));
    assert_eq!(status.axes.len(), 8);
    let axis = &status.axes[1];
    assert_eq!(
        (axis.axis, axis.device, &*axis.name),
        (1, 5, "left hip yaw")
    );
    assert_eq!(
        (&*axis.control, &*axis.state),
        ("position", "operation enabled")
    );
    assert!((axis.position_rad - axis.target).abs() < 0.005, "{axis:?}");

    handle.stop_by("the operator");
    handle.stop_by("another user");
    bench.play(100, &mut group, |_, _| ());
    let status = handle.status().unwrap();
    assert_eq!((status.stage, status.stops), (StageName::Stopped, 1));
    let stopped = status.stopped.clone().unwrap();
    assert_eq!(stopped.cause, Cause::Asked);
    assert_eq!(stopped.by.as_deref(), Some("the operator"));
    assert_eq!(stopped.cycle, 1);
    assert!((stopped.ago_s - 0.099).abs() < 1e-6, "{stopped:?}");
    let text = serde_json::to_string(&status).unwrap();
    assert!(text.contains(r#""stage":"stopped""#), "{text}");
    assert!(text.contains(r#""cause":"asked""#), "{text}");
    let same: Status = serde_json::from_str(&text).unwrap();
    assert_eq!(same.stopped, status.stopped);

    handle.reset();
    bench.play(500, &mut group, |_, _| ());
    let status = handle.status().unwrap();
    assert!(status.stopped.is_none(), "{status:?}");
    handle.end();
    let ended = bench.play(5_000, &mut group, |_, _| ());
    assert_eq!(ended.by, EndedBy::Controller);
    assert_eq!(handle.status().unwrap().stage, StageName::Ending);
    // A second group obeys the handle, but does not publish its status there.
    let mut second = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    let ended = bench.play(5_000, &mut second, |_, _| ());
    assert_eq!(ended.by, EndedBy::Controller);
}

#[test]
fn a_device_that_is_no_drive_or_not_there_is_an_error_that_says_so() {
    let mut link = Link::new(WirePort::new(humanoid(8).build().unwrap()), 1);
    let mut exchange = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut exchange);
    let mut found = find(&mut registers).unwrap();
    let plan = demo(&mut registers, &mut found).unwrap();
    let mut error = |device: DeviceRef| {
        let mut plan = plan.clone();
        plan.axes.truncate(1);
        plan.axes[0].device = device;
        let error = plan.commission(&mut registers, &mut found);
        error.unwrap_err().to_string()
    };
    let nobody = error(DeviceRef::Name("left nee".to_owned()));
    assert!(
        nobody.starts_with("no device is \"left nee\"; there are 0 EK1100"),
        "{nobody}"
    );
    assert!(nobody.contains("waist yaw"), "{nobody}");
    let several = error(DeviceRef::Name("KZ-Drive".to_owned()));
    assert!(several.contains("write their positions"), "{several}");
    let coupler = error(DeviceRef::Position(0));
    assert!(coupler.contains("does not support CoE"), "{coupler}");
    let imu = error(DeviceRef::Position(3));
    assert!(imu.contains("0x6040") || imu.contains("0x607A"), "{imu}");
}
