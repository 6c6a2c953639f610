#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;

use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::model::{EndedBy, Run};
use kadenz_rt::beat::Interval;
use kadenz_rt::clock::{self, ClockKind, MonotonicTime};
use kadenz_rt::net::port::UdpPort;
use kadenz_rt::sleep::{self, Sleeper, SleeperKind, SleeperOptions};
use kadenz_udp::device::{Answer, Echo, Policy};
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

/// The outcome of a loop on one thread.
struct OneThread {
    allocations: u64,
    settled: u64,
    overslept: u64,
}

/// Runs a loop of 52 beats on one thread, which must have measured something.
fn on_one_thread(plan: &ProbePlan, out: &Path, sleeper: &mut dyn Sleeper) -> OneThread {
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
    let mut context = LoopContext {
        start: clock::now() + Duration::from_millis(5),
        origin,
        clock: clock.as_ref(),
        sleeper,
        stop: &Stop::default(),
        owed: 0,
    };
    let counted = allocation_counter::measure(|| {
        one_after_the_other(plan, &mut sender, &mut receiver, &mut context);
    });
    let settled = estimator.join().unwrap().settled;
    let run = running.finish(EndedBy::Finished).unwrap();
    assert!(
        run.series.iter().all(|it| it.counts.recorded > 0),
        "{run:#?}"
    );
    OneThread {
        allocations: counted.count_total,
        settled,
        overslept: receiver.overslept,
    }
}

fn recommended_sleeper() -> Box<dyn Sleeper> {
    sleep::open(SleeperKind::recommended(), SleeperOptions::default()).unwrap()
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
        let policy = Policy {
            token: Some(kadenz_udp::wire::Token::new(b"arm of robot 3").unwrap()),
            ..Policy::default()
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
        let out = folder.path().join("run");
        let ran = on_one_thread(&plan, &out, recommended_sleeper().as_mut());
        assert_eq!((ran.allocations, ran.settled), (0, 50), "{receiving:?}");
        stop.request();
        let (allocated, answered) = echoing.join().unwrap();
        assert_eq!((allocated, answered > 0), (0, true), "{receiving:?}");
    }
}

/// A sleeper in whose sleep a device answers.
struct AnsweringSleeper {
    sleeper: Box<dyn Sleeper>,
    device: UdpSocket,
    echo: Echo,
}

impl Sleeper for AnsweringSleeper {
    fn sleep_until(&mut self, deadline: MonotonicTime) {
        let mut datagram = [0; 256];
        while let Ok((bytes, from)) = self.device.recv_from(&mut datagram) {
            let now = clock::now().as_ns();
            let Answer::Reply(bytes) = self.echo.on_datagram(now, &mut datagram[..bytes]) else {
                panic!("every packet is a question");
            };
            self.echo.stamp_departure(now, &mut datagram[..bytes]);
            self.device.send_to(&datagram[..bytes], from).unwrap();
        }
        self.sleeper.sleep_until(deadline);
    }

    fn name(&self) -> &'static str {
        self.sleeper.name()
    }

    fn early_returns(&self) -> u64 {
        self.sleeper.early_returns()
    }
}

#[test]
fn answers_that_come_while_a_thread_awaits_its_beat_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let device = UdpSocket::bind("127.0.0.1:0").unwrap();
    device.set_nonblocking(true).unwrap();
    let address = device.local_addr().unwrap();
    let plan = ProbePlan {
        count: Some(50),
        warm_up: 2,
        timeout: Duration::from_millis(500),
        looping: Loop::Open,
        receiving: SocketReceiving::Spinning,
        device_stamps: true,
        device_resolution: Duration::from_nanos(1),
        ..ProbePlan::new(
            vec![Device {
                name: "device".to_owned(),
                address,
            }],
            interval(),
        )
    };
    let mut sleeper = AnsweringSleeper {
        sleeper: recommended_sleeper(),
        device,
        echo: Echo::new(Policy::default()),
    };
    let ran = on_one_thread(&plan, &folder.path().join("run"), &mut sleeper);
    // No sleep follows the last packet, so that its answer never comes.
    assert_eq!((ran.settled, ran.overslept), (49, 49));
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
