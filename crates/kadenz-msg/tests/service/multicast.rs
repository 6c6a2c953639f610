//! The services over LCM's multicast: two programs, each with its own sockets.

use std::time::Duration;

use kadenz_msg::bus::Bus;
use kadenz_msg::message::Message;
use kadenz_msg::service::clock_offset::ClockClient;
use kadenz_msg::service::heartbeat::{Event, HeartbeatOptions};
use kadenz_msg::service::messages::Heartbeat;
use kadenz_msg::service::parameters::{ParameterClient, Parameters, Setting};
use kadenz_msg::service::types_on_wire::TypeFinder;
use kadenz_rt::tuning::Tuning;

use crate::LONG;
use crate::pose::{Pose, pose};

/// Two programs in a group that no other test uses.
fn programs(port: u16) -> (Bus, Bus) {
    let process = std::process::id();
    let group = format!("239.254.{}.{}", process >> 8 & 0xff, process & 0xff);
    let open = || Bus::open(&format!("udpm://{group}:{port}?iface=lo")).unwrap();
    (open(), open())
}

#[test]
fn requests_large_and_small_are_answered() {
    let (ours, theirs) = programs(7801);
    let grow = |asked: &Pose| {
        Ok(Pose {
            image: vec![1; 200_000],
            ..asked.clone()
        })
    };
    let _server = theirs.serve("GROW", Tuning::default(), grow).unwrap();
    let mut client = ours.client::<Pose, Pose>("GROW").unwrap();
    for number in 0..20 {
        let grown = client.call(&pose(number), LONG).unwrap();
        assert_eq!((grown.number, grown.image.len()), (number, 200_000));
    }
}

#[test]
fn the_clock_of_the_same_host_has_no_offset() {
    let (ours, theirs) = programs(7802);
    let _server = theirs.serve_clock("arm-pc", Tuning::default()).unwrap();
    let mut clocks = ClockClient::new(&ours, "arm-pc").unwrap();
    for _ in 0..20 {
        let offsets = clocks.measure(LONG).unwrap();
        for estimate in [offsets.monotonic, offsets.wall] {
            assert!(estimate.least_ns() <= 0 && 0 <= estimate.most_ns());
        }
    }
}

#[test]
fn nodes_parameters_and_types_are_found() {
    let (ours, theirs) = programs(7803);
    let mut nodes = ours.watch_nodes(&HeartbeatOptions::default()).unwrap();
    let mut heartbeat = theirs.heartbeat("arm", Duration::from_millis(100)).unwrap();
    heartbeat.beat().unwrap();
    let happened = nodes.next_event(LONG).unwrap().unwrap();
    assert_eq!(happened.event, Event::Appeared);

    let mut parameters = Parameters::new();
    let gain = parameters.number("gain", 0.5, 0.0..=1.0, "").unwrap();
    let _served = parameters.serve(&theirs, "arm", Tuning::default()).unwrap();
    let mut others = ParameterClient::new(&ours, "arm").unwrap();
    others.set("gain", &Setting::Number(0.25), LONG).unwrap();
    assert_eq!(gain.get(), 0.25);

    // The heart's publisher has made its type known.
    let _responder = theirs.serve_types(Tuning::default()).unwrap();
    let mut finder = TypeFinder::new(&ours).unwrap();
    let found = finder.find(Heartbeat::FINGERPRINT, LONG).unwrap().unwrap();
    assert_eq!(found.name, "kadenz.heartbeat");
}
