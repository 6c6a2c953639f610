//! The watcher reads a drive's error code once per fault; a client that reads the status of the axes from a control
//! socket waits for no drive. In virtual time.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod tended;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_ethercat::control::cyclic::{Controller as _, CycleContext};
use kadenz_ethercat::control::inline_loop::InlineLoop;
use kadenz_ethercat::control::supervisor::{DeviceTable, SegmentSupervisor};
use kadenz_ethercat::main_device::acyclic::AcyclicQueue;
use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::exchange::{
    BlockingExchange, Exchange, ExchangeError, FrameBuffer, Registers,
};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::motion::{self, AxisGroup, MotionHandle, StageName, Status};
use kadenz_ethercat::running_loop::control_socket::{
    Answer, ControlClient, ControlServer, Question, ServerContext,
};
use kadenz_ethercat::running_loop::fault_codes::FaultCodes;
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::fault::WireFault;
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_rt::clock::MonotonicTime;

use tended::Tended;

const MS: Duration = Duration::from_millis(1);
/// A drive, and its axis.
const DRIVE: usize = 5;
const AXIS: usize = 1;
/// The error code of its fault.
const TOO_HOT: u16 = 0x4310;

/// Playing axes, their loop, its supervisor and a segment, all in one thread.
struct Rig {
    inline_loop: InlineLoop<WirePort>,
    supervisor: SegmentSupervisor,
    device_table: Arc<DeviceTable>,
    handle: &'static MotionHandle,
}

impl Rig {
    fn playing() -> Self {
        let mut link = Link::new(WirePort::new(humanoid(12).build().unwrap()), 1);
        let mut exchange = BlockingExchange::over(&mut link);
        let mut registers = Registers::by(&mut exchange);
        let mut devices = find(&mut registers).unwrap();
        let plan = motion::demo(&mut registers, &mut devices).unwrap();
        let runners = plan.commission(&mut registers, &mut devices).unwrap();
        let cycle = prepare(&mut registers, &mut devices, None).unwrap();
        let layout = cycle.layout().clone();
        let handle: &'static MotionHandle = Box::leak(Box::default());
        let mut group = AxisGroup::new(runners, plan.safety, handle);
        let mut inline_loop = InlineLoop::new(link, cycle, MS);
        inline_loop
            .control(move |context: &mut CycleContext<'_>| group.beat(context))
            .unwrap();
        let supervisor = SegmentSupervisor::new(devices, &layout, inline_loop.health());
        let mut rig = Self {
            device_table: supervisor.device_table(),
            inline_loop,
            supervisor,
            handle,
        };
        rig.until_it("it plays", |it| it.stage == StageName::Playing);
        rig
    }

    fn status(&self) -> Status {
        self.handle.status().unwrap()
    }

    fn until_it(&mut self, what: &str, is_so: impl Fn(&Status) -> bool) {
        self.until(what, |it| it.handle.status().is_some_and(|it| is_so(&it)));
    }

    /// The drive fails, which stops all axes; its process data has no error code.
    fn fail(&mut self) {
        let drive = self.device(DRIVE);
        self.inject(WireFault::Fail(drive, TOO_HOT));
        self.until_it("it failed", |it| is_stopped_by_fault(it, 1));
        assert_eq!(self.status().axes[AXIS].error_code, None);
    }
}

impl Tended for Rig {
    fn hands(&mut self) -> (&mut InlineLoop<WirePort>, &mut SegmentSupervisor) {
        (&mut self.inline_loop, &mut self.supervisor)
    }
}

fn is_stopped_by_fault(status: &Status, stops: u64) -> bool {
    status.stage == StageName::Stopped
        && status.stops == stops
        && status.axes[AXIS].state == "fault"
}

/// An exchange on which no frame ever comes back.
#[derive(Default)]
struct Mute {
    frames: u64,
    passed: Duration,
}

impl Exchange for Mute {
    fn exchange(&mut self, _: &mut FrameBuffer) -> Result<(), ExchangeError> {
        self.frames += 1;
        self.passed += MS;
        Err(ExchangeError::Lost(MS, 1))
    }

    fn pause(&mut self, span: Duration) {
        self.passed += span;
    }

    fn now(&self) -> MonotonicTime {
        MonotonicTime::from_ns(0) + self.passed
    }
}

#[test]
fn a_drive_is_asked_once_a_fault_whether_it_answers_or_not() {
    let mut rig = Rig::playing();
    let (mut codes, mut mute) = (FaultCodes::default(), Mute::default());
    assert!(!codes.read_next(rig.handle, &rig.device_table, &mut mute));
    assert_eq!(mute.frames, 0, "nothing failed");
    rig.fail();
    assert!(codes.read_next(rig.handle, &rig.device_table, &mut mute));
    let frames = mute.frames;
    assert!(frames > 0);
    for _ in 0..3 {
        assert!(!codes.read_next(rig.handle, &rig.device_table, &mut mute));
    }
    assert_eq!(mute.frames, frames, "it was asked again");
    // The drive fails again after a reset, which is another fault.
    rig.handle.reset();
    rig.until_it("it failed again", |it| is_stopped_by_fault(it, 2));
    assert!(codes.read_next(rig.handle, &rig.device_table, &mut rig.inline_loop));
    let status = rig.status();
    assert_eq!(status.axes[AXIS].error_code, Some(TOO_HOT));
    let why = status.stopped.unwrap().why;
    assert!(why.contains("0x4310"), "{why}");
    assert!(!codes.read_next(rig.handle, &rig.device_table, &mut mute));
}

#[test]
fn a_drive_that_is_gone_is_not_asked_whatever_it_said_last() {
    let mut rig = Rig::playing();
    rig.fail();
    let drive = rig.device(DRIVE);
    rig.inject(WireFault::PowerOff(drive));
    rig.run(MS * 500);
    assert_eq!(rig.device_table.status(DRIVE).unwrap().position, None);
    assert_eq!(rig.status().axes[AXIS].state, "fault");
    let (mut codes, mut mute) = (FaultCodes::default(), Mute::default());
    assert!(!codes.read_next(rig.handle, &rig.device_table, &mut mute));
    assert_eq!(mute.frames, 0);
}

#[test]
fn a_status_of_the_axes_waits_for_no_drive() {
    let mut rig = Rig::playing();
    rig.fail();
    let folder = tempfile::tempdir().unwrap();
    let server = ControlServer::open_in(folder.path(), "robot").unwrap();
    let (notices, health) = (rig.supervisor.notices(), rig.inline_loop.health());
    let queue = AcyclicQueue::default();
    let counter = ServerContext {
        device_table: &rig.device_table,
        notices: &notices,
        health: &health,
        timing: None,
        queue: &queue,
        shown: None,
        output_requests: None,
        handle: Some(rig.handle),
    };
    let stop = AtomicBool::new(false);
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| server.serve(&counter, &stop));
        // Another caller holds the drive, and no loop carries acyclic frames.
        let answer = rig.device_table.with(DRIVE, |_| {
            let mut client = ControlClient::at(server.path())?;
            client.request(&Question::Axes {})
        });
        stop.store(true, Ordering::Relaxed);
        queue.end();
        answer
    });
    let Answer::Axes(status) = answer.unwrap().unwrap() else {
        panic!("no axes")
    };
    assert!(is_stopped_by_fault(&status, 1), "{status:?}");
    assert_eq!(status.axes[AXIS].error_code, None);
}
