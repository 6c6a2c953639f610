//! All faults of a wire, in real time: a loop, a supervisor and a segment in threads of their own, over a cable in a
//! network of their own. `faults.rs` checks in virtual time how many cycles a recovery takes, which a busy machine
//! cannot guarantee.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a long test says what it saw")]

mod commanded;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kadenz_ethercat::control::cyclic::{
    CycleReport, Ended, EndedBy, Loop, LoopSettings as Pace, RealTime,
};
use kadenz_ethercat::control::health::Health;
use kadenz_ethercat::control::notice::{Event, Notice, Notices, Subscription};
use kadenz_ethercat::control::supervisor::{DeviceTable, SegmentSupervisor};
use kadenz_ethercat::control::timing::Timing;
use kadenz_ethercat::main_device::acyclic::{AcyclicClient, AcyclicQueue};
use kadenz_ethercat::main_device::bring_up::find;
use kadenz_ethercat::main_device::cycle::{BESIDES, Cycle};
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers, RetryPolicy};
use kadenz_ethercat::main_device::layout::{Layout, room};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::main_device::objects::Objects as _;
use kadenz_ethercat::port::Side;
use kadenz_ethercat::port::{self, InterfacePort};
use kadenz_ethercat::running_loop::control_socket::{
    ControlClient, ControlServer, LoopObjects, ReceivedNotice, ServerContext,
};
use kadenz_ethercat::sim::fault::{Fault, FrameFault, WireFault};
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::sim::{CableId, DeviceId, End};
use kadenz_ethercat::wire::coe::Address;
use kadenz_ethercat::wire::{AlStatusCode, State};

use commanded::{Commands, humanoid_over_a_cable, skip};

const DEVICES: usize = 59;
/// Longer than even a very busy machine needs.
const LONG: Duration = Duration::from_secs(60);

/// Handles to the running loop, supervisor and segment.
struct Rig<'r> {
    commands: &'r Commands,
    device_table: Arc<DeviceTable>,
    health: Arc<Health>,
    notices: Subscription,
    devices: Vec<DeviceId>,
    cables: Vec<CableId>,
    latest: &'r AtomicU64,
    queue: &'r AcyclicQueue,
    all_notices: Arc<Notices>,
    timing: &'r Timing,
}

impl Rig<'_> {
    fn inject(&self, fault: Fault) {
        self.commands.lock().unwrap().push(fault);
    }

    fn is_well(&self) -> bool {
        let whole = self.health.snapshot().is_whole;
        whole && self.device_table.is_well()
    }

    /// Waits until all devices are in OP and a cycle is complete; returns how long this took.
    fn until_well(&mut self, what: &str) -> Duration {
        let start = Instant::now();
        let end = start + LONG;
        while !self.is_well() {
            assert!(
                Instant::now() < end,
                "{what}: {:#?}",
                self.device_table.all()
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        start.elapsed()
    }

    /// Waits for a notice; returns it with those before it.
    fn until_reported(&mut self, what: &str, is_it: impl Fn(&Notice) -> bool) -> Vec<Notice> {
        let end = Instant::now() + LONG;
        let mut seen = Vec::new();
        while Instant::now() < end {
            let Some(notice) = self.notices.next_within(Duration::from_millis(100)) else {
                continue;
            };
            seen.push(notice);
            if seen.last().is_some_and(&is_it) {
                return seen;
            }
        }
        panic!("{what} was not told: {seen:#?}");
    }

    fn forget_notices(&mut self) {
        while self.notices.try_next().is_some() {}
    }
}

/// Devices and the cables before them, position by position.
fn topology() -> (Vec<DeviceId>, Vec<CableId>) {
    let mut segment = humanoid(DEVICES).build().unwrap();
    let devices = segment.positions(Side::Primary);
    let cables = devices
        .iter()
        .map(|it| segment.cable_at(End::Device(*it, 0)).unwrap())
        .collect();
    (devices, cables)
}

/// Discovers the devices, and lays out their process data.
fn begin() -> (Link<InterfacePort>, Cycle, SegmentSupervisor) {
    let port = InterfacePort::open("near", port::WaitMode::Blocking).unwrap();
    let mut link = Link::new(port, 1);
    let mut exchange = BlockingExchange {
        link: &mut link,
        retry: RetryPolicy {
            answer: Duration::from_millis(500),
            tries: 20,
        },
    };
    let found = find(&mut Registers::by(&mut exchange)).unwrap();
    assert_eq!(found.len(), DEVICES);
    let demands: Vec<_> = found.iter().map(|it| it.process_data.demand()).collect();
    let layout = Layout::of(&demands, room(BESIDES)).unwrap();
    let cycle = Cycle::new(layout.clone(), None).unwrap();
    let supervisor = SegmentSupervisor::new(found, &layout, Arc::new(Health::new()));
    (link, cycle, supervisor)
}

/// Runs loop and supervisor, and `work` beside them; returns how the loop ended.
fn run_all(commands: &Commands, work: impl FnOnce(&mut Rig<'_>)) -> Ended {
    let (mut link, mut cycle, mut supervisor) = begin();
    let (devices, cables) = topology();
    let (queue, stop) = (AcyclicQueue::default(), AtomicBool::new(false));
    let latest = AtomicU64::new(0);
    let pace = Pace::every(Duration::from_millis(1)).unwrap();
    let timing = Timing::new(&pace);
    let (health, notices) = (supervisor.health(), supervisor.notices());
    let mut rig = Rig {
        commands,
        device_table: supervisor.device_table(),
        health: Arc::clone(&health),
        notices: notices.subscribe(60_000),
        devices,
        cables,
        latest: &latest,
        queue: &queue,
        all_notices: notices,
        timing: &timing,
    };
    std::thread::scope(|scope| {
        let looping = scope.spawn(|| {
            let mut bus = Loop::new(&mut link, &mut cycle, &queue, &stop);
            let mut time = RealTime::open(Duration::ZERO).unwrap();
            let count = |report: &CycleReport<'_>| latest.store(report.number, Ordering::Relaxed);
            let ended = bus.run(&pace, &mut time, &mut (), &mut (&*health, &timing, count));
            queue.end();
            ended
        });
        scope.spawn(|| {
            let mut exchange = AcyclicClient::of_supervisor(&queue, RetryPolicy::default());
            supervisor.run(&mut exchange, &stop)
        });
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&mut rig)));
        stop.store(true, Ordering::Relaxed);
        let ended = looping.join().unwrap();
        if let Err(panic) = outcome {
            resume_unwind(panic);
        }
        ended
    })
}

/// Brings a humanoid to OP over a cable and runs `work`, during which the loop must not end.
fn in_op(test: &str, work: impl FnOnce(&mut Rig<'_>) + Send) {
    let ended = humanoid_over_a_cable(test, DEVICES, |commands| {
        run_all(commands, |rig| {
            rig.until_well("at the start");
            rig.forget_notices();
            work(rig);
        })
    });
    assert!(ended.is_none_or(|it| it.by == EndedBy::Flag), "{ended:?}");
}

#[test]
fn frames_that_go_wrong_are_reported_and_end_nothing() {
    in_op("frames that go wrong", |rig| {
        for fault in [
            FrameFault::Lose { after: None },
            FrameFault::Corrupt { after: Some(30) },
            FrameFault::Delay { ns: 5_000_000 },
            FrameFault::Duplicate { ns: 3_000_000 },
            FrameFault::Truncate { length: 40 },
            FrameFault::Skew { by: -1 },
            FrameFault::Garble { bits: 5 },
        ] {
            let before = rig.latest.load(Ordering::Relaxed);
            for _ in 0..20 {
                rig.inject(Fault::Frame(fault));
                std::thread::sleep(Duration::from_millis(5));
            }
            // Flipped bits of inputs cannot be detected.
            if !matches!(fault, FrameFault::Garble { .. }) {
                rig.until_reported(&format!("{fault:?}"), |it| {
                    matches!(
                        it.event,
                        Event::Frames { .. } | Event::WorkingCounter { .. }
                    )
                });
            }
            rig.until_well(&format!("{fault:?}"));
            rig.forget_notices();
            let after = rig.latest.load(Ordering::Relaxed);
            assert!(after > before, "the loop goes on: {fault:?}");
        }
    });
}

#[test]
fn devices_that_fail_are_reported_and_come_back() {
    in_op("devices that fail", |rig| {
        let of =
            |it: &Notice, device: usize| it.device.as_ref().is_some_and(|it| it.device == device);
        let (middle, end) = (30, 58);
        rig.inject(Fault::Wire(WireFault::PowerCycle(
            rig.devices[middle],
            300_000_000,
        )));
        rig.until_reported("the loss", |it| of(it, middle) && it.event == Event::Lost);
        rig.until_reported("the return", |it| {
            of(it, middle) && matches!(it.event, Event::Back { powered: false, .. })
        });
        rig.until_well("power cycle");

        rig.inject(Fault::Wire(WireFault::Leave(
            rig.devices[end],
            State::SafeOp,
            AlStatusCode::WATCHDOG,
        )));
        rig.until_reported("the watchdog", |it| {
            of(it, end)
                && matches!(
                    it.event,
                    Event::State {
                        to: 0x14,
                        code: 0x1B,
                        ..
                    }
                )
        });
        rig.until_well("watchdog");

        rig.inject(Fault::Wire(WireFault::Fail(rig.devices[middle], 0x4310)));
        rig.until_reported("the emergency", |it| {
            of(it, middle) && matches!(it.event, Event::Emergency { code: 0x4310, .. })
        });
        rig.until_well("emergency");
    });
}

#[test]
fn a_cable_that_is_cut_and_healed_and_a_link_that_flaps_are_survived() {
    in_op("cables", |rig| {
        for position in [0, 20] {
            rig.inject(Fault::Wire(WireFault::Cut(rig.cables[position])));
            rig.until_reported("the loss", |it| it.event == Event::Lost);
            std::thread::sleep(Duration::from_millis(300));
            rig.inject(Fault::Wire(WireFault::Heal(rig.cables[position])));
            rig.until_reported("the return", |it| matches!(it.event, Event::Back { .. }));
            rig.until_well("cut and healed");
            rig.forget_notices();
        }
        flap(rig, 5, Duration::from_millis(700));
    });
}

/// Lets a link flap `times` times; returns how long each recovery took.
fn flap(rig: &mut Rig<'_>, times: u64, every: Duration) -> Vec<Duration> {
    let mut took = Vec::new();
    for time in 0..times {
        let next = Instant::now() + every;
        // The cable of the whole robot and one of a limb in turn, down for 50 to 250 ms.
        let cable = rig.cables[if time % 2 == 0 { 0 } else { 20 }];
        let down = Duration::from_millis(50 + time * 50 % 250);
        rig.inject(Fault::Wire(WireFault::Flap(cable, down.as_nanos() as u64)));
        std::thread::sleep(down + Duration::from_millis(5));
        took.push(rig.until_well("flap"));
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    took
}

#[test]
#[ignore = "takes 10 minutes: cargo test --test faults_over_a_cable -- --ignored --nocapture"]
fn a_link_that_flaps_every_ten_seconds_for_ten_minutes() {
    in_op("the long flap", |rig| {
        let start = rig.health.snapshot();
        let begun = Instant::now();
        let mut took = flap(rig, 60, Duration::from_secs(10));
        took.sort_unstable();
        let end = rig.health.snapshot();
        let notices = std::iter::from_fn(|| rig.notices.try_next()).count();
        let ms = |it: Duration| it.as_secs_f64() * 1e3;
        // This line stands in docs/ethercat-supervisor.md.
        eprintln!(
            "{} flaps in {:.0} s: recovered after p50 {:.0} ms, max {:.0} ms; {} cycles of {} beats, {} whole; \
             {} frames did not come back, {} had a wrong working counter; {notices} notices, {} lost",
            took.len(),
            begun.elapsed().as_secs_f64(),
            ms(took[took.len() / 2]),
            ms(took[took.len() - 1]),
            end.cycles - start.cycles,
            begun.elapsed().as_millis(),
            end.whole - start.whole,
            end.lost - start.lost,
            end.wrong - start.wrong,
            rig.notices.lost(),
        );
        assert_eq!((took.len(), rig.notices.lost()), (60, 0));
    });
}

/// Serves a control socket while `work` sends requests to it.
fn at_a_control_socket(rig: &Rig<'_>, work: impl FnOnce(&std::path::Path)) {
    let folder = tempfile::tempdir().unwrap();
    let server = ControlServer::open_in(folder.path(), "robot").unwrap();
    let counter = ServerContext {
        device_table: &rig.device_table,
        notices: &rig.all_notices,
        health: &rig.health,
        timing: Some(rig.timing),
        queue: rig.queue,
        shown: None,
        output_requests: None,
        handle: None,
    };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| server.serve(&counter, &stop));
        let outcome = catch_unwind(AssertUnwindSafe(|| work(server.path())));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            resume_unwind(panic);
        }
    });
}

#[test]
fn a_control_socket_shows_the_loop_and_reaches_its_devices() {
    in_op("a server", |rig| {
        let knee = (0..DEVICES)
            .find(|it| rig.device_table.status(*it).unwrap().name == "KZ-Drive")
            .unwrap();
        at_a_control_socket(rig, |path| {
            let mut client = ControlClient::at(path).unwrap();
            let devices = client.devices().unwrap();
            assert_eq!(devices.len(), DEVICES);
            assert!(client.statistics().unwrap().cycles > 0);
            let mut objects = LoopObjects::new(&mut client, knee);
            let vendor = devices[knee].identity[0].to_le_bytes();
            let read = objects.read(Address::new(0x1018, 1), false);
            assert_eq!(read.unwrap(), vendor);
            let acceleration = Address::new(0x6083, 0);
            objects.write(acceleration, false, &[1, 2, 3, 0]).unwrap();
            assert_eq!(objects.read(acceleration, false).unwrap(), [1, 2, 3, 0]);
            let refused = objects.read(Address::new(0x5FFF, 0), false);
            assert!(refused.unwrap_err().is_refusal());
            let mut hearing = ControlClient::at(path).unwrap().listen().unwrap();
            for state in [State::PreOp, State::Op] {
                let status = client.bring(knee, state).unwrap();
                assert!(status.is_well(), "{status:?}");
            }
            let end = Instant::now() + LONG;
            let is_it = |heard: &ReceivedNotice| match heard {
                ReceivedNotice::Notice(it) => matches!(it.event, Event::State { to: 8, .. }),
                ReceivedNotice::Lost(_) => false,
            };
            while !hearing
                .next_within(LONG)
                .unwrap()
                .is_some_and(|it| is_it(&it))
            {
                assert!(Instant::now() < end, "its return to OP was not heard");
            }
        });
        rig.until_well("in OP again");
    });
}

/// The interface itself goes down and up, as when the cable is unplugged from the computer.
#[test]
fn an_interface_that_goes_down_and_up_is_survived() {
    let set = |state: &str| {
        let mut command = std::process::Command::new("ip");
        command.args(["link", "set", "near", state]).status()
    };
    if std::process::Command::new("ip").arg("-V").output().is_err() {
        return skip(
            "an interface down and up",
            "no `ip` (apt-get install iproute2)",
        );
    }
    in_op("an interface down and up", |rig| {
        for _ in 0..3 {
            assert!(set("down").unwrap().success());
            rig.until_reported("the wire's loss", |it| it.event == Event::WireLost);
            std::thread::sleep(Duration::from_millis(200));
            assert!(set("up").unwrap().success());
            rig.until_reported("the wire's return", |it| it.event == Event::WireBack);
            rig.until_well("up again");
            rig.forget_notices();
        }
    });
}
