//! The snippets of [Enner2017] compile, run, and do what it states.
#![allow(
    clippy::duplicate_mod,
    reason = "every example brings the types that it needs"
)]
#![allow(clippy::unwrap_used, reason = "a panic is the answer of a test")]

#[path = "../examples/lcm_aggregator.rs"]
mod lcm_aggregator;
#[path = "../examples/lcm_publisher.rs"]
mod lcm_publisher;
#[path = "../examples/ros_three_ways.rs"]
mod ros_three_ways;
#[path = "../examples/zmq_send_receive.rs"]
mod zmq_send_receive;

use std::time::Duration;

use kadenz_msg::bus::Bus;
use kadenz_msg::message::Message;
use kadenz_msg::types::Types;

const LONG: Duration = Duration::from_secs(10);

fn bus() -> Bus {
    Bus::open("memq://").unwrap()
}

#[test]
fn the_lcm_publisher_publishes_a_command() {
    let bus = bus();
    let mut received = bus.aggregator("COMMAND_CHANNEL").unwrap();
    lcm_publisher::publish(&bus).unwrap();
    let raw = received.next_message(LONG).unwrap().unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/robot/types.lcm");
    let types = Types::from_files([file]).unwrap();
    let json = types.decode(raw.payload).unwrap().to_json();
    let expected = serde_json::json!({"position": [1.0, 2.0, 3.0], "velocity": [1.0, 2.0, 3.0]});
    assert_eq!(json, expected);
}

#[test]
fn the_lcm_aggregator_receives_by_channel_and_by_type() {
    let bus = bus();
    let mut aggregator = bus.aggregator("FEEDBACK_CHANNEL").unwrap();
    let mut typed = bus.subscribe("FEEDBACK_CHANNEL").unwrap();
    lcm_aggregator::robot(&bus, 3).unwrap();
    let first = lcm_aggregator::by_channel(&mut aggregator, 3).unwrap();
    let second = lcm_aggregator::by_type(&mut typed, 3).unwrap();
    assert_eq!((first.number, &first), (3, &second));
}

#[test]
fn a_message_of_another_type_is_reported_at_the_subscription_s_loop() {
    let bus = bus();
    let mut typed = bus.subscribe("FEEDBACK_CHANNEL").unwrap();
    let other = lcm_publisher::robot::Command::default();
    bus.publish("FEEDBACK_CHANNEL", &other).unwrap();
    let said = lcm_aggregator::by_type(&mut typed, 1)
        .unwrap_err()
        .to_string();
    let found = lcm_publisher::robot::Command::FINGERPRINT.to_string();
    for part in ["FEEDBACK_CHANNEL", "types.feedback", &found] {
        assert!(said.contains(part), "{part} is missing in: {said}");
    }
}

#[test]
fn the_ros_subscriber_receives_in_three_ways_and_the_missing_one() {
    let said = ros_three_ways::receive(&bus()).unwrap();
    assert_eq!(
        said,
        [
            "before the first: false",
            "received 1",
            "within 5 ms: false",
            "latest 3, new: true",
            "latest 3, new: false",
            "called back with 4",
        ]
    );
}

#[test]
fn the_zmq_bytes_come_back_within_the_process_and_over_zeromq() {
    let bytes = zmq_send_receive::hundred_random_bytes();
    let received = zmq_send_receive::send_and_receive(&bus(), &bytes).unwrap();
    assert_eq!(received, bytes);
    if cfg!(unix) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let bus = Bus::open(&format!("zmq://{}", path.display())).unwrap();
        let received = zmq_send_receive::send_and_receive(&bus, &bytes).unwrap();
        assert_eq!(received, bytes);
    }
}
