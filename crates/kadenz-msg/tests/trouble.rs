//! Faults between programs: nothing hangs, and every loss is counted.
#![allow(clippy::unwrap_used, reason = "a panic is the answer of a test")]

mod pose;

use std::process;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::Duration;

use kadenz_msg::bus::{Bus, SubscriptionOptions};
use kadenz_rt::tuning::Tuning;
use pose::{Pose, pose};

const LONG: Duration = Duration::from_secs(10);

/// A group that no other test uses, on the loopback alone.
fn url() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let index = NEXT.fetch_add(1, Ordering::Relaxed);
    let port = 20_000 + (process::id() as u16 % 10_000) + index * 3;
    format!("udpm://239.255.77.{}:{port}?ttl=0", 1 + index)
}

fn long_queue() -> SubscriptionOptions {
    SubscriptionOptions::with_queue(5000)
}

#[test]
fn a_flood_is_counted_to_the_message() {
    const SENT: i64 = 20_000;
    let url = url();
    let (sending, receiving) = (Bus::open(&url).unwrap(), Bus::open(&url).unwrap());
    let options = SubscriptionOptions::with_queue(10);
    let mut slow = receiving.subscribe_with::<Pose>("FLOOD", &options).unwrap();
    let background = receiving.receive_in_background(Tuning::default()).unwrap();
    let mut publisher = sending.publisher::<Pose>("FLOOD").unwrap();
    publisher.publish(&pose(-1)).unwrap();
    assert_eq!(slow.recv(LONG).unwrap().unwrap().message.number, -1);
    for number in 0..SENT {
        publisher.publish(&pose(number)).unwrap();
    }
    // Only a later message shows what the socket dropped at the very end.
    let mut last = 0;
    while last != SENT {
        publisher.publish(&pose(SENT)).unwrap();
        while let Some(incoming) = slow.recv(Duration::from_millis(50)).unwrap() {
            last = incoming.message.number;
        }
    }
    drop(background);
    let counters = slow.counters();
    assert_eq!(
        counters.arrived,
        counters.received + counters.dropped_oldest
    );
    let lost: u64 = receiving.losses().iter().map(|it| it.tally.lost).sum();
    let known = counters.arrived + lost;
    assert!(known > SENT as u64, "{known} of {SENT} are accounted for");
    assert!(counters.dropped_oldest + lost > 0, "it was not a flood");
}

#[test]
fn a_subscriber_that_stops_reading_costs_no_other_a_message() {
    let url = url();
    let (sending, stopped, reading) = (
        Bus::open(&url).unwrap(),
        Bus::open(&url).unwrap(),
        Bus::open(&url).unwrap(),
    );
    let mut asleep = stopped.subscribe::<Pose>("POSE").unwrap();
    let mut awake = reading.subscribe::<Pose>("POSE").unwrap();
    let mut publisher = sending.publisher::<Pose>("POSE").unwrap();
    for number in 0..20_000 {
        publisher.publish(&pose(number)).unwrap();
        let incoming = awake.recv(LONG).unwrap().unwrap();
        assert_eq!(incoming.message.number, number);
    }
    // The subscriber wakes up: it takes the messages of its socket in sequence, its queue keeps the newest of them, and
    // the bus knows how many others are missing.
    while asleep.try_recv().unwrap().is_some() {}
    publisher.publish(&pose(20_000)).unwrap();
    assert_eq!(asleep.recv(LONG).unwrap().unwrap().message.number, 20_000);
    let lost: u64 = stopped.losses().iter().map(|it| it.tally.lost).sum();
    assert_eq!(asleep.counters().arrived + lost, 20_001);
    assert!(lost > 0, "20,000 messages of 200 bytes fit into the socket");
    assert!(stopped.inlet_counters().overrun > 0);
}

#[test]
fn a_thousand_channels_are_distinguished() {
    let url = url();
    let (sending, receiving) = (Bus::open(&url).unwrap(), Bus::open(&url).unwrap());
    let mut all = receiving.aggregator_with(".*", &long_queue()).unwrap();
    let mut one = receiving.subscribe::<Pose>("CHANNEL_777").unwrap();
    for round in 0..3 {
        for index in 0..1000 {
            let channel = format!("CHANNEL_{index}");
            sending
                .publish(&channel, &pose(round * 1000 + index))
                .unwrap();
            let raw = all.next_message(LONG).unwrap().unwrap();
            assert_eq!(raw.channel.as_str(), channel);
            assert_eq!(raw.decode::<Pose>().unwrap().number, round * 1000 + index);
        }
    }
    for round in 0..3 {
        assert_eq!(
            one.recv(LONG).unwrap().unwrap().message.number,
            round * 1000 + 777
        );
    }
    assert!(receiving.losses().iter().all(|it| it.tally.lost == 0));
}

#[test]
fn two_hundred_subscribers_hear_every_message() {
    let url = url();
    let sending = Bus::open(&url).unwrap();
    let mut subscriptions: Vec<_> = (0..200)
        .map(|_| Bus::open(&url).unwrap().subscribe::<Pose>("POSE").unwrap())
        .collect();
    for number in 0..20 {
        sending.publish("POSE", &pose(number)).unwrap();
    }
    for subscription in &mut subscriptions {
        for number in 0..20 {
            assert_eq!(
                subscription.recv(LONG).unwrap().unwrap().message.number,
                number
            );
        }
    }
}

#[test]
fn a_publisher_that_begins_anew_is_heard_and_loses_nothing() {
    let url = url();
    let receiving = Bus::open(&url).unwrap();
    let mut subscription = receiving.subscribe::<Pose>("POSE").unwrap();
    for life in 0..5 {
        let sending = Bus::open(&url).unwrap();
        let mut publisher = sending.publisher::<Pose>("POSE").unwrap();
        for number in 0..10 {
            publisher.publish(&pose(life * 10 + number)).unwrap();
            let incoming = subscription.recv(LONG).unwrap().unwrap();
            assert_eq!(incoming.message.number, life * 10 + number);
        }
    }
    let losses = receiving.losses();
    assert!(losses.iter().all(|it| it.tally.lost == 0), "{losses:?}");
    assert_eq!(losses.iter().map(|it| it.tally.received).sum::<u64>(), 50);
}

#[test]
fn a_receiver_waits_for_ever_without_a_message_and_ends_when_one_comes() {
    let url = url();
    let (sending, receiving) = (Bus::open(&url).unwrap(), Bus::open(&url).unwrap());
    let mut subscription = receiving.subscribe::<Pose>("POSE").unwrap();
    let waiter = thread::spawn(move || subscription.recv(Duration::MAX).unwrap().unwrap());
    thread::sleep(Duration::from_millis(50));
    sending.publish("POSE", &pose(5)).unwrap();
    let incoming = waiter.join().unwrap();
    assert_eq!(incoming.message.number, 5);
    let hops = incoming.delivery.hops();
    assert!(
        hops.kernel_to_inlet_ns.is_some(),
        "the kernel stamps every message"
    );
}
