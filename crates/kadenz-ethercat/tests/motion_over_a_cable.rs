//! Axes that move over a cable, in real time: a loop, a supervisor and a segment in threads of their own, in a network
//! of their own. `motion/tests.rs` and `faults_of_drives.rs` check in virtual time how many cycles a reaction takes,
//! which a busy machine cannot guarantee.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod commanded;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kadenz_ethercat::control::cyclic::{Ended, EndedBy, Loop, RealTime};
use kadenz_ethercat::control::health::Health;
use kadenz_ethercat::control::supervisor::{DeviceTable, SegmentSupervisor};
use kadenz_ethercat::main_device::acyclic::{AcyclicClient, AcyclicQueue};
use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers, RetryPolicy};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::motion::{self, AxisGroup, Cause, MotionHandle, Policy, StageName, Status};
use kadenz_ethercat::port::Side;
use kadenz_ethercat::port::{self, InterfacePort};
use kadenz_ethercat::sim::DeviceId;
use kadenz_ethercat::sim::fault::{Fault, WireFault};
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::wire::cia402::object;
use kadenz_ethercat::wire::coe::Address;

use commanded::{Commands, humanoid_over_a_cable};

const DEVICES: usize = 12;
/// A drive in the middle of a leg, and its axis.
const DRIVE: usize = 8;
const AXIS: usize = 4;
/// The error code of its fault.
const TOO_HOT: u16 = 0x4310;
/// Longer than even a very busy machine needs.
const LONG: Duration = Duration::from_secs(60);

/// Handles to the running axes, loop and segment.
struct Rig<'r> {
    commands: &'r Commands,
    queue: &'r AcyclicQueue,
    handle: &'r MotionHandle,
    device_table: Arc<DeviceTable>,
    drive: DeviceId,
}

impl Rig<'_> {
    fn inject(&self, fault: WireFault) {
        self.commands.lock().unwrap().push(Fault::Wire(fault));
    }

    /// Waits for a status that fulfils `is_so`; returns the first one.
    fn until(&self, what: &str, is_so: impl Fn(&Status) -> bool) -> Status {
        let end = Instant::now() + LONG;
        loop {
            let status = self.handle.status();
            if let Some(status) = status.as_ref().filter(|it| is_so(it)) {
                return status.clone();
            }
            assert!(
                Instant::now() < end,
                "{what}: {status:#?} {:#?}",
                self.device_table.all()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Resets, as often as stalls of the machine stop the axes, until all axes play.
    fn until_playing(&self, what: &str) -> Status {
        self.until(what, |it| {
            if it.stage == StageName::Stopped {
                self.handle.reset();
            }
            it.stage == StageName::Playing
        })
    }

    /// Resets in the same way until all axes have moved.
    fn until_moving(&self, what: &str) {
        let before = self.until_playing(what);
        let end = Instant::now() + LONG;
        loop {
            let now = self.until_playing(what);
            let mut both = now.axes.iter().zip(&before.axes);
            if both.all(|(now, before)| (now.position_rad - before.position_rad).abs() > 0.02) {
                return;
            }
            assert!(Instant::now() < end, "{what}: {before:#?} {now:#?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until all axes are stopped and none has torque.
    fn until_at_rest(&self, what: &str) -> Status {
        let with_torque = [
            "operation enabled",
            "quick stop active",
            "fault reaction active",
        ];
        self.until(what, |it| {
            let mut axes = it.axes.iter();
            it.stage == StageName::Stopped && axes.all(|it| !with_torque.contains(&&*it.state))
        })
    }

    /// Reads the drives' error codes as a control socket does.
    fn read_error_codes(&self) {
        let mut exchange = AcyclicClient::of(self.queue, RetryPolicy::default());
        self.handle.read_error_codes(|device| {
            let address = Address::new(object::ERROR_CODE, 0);
            let code = self
                .device_table
                .read_object(&mut exchange, device, address)
                .ok()?;
            Some(u16::from_le_bytes(code.try_into().ok()?))
        });
    }
}

/// Commissions all drives and runs loop and supervisor, and `work` beside them; returns how the loop ended.
fn run_all(commands: &Commands, work: impl FnOnce(&Rig<'_>)) -> Ended {
    let port = InterfacePort::open("near", port::WaitMode::Blocking).unwrap();
    let mut link = Link::new(port, 1);
    let mut exchange = BlockingExchange {
        link: &mut link,
        retry: RetryPolicy {
            answer: Duration::from_millis(500),
            tries: 20,
        },
    };
    let mut registers = Registers::by(&mut exchange);
    let mut devices = find(&mut registers).unwrap();
    assert_eq!(devices.len(), DEVICES);
    let plan = motion::demo(&mut registers, &mut devices).unwrap();
    let runners = plan.commission(&mut registers, &mut devices).unwrap();
    let drives = motion::setups(&mut registers, &mut devices, &runners, plan.cycle).unwrap();
    let mut cycle = prepare(&mut registers, &mut devices, None).unwrap();
    let layout = cycle.layout().clone();
    let health = Arc::new(Health::new());
    let mut supervisor = SegmentSupervisor::new(devices, &layout, Arc::clone(&health))
        .with_setup(motion::as_commissioned(drives, None));
    let (queue, stop, handle) = (
        AcyclicQueue::default(),
        AtomicBool::new(false),
        MotionHandle::default(),
    );
    // This test does not judge how late a busy machine is.
    let policy = Policy {
        lost: None,
        late: None,
        ..plan.safety
    };
    let settings = plan.settings().unwrap();
    let mut humanoid = humanoid(DEVICES).build().unwrap();
    let rig = Rig {
        commands,
        queue: &queue,
        handle: &handle,
        device_table: supervisor.device_table(),
        drive: humanoid.positions(Side::Primary)[DRIVE],
    };
    std::thread::scope(|scope| {
        let looping = scope.spawn(|| {
            let mut bus = Loop::new(&mut link, &mut cycle, &queue, &stop);
            let mut time = RealTime::open(Duration::ZERO).unwrap();
            let mut group = AxisGroup::new(runners, policy, &handle);
            let ended = bus.run(&settings, &mut time, &mut group, &mut &*health);
            stop.store(true, Ordering::Relaxed);
            queue.end();
            ended
        });
        scope.spawn(|| {
            let mut exchange = AcyclicClient::of_supervisor(&queue, RetryPolicy::default());
            supervisor.run(&mut exchange, &stop)
        });
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&rig)));
        if outcome.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        let ended = looping.join().unwrap();
        if let Err(panic) = outcome {
            resume_unwind(panic);
        }
        ended
    })
}

/// Runs axes over a cable, and `work`, which ends them.
fn over_a_cable(test: &str, work: impl FnOnce(&Rig<'_>) + Send) {
    let ended = humanoid_over_a_cable(test, DEVICES, |commands| run_all(commands, work));
    assert!(
        ended.is_none_or(|it| it.by == EndedBy::Controller),
        "{ended:?}"
    );
}

#[test]
fn axes_move_are_stopped_by_a_broken_drive_and_by_hand_and_move_again_after_a_reset() {
    over_a_cable("axes over a cable", |rig| {
        rig.until_moving("at the start");

        rig.inject(WireFault::Fail(rig.drive, TOO_HOT));
        let status = rig.until("a drive breaks", |it| {
            it.stage == StageName::Stopped && it.axes[AXIS].state == "fault"
        });
        assert_eq!(status.axes[AXIS].device, DRIVE);
        rig.until_at_rest("a drive is broken");
        rig.read_error_codes();
        let status = rig.handle.status().unwrap();
        assert_eq!(status.axes[AXIS].error_code, Some(TOO_HOT));

        // The drive stays broken after a reset.
        rig.handle.reset();
        let again = rig.until("it is broken still", |it| {
            it.stops > status.stops && it.stage == StageName::Stopped
        });
        assert_eq!(again.axes[AXIS].state, "fault");

        rig.inject(WireFault::Fail(rig.drive, 0));
        rig.until_moving("it is whole again");

        by_hand(rig);
        rig.until_moving("after a stop by hand");

        rig.inject(WireFault::PowerCycle(rig.drive, 200_000_000));
        rig.until("a drive lost its power", |it| {
            it.stage == StageName::Stopped
        });
        rig.until_moving("it has its power again");

        rig.handle.end();
    });
}

/// Stops all axes by hand. A stall of the machine may trip a drive's watchdog first, so there are ten attempts.
fn by_hand(rig: &Rig<'_>) {
    for _ in 0..10 {
        rig.handle.stop_by("a hand");
        let status = rig.until_at_rest("by hand");
        let stopped = status.stopped.unwrap();
        if stopped.cause == Cause::Asked {
            assert_eq!(stopped.by.as_deref(), Some("a hand"));
            return;
        }
        rig.until_playing("after something else");
    }
    panic!("something else stopped them each time");
}
