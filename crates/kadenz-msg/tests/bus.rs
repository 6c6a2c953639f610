//! The guarantees of a bus within one process.
#![allow(clippy::unwrap_used, reason = "a panic is the answer of a test")]

mod pose;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use kadenz_msg::bus::{Bus, Contract, RecvError, SubscriptionOptions, WhenFull};
use kadenz_rt::tuning::Tuning;
use pose::{Other, Pose, pose};

const LONG: Duration = Duration::from_secs(10);

fn bus() -> Bus {
    Bus::open("memq://").unwrap()
}

#[test]
fn what_is_published_is_received_in_order_and_whole() {
    let bus = bus();
    let mut subscription = bus.subscribe::<Pose>("POSE").unwrap();
    for number in 0..20 {
        bus.publish("POSE", &pose(number)).unwrap();
    }
    for number in 0..20 {
        let incoming = subscription.recv(LONG).unwrap().unwrap();
        assert_eq!(incoming.message, pose(number));
        assert_eq!(incoming.delivery.channel.as_str(), "POSE");
        assert_eq!(
            incoming.delivery.info.source.sequence.unwrap().number,
            number as u32
        );
    }
    assert!(subscription.try_recv().unwrap().is_none());
    assert_eq!(subscription.counters().received, 20);
}

#[test]
fn a_pattern_hears_the_channels_it_matches_wholly_and_no_other() {
    let bus = bus();
    let mut arms = bus.aggregator("ARM_.*").unwrap();
    arms.add("HEAD").unwrap();
    for channel in ["ARM_LEFT", "HEAD", "HEADER", "FARM_1", "ARM_RIGHT"] {
        bus.publish_bytes(channel, channel.as_bytes()).unwrap();
    }
    for expected in ["ARM_LEFT", "HEAD", "ARM_RIGHT"] {
        let raw = arms.next_message(LONG).unwrap().unwrap();
        assert_eq!(raw.channel.as_str(), expected);
        assert_eq!(raw.payload, expected.as_bytes());
    }
    assert!(arms.next_message(Duration::ZERO).unwrap().is_none());
}

#[test]
fn a_message_of_another_type_is_an_error_that_names_channel_and_both_fingerprints() {
    let bus = bus();
    let mut subscription = bus.subscribe::<Pose>("POSE").unwrap();
    bus.publish("POSE", &Other(pose(1))).unwrap();
    bus.publish("POSE", &pose(2)).unwrap();
    let error = subscription.recv(LONG).unwrap_err();
    let said = error.to_string();
    for part in [
        "POSE",
        "0x123456789abcdef0",
        "0xfeedbeef00000001",
        "robot.pose",
    ] {
        assert!(said.contains(part), "{part} is missing in: {said}");
    }
    let next = subscription.recv(LONG).unwrap().unwrap();
    assert_eq!(next.message.number, 2, "the next one is received");
    assert_eq!(subscription.counters().undecodable, 1);
}

#[test]
fn the_latest_message_says_whether_it_is_new() {
    let bus = bus();
    let mut subscription = bus.subscribe::<Pose>("POSE").unwrap();
    assert!(subscription.latest().unwrap().is_none());
    for number in 1..=3 {
        bus.publish("POSE", &pose(number)).unwrap();
    }
    let latest = subscription.latest().unwrap().unwrap();
    assert_eq!((latest.message.number, latest.is_new), (3, true));
    let again = subscription.latest().unwrap().unwrap();
    assert_eq!((again.message.number, again.is_new), (3, false));
    assert_eq!(subscription.counters().superseded, 2);
}

#[test]
fn a_full_queue_drops_as_configured_and_counts() {
    let cases = [
        (WhenFull::DropOldest, 7, (7, 0)),
        (WhenFull::DropNewest, 0, (0, 7)),
        (WhenFull::Block(Duration::from_millis(1)), 0, (0, 7)),
    ];
    for (when_full, first, dropped) in cases {
        let bus = bus();
        let options = SubscriptionOptions {
            queue: 3,
            when_full,
            ..SubscriptionOptions::default()
        };
        let mut slow = bus.subscribe_with::<Pose>("POSE", &options).unwrap();
        let mut reading = bus.subscribe::<Pose>("END").unwrap();
        for number in 0..10 {
            bus.publish("POSE", &pose(number)).unwrap();
        }
        bus.publish("END", &pose(0)).unwrap();
        assert!(reading.recv(LONG).unwrap().is_some(), "another one leads");
        let received: Vec<i64> = std::iter::from_fn(|| slow.try_recv().unwrap())
            .map(|it| it.message.number)
            .collect();
        assert_eq!(received, [first, first + 1, first + 2], "{when_full:?}");
        let counters = slow.counters();
        assert_eq!((counters.dropped_oldest, counters.dropped_newest), dropped);
        assert_eq!((counters.arrived, counters.received), (10, 3));
    }
}

#[test]
fn a_subscriber_that_blocks_slows_its_sender_down_and_loses_nothing() {
    let bus = bus();
    let options = SubscriptionOptions {
        queue: 2,
        when_full: WhenFull::Block(LONG),
        ..SubscriptionOptions::default()
    };
    let mut slow = bus.subscribe_with::<Pose>("POSE", &options).unwrap();
    let receiving = bus.receive_in_background(Tuning::default()).unwrap();
    for number in 0..100 {
        bus.publish("POSE", &pose(number)).unwrap();
    }
    for number in 0..100 {
        assert_eq!(slow.recv(LONG).unwrap().unwrap().message.number, number);
    }
    drop(receiving);
    assert_eq!(slow.counters().dropped_newest, 0);
}

/// Each end would else wait for the thread's next look, up to 100 ms later.
#[test]
fn a_thread_that_receives_in_the_background_ends_at_once() {
    let (done, ended) = sync_channel(1);
    let rounds = std::thread::spawn(move || {
        let bus = bus();
        let mut all = bus.aggregator("POSE").unwrap();
        let mut ends = Vec::new();
        for number in 0..400 {
            let receiving = bus.receive_in_background(Tuning::default()).unwrap();
            bus.publish("POSE", &pose(number)).unwrap();
            assert!(all.next_message(LONG).unwrap().is_some());
            let began = Instant::now();
            drop(receiving);
            ends.push(began.elapsed());
        }
        assert_eq!(all.watcher().counters().received, 400);
        ends.sort_unstable();
        done.send(ends[ends.len() / 2]).unwrap();
    });
    let median = ended.recv_timeout(Duration::from_secs(120));
    let median = median.expect("the threads end");
    rounds.join().unwrap();
    assert!(median < Duration::from_millis(50), "{median:?}");
}

#[test]
fn a_subscriber_that_blocks_can_go_while_the_receiving_thread_waits_for_it() {
    let bus = bus();
    let options = SubscriptionOptions {
        queue: 1,
        when_full: WhenFull::Block(Duration::MAX),
        ..SubscriptionOptions::default()
    };
    let blocking = bus.subscribe_with::<Pose>("POSE", &options).unwrap();
    let watcher = blocking.watcher();
    // The test never ends this thread: a failed test would wait for it forever.
    Box::leak(Box::new(
        bus.receive_in_background(Tuning::default()).unwrap(),
    ));
    for number in 0..3 {
        bus.publish("POSE", &pose(number)).unwrap();
    }
    while watcher.counters().arrived < 2 {
        thread::sleep(Duration::from_millis(1));
    }
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        drop(blocking);
        sender.send(())
    });
    receiver.recv_timeout(LONG).unwrap();
    let mut other = bus.subscribe::<Pose>("OTHER").unwrap();
    bus.publish("OTHER", &pose(4)).unwrap();
    assert_eq!(other.recv(LONG).unwrap().unwrap().message.number, 4);
}

#[test]
fn a_message_that_waited_too_long_is_counted_and_not_handed_over() {
    let bus = bus();
    let options = SubscriptionOptions {
        contract: Contract {
            deadline: Some(Duration::from_millis(1)),
            max_age: Some(Duration::from_millis(20)),
        },
        ..SubscriptionOptions::default()
    };
    let mut subscription = bus.subscribe_with::<Pose>("POSE", &options).unwrap();
    let mut leading = bus.subscribe::<Pose>("END").unwrap();
    bus.publish("POSE", &pose(1)).unwrap();
    bus.publish("END", &pose(0)).unwrap();
    assert!(leading.recv(LONG).unwrap().is_some(), "both have arrived");
    thread::sleep(Duration::from_millis(40));
    assert!(subscription.try_recv().unwrap().is_none());
    bus.publish("POSE", &pose(2)).unwrap();
    let _ = subscription.recv(Duration::from_millis(500)).unwrap();
    let counters = subscription.counters();
    assert!(counters.too_old >= 1, "{counters:?}");
    assert_eq!(counters.missed_deadlines, 1, "{counters:?}");
}

#[test]
fn many_threads_wait_on_one_bus_and_each_gets_its_own() {
    const THREADS: i64 = 8;
    const MESSAGES: i64 = 500;
    let bus = bus();
    let options = SubscriptionOptions::with_queue(2000);
    let (ready, readied) = sync_channel(THREADS as usize);
    let received = Arc::new(AtomicI64::new(0));
    let receivers: Vec<_> = (0..THREADS)
        .map(|index| {
            let (bus, ready, received) = (bus.clone(), ready.clone(), Arc::clone(&received));
            thread::spawn(move || {
                let name = format!("C{index}");
                let mut own = bus.subscribe_with::<Pose>(&name, &options).unwrap();
                ready.send(()).unwrap();
                for number in 0..MESSAGES {
                    let incoming = own.recv(LONG).unwrap().unwrap();
                    assert_eq!(incoming.message.number, number);
                    received.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for _ in 0..THREADS {
        readied.recv_timeout(LONG).unwrap();
    }
    for number in 0..MESSAGES {
        for index in 0..THREADS {
            bus.publish(&format!("C{index}"), &pose(number)).unwrap();
        }
        // The bus holds 1024 messages that no subscriber has fetched.
        let sent = (number + 1) * THREADS;
        let end = Instant::now() + Duration::from_secs(60);
        while sent - received.load(Ordering::Relaxed) > 500 {
            assert!(Instant::now() < end, "the receivers do not go on");
            thread::sleep(Duration::from_millis(1));
        }
    }
    for receiver in receivers {
        receiver.join().unwrap();
    }
    assert_eq!(bus.inlet_counters().overrun, 0);
}

#[test]
fn one_subscribes_and_unsubscribes_while_another_waits_for_ever() {
    let bus = bus();
    let waiting = bus.clone();
    let (ready, readied) = sync_channel(1);
    let waiter = thread::spawn(move || {
        let mut never = waiting.subscribe::<Pose>("LATE").unwrap();
        ready.send(()).unwrap();
        never.recv(Duration::MAX).unwrap().unwrap().message.number
    });
    readied.recv_timeout(LONG).unwrap();
    for number in 0..50 {
        let mut brief = bus.subscribe::<Pose>("BRIEF").unwrap();
        bus.publish("BRIEF", &pose(number)).unwrap();
        assert_eq!(brief.recv(LONG).unwrap().unwrap().message.number, number);
    }
    bus.publish("LATE", &pose(99)).unwrap();
    assert_eq!(waiter.join().unwrap(), 99);
}

#[test]
fn a_callback_sees_every_message_and_ends_with_its_handle() {
    let bus = bus();
    let (seen, see) = sync_channel(100);
    let callback = bus
        .on_message::<Pose, _>(
            "POSE",
            &SubscriptionOptions::default(),
            Tuning::default(),
            move |result| seen.send(result.map(|(pose, _)| pose.number)).unwrap(),
        )
        .unwrap();
    for number in 0..10 {
        bus.publish("POSE", &pose(number)).unwrap();
        assert_eq!(see.recv_timeout(LONG).unwrap(), Ok(number));
    }
    bus.publish("POSE", &Other(pose(1))).unwrap();
    let error = see.recv_timeout(LONG).unwrap().unwrap_err();
    assert!(matches!(error, RecvError::Decode { .. }));
    assert_eq!(callback.watcher().counters().received, 10);
    drop(callback);
    bus.publish("POSE", &pose(11)).unwrap();
    assert!(see.recv().is_err(), "its thread is gone");
}

#[test]
fn a_large_message_is_seen_where_it_lies() {
    let bus = bus();
    let mut subscription = bus.subscribe::<Pose>("IMAGE").unwrap();
    let mut publisher = bus.publisher::<Pose>("IMAGE").unwrap();
    let sent = publisher.publish_in_place(1 << 20, |bytes| {
        bytes.fill(9);
        true
    });
    assert!(sent.unwrap());
    assert!(
        !publisher.publish_in_place(4, |_| false).unwrap(),
        "not sent"
    );
    let seen = subscription.recv_in_place(LONG, |it| (it.payload.len(), it.payload[77]));
    assert_eq!(seen.unwrap(), Some((1 << 20, 9)));
    assert_eq!(
        subscription.recv_in_place(Duration::ZERO, |_| ()).unwrap(),
        None
    );
    assert_eq!(subscription.counters().received, 1);
}

#[test]
fn what_is_not_a_channel_or_not_a_provider_is_refused_with_the_reason() {
    let bus = bus();
    let long = bus.publish_bytes(&"x".repeat(64), &[]).unwrap_err();
    assert!(long.to_string().contains("63"), "{long}");
    assert!(bus.subscribe::<Pose>("(").is_err());
    let unknown = Bus::open("carrier-pigeon://").unwrap_err();
    assert!(unknown.to_string().contains("memq"), "{unknown}");
}

#[test]
fn a_dropped_subscription_hears_and_keeps_nothing() {
    let bus = bus();
    let subscription = bus.subscribe::<Pose>("POSE").unwrap();
    let watcher = subscription.watcher();
    drop(subscription);
    bus.publish("POSE", &pose(1)).unwrap();
    let mut other = bus.subscribe::<Pose>("POSE").unwrap();
    assert!(other.try_recv().unwrap().is_none());
    assert_eq!(watcher.counters().arrived, 0);
}
