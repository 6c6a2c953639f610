//! On a real-time path the bus allocates nothing.
#![allow(clippy::unwrap_used, reason = "a panic is the answer of a test")]

mod pose;

use std::time::Duration;

use allocation_counter::measure;
use kadenz_msg::bus::{Bus, SubscriptionOptions};
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
    // Each place of the provider's ring grows once.
    (0..2000).for_each(&mut round);
    let counted = measure(|| (0..2000).for_each(&mut round));
    assert_eq!(counted.count_total, 0, "{counted:?}");
}
