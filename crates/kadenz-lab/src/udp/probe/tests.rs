#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::path::Path;
use std::time::Duration;

use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::model::{EndedBy, Run};
use kadenz_rt::beat::Interval;
use kadenz_rt::clock::{self, ClockKind};
use kadenz_rt::net::port::UdpPort;
use kadenz_rt::sleep::{self, SleeperKind, SleeperOptions};
use kadenz_udp::wire::RunId;

use super::experiment::{listens_until, one_after_the_other};
use super::one_way::one_way;
use super::packet_counts::PacketCounts;
use super::receiver::{Receiver, slots_for};
use super::recorders::Series;
use super::sender::{Sender, departures};
use super::{Device, Loop, ProbePlan, SocketReceiving, probe};
use crate::measuring::Measuring;
use crate::measuring_threads::{LoopContext, NoWatch};
use crate::session::SessionPlan;
use crate::stop::Stop;
use crate::udp::echo::{EchoDevice, EchoPlan};

fn measuring(out: &Path) -> Measuring {
    Measuring::new(SessionPlan {
        interval: Duration::from_millis(50),
        examine: false,
        ..SessionPlan::new("udp-send", out)
    })
}

fn interval() -> Interval {
    Interval::try_from(Duration::from_millis(2)).unwrap()
}

/// The device, as a receiver of packets.
fn receiver_of(device: &EchoDevice) -> Device {
    Device {
        name: "device".to_owned(),
        address: device.port().local_address(),
    }
}

fn plan(device: &EchoDevice, looping: Loop, receiving: SocketReceiving) -> ProbePlan {
    ProbePlan {
        count: Some(50),
        warm_up: 2,
        timeout: Duration::from_millis(500),
        looping,
        receiving,
        rehearses: receiving == SocketReceiving::Spinning,
        device_stamps: true,
        device_resolution: Duration::from_nanos(1),
        token: Some(kadenz_udp::wire::Token::new(b"arm of robot 3").unwrap()),
        ..ProbePlan::new(vec![receiver_of(device)], interval())
    }
}

/// Allocations of a loop of 52 beats on one thread, which must have measured something.
fn allocations(plan: &ProbePlan, out: &Path) -> u64 {
    let measuring = measuring(out);
    let port = UdpPort::open(&plan.port).unwrap();
    let mut run = RunWriter::create(out, Run::default()).unwrap();
    let series = Series::create(&measuring, &mut run, plan, &port).unwrap();
    let running = run.start(Duration::from_millis(50)).unwrap();
    let (announcer, announced) = departures();
    let (id, origin) = (RunId(7), clock::now());
    let second = port.try_clone().unwrap();
    let mut sender = Sender::new(plan, id, port, announcer, series.lateness).unwrap();
    let counts = PacketCounts::new(plan, id);
    let mut receiver = Receiver::new(plan, second, announced, counts, series.recorders, origin);
    let (exchanges, estimator) = one_way(1, 1, series.ways.unwrap());
    receiver.set_exchanges(exchanges);
    let estimator = std::thread::spawn(|| estimator.run());
    let clock = clock::open(ClockKind::Monotonic).unwrap();
    let mut sleeper = sleep::open(SleeperKind::recommended(), SleeperOptions::default()).unwrap();
    let mut context = LoopContext {
        start: clock::now() + Duration::from_millis(5),
        origin,
        clock: clock.as_ref(),
        sleeper: sleeper.as_mut(),
        stop: &Stop::default(),
        owed: 0,
    };
    let counted = allocation_counter::measure(|| {
        one_after_the_other(plan, &mut sender, &mut receiver, &mut context);
    });
    assert_eq!(estimator.join().unwrap().settled, 50);
    let run = running.finish(EndedBy::Finished).unwrap();
    assert!(
        run.series.iter().all(|it| it.counts.recorded > 0),
        "{run:#?}"
    );
    counted.count_total
}

#[test]
fn sending_receiving_and_echoing_allocate_nothing() {
    for (looping, receiving) in [
        (Loop::Closed, SocketReceiving::Blocking),
        (Loop::Closed, SocketReceiving::Spinning),
        (Loop::Open, SocketReceiving::Spinning),
        (Loop::Closed, SocketReceiving::BusyPoll),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let policy = kadenz_udp::device::Policy {
            token: Some(kadenz_udp::wire::Token::new(b"arm of robot 3").unwrap()),
            ..kadenz_udp::device::Policy::default()
        };
        let mut device = EchoDevice::open(&EchoPlan {
            policy,
            ..EchoPlan::default()
        })
        .unwrap();
        let plan = plan(&device, looping, receiving);
        let stop = Stop::default();
        let until = stop.clone();
        let echoing = std::thread::spawn(move || {
            let counted = allocation_counter::measure(|| device.run(&until));
            (counted.count_total, device.echoed().counts.answered)
        });
        assert_eq!(
            allocations(&plan, &folder.path().join("run")),
            0,
            "{receiving:?}"
        );
        stop.request();
        let (allocated, answered) = echoing.join().unwrap();
        assert_eq!((allocated, answered > 0), (0, true), "{receiving:?}");
    }
}

#[test]
fn the_usual_plan_measures_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let mut device = EchoDevice::open(&EchoPlan::default()).unwrap();
    let plan = ProbePlan {
        count: Some(20),
        ..ProbePlan::new(vec![receiver_of(&device)], interval())
    };
    let stop = Stop::default();
    let run = std::thread::scope(|scope| {
        scope.spawn(|| device.run(&stop));
        let measuring = measuring(&folder.path().join("run"));
        let run = probe(&measuring, &plan, &Stop::default(), &mut NoWatch);
        stop.request();
        run.unwrap()
    });
    let lateness = run.series.iter().find(|it| it.name == "lateness").unwrap();
    assert_eq!(lateness.counts.recorded, 20);
}

#[test]
fn a_lost_packet_is_awaited_for_its_timeout_and_not_into_the_next_beat() {
    let device = EchoDevice::open(&EchoPlan::default()).unwrap();
    let millis = Duration::from_millis;
    let beat = clock::now();
    let departed = beat + Duration::from_micros(50);
    let until = |looping, timeout| {
        let plan = ProbePlan {
            interval: Interval::try_from(millis(100)).unwrap(),
            timeout,
            ..plan(&device, looping, SocketReceiving::Spinning)
        };
        listens_until(&plan, beat, departed)
    };
    for looping in [Loop::Open, Loop::Closed] {
        assert_eq!(until(looping, millis(5)), departed + millis(5));
    }
    let before_the_next = beat + millis(100) - Duration::from_micros(200);
    assert_eq!(until(Loop::Open, millis(500)), before_the_next);
    assert_eq!(until(Loop::Closed, millis(500)), departed + millis(100));
}

#[test]
fn a_call_that_takes_all_answers_to_a_broadcast_has_room_to_spare() {
    assert_eq!(slots_for(1), 1);
    for devices in [2, 40, 63, 64, 65, 1000] {
        assert!(slots_for(devices) > devices);
    }
}

#[test]
fn an_answer_that_keeps_the_deadline_is_not_lost() {
    let device = EchoDevice::open(&EchoPlan::default()).unwrap();
    let plan = plan(&device, Loop::Open, SocketReceiving::Blocking);
    assert_eq!(plan.timeout_with(None), Duration::from_millis(500));
    let deadline = Some(Duration::from_secs(2));
    assert_eq!(plan.timeout_with(deadline), Duration::from_secs(2));
}
