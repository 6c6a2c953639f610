//! On a real-time path the bus allocates nothing.
#![allow(clippy::unwrap_used, reason = "a panic is the answer of a test")]

mod pose;

use std::time::Duration;

use allocation_counter::measure;
use kadenz_msg::bus::{Bus, SubscriptionOptions};
use kadenz_rt::tuning::Tuning;
use pose::{Pose, pose};

const LONG: Duration = Duration::from_secs(10);

#[test]
fn publishing_and_receiving_into_a_prepared_message_allocate_nothing() {
    let bus = Bus::open("memq://").unwrap();
    let options = SubscriptionOptions {
        room: 256,
        ..SubscriptionOptions::default()
    };
    let mut subscription = bus.subscribe_with::<Pose>("POSE", &options).unwrap();
    let mut publisher = bus.publisher::<Pose>("POSE").unwrap();
    let (mut sent, mut received) = (pose(0), pose(0));
    let mut round = |number| {
        sent.number = number;
        publisher.publish(&sent).unwrap();
        subscription
            .recv_into(&mut received, LONG)
            .unwrap()
            .unwrap();
        assert_eq!(received.number, number);
        assert!(subscription.try_recv().unwrap().is_none());
    };
    // Each slot of the provider's ring grows once.
    (0..2000).for_each(&mut round);
    let counted = measure(|| (0..2000).for_each(&mut round));
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

#[test]
fn a_heart_s_beats_allocate_nothing() {
    let bus = Bus::open("memq://").unwrap();
    let mut heartbeat = bus.heartbeat("arm", Duration::from_millis(1)).unwrap();
    let mut state = ["calibrating", "running"].iter().cycle();
    let mut round = |_| {
        heartbeat.set_state(state.next().unwrap());
        heartbeat.beat().unwrap();
        heartbeat.beat_if_due(kadenz_rt::clock::now()).unwrap();
    };
    // The outlet's buffer grows once.
    (0..10).for_each(&mut round);
    let counted = measure(|| (0..2000).for_each(&mut round));
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

#[test]
fn a_call_into_a_prepared_answer_allocates_nothing_at_the_caller() {
    let bus = Bus::open("memq://").unwrap();
    let answer = |pose: &Pose| Ok(pose.clone());
    let _server = bus.serve("SAME", Tuning::default(), answer).unwrap();
    let mut client = bus.client::<Pose, Pose>("SAME").unwrap();
    let (asked, mut answered) = (pose(7), pose(0));
    let mut round = |_| {
        client.call_into(&asked, &mut answered, LONG).unwrap();
    };
    // Each slot of the provider's ring grows once.
    (0..2000).for_each(&mut round);
    let counted = measure(|| (0..500).for_each(&mut round));
    assert_eq!(counted.count_total, 0, "{counted:?}");
}
