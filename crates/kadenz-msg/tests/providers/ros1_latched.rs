//! Latched topics of `ros1://`, with rospy and within Kadenz.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kadenz_msg::provider::{History, Provider};

use crate::ends::{channel, collect, inlet, look};
use crate::promises::{Open, promises};
use crate::ros1::{bus, bus_with, master, ros, rospy, until_said};

/// A string as ROS serialises it.
fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
}

#[test]
fn latched_topics_keep_their_promises() {
    let Some(()) = ros("latched_topics_keep_their_promises") else {
        return;
    };
    let master = master();
    promises(|| -> Open {
        let bus = Arc::new(bus_with(&master, "&latch=yes"));
        Box::new(move || Arc::clone(&bus) as Arc<dyn Provider>)
    });
}

#[test]
fn what_rospy_latched_before_is_received() {
    let Some(()) = ros("what_rospy_latched_before_is_received") else {
        return;
    };
    let master = master();
    let rospy = rospy(&master, "latch");
    until_said(&rospy, "published");
    for pattern in ["robot/chatter", "robot/.*"] {
        let received = collect(&mut *inlet(&bus(&master), &[pattern]), 1);
        assert_eq!(received[0].payload, text("kept"));
    }
}

#[test]
fn rospy_and_ours_receive_the_last_latched_message_once() {
    let Some(()) = ros("rospy_and_ours_receive_the_last_latched_message_once") else {
        return;
    };
    let master = master();
    let latching = bus_with(&master, "&latch=yes");
    assert_eq!(latching.guarantees().history, History::LastOfEachChannel);
    let mut outlet = latching.outlet().unwrap();
    for (name, said) in [
        ("robot/other", "x"),
        ("robot/chatter", "1"),
        ("robot/chatter", "2"),
    ] {
        outlet.publish(&channel(name), &text(said)).unwrap();
    }
    let rospy = rospy(&master, "connections");
    assert_eq!(until_said(&rospy, "heard"), "heard: 2 latching: 1");
    let mut inlet = inlet(&bus(&master), &["robot/chatter"]);
    assert_eq!(collect(&mut *inlet, 1)[0].payload, text("2"));
    outlet
        .publish(&channel("robot/chatter"), &text("3"))
        .unwrap();
    let received = collect(&mut *inlet, 1);
    assert_eq!((received.len(), &received[0].payload), (1, &text("3")));
    assert_eq!(inlet.counters().overrun, 0);
}

#[test]
fn a_latched_message_is_longer_than_a_queue() {
    let Some(()) = ros("a_latched_message_is_longer_than_a_queue") else {
        return;
    };
    let master = master();
    let latching = bus_with(&master, "&latch=yes&queue=64KiB");
    let mut outlet = latching.outlet().unwrap();
    let payload = vec![7; 20_000_000];
    outlet.publish(&channel("robot/map"), &payload).unwrap();
    let received = collect(&mut *inlet(&bus(&master), &["robot/map"]), 1);
    assert!(received[0].payload == payload);
}

#[test]
fn a_late_subscriber_gets_the_last_message_and_all_after_it() {
    let Some(()) = ros("a_late_subscriber_gets_the_last_message_and_all_after_it") else {
        return;
    };
    let master = master();
    let latching = bus_with(&master, "&latch=yes");
    let mut outlet = latching.outlet().unwrap();
    outlet.publish(&channel("robot/chatter"), b"").unwrap();
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Acquire) {
                outlet.publish(&channel("robot/chatter"), b"").unwrap();
                thread::sleep(Duration::from_micros(50));
            }
        });
        for _ in 0..5 {
            let mut inlet = inlet(&bus(&master), &["robot/chatter"]);
            let mut numbers = Vec::new();
            while numbers.len() < 50 {
                let received = look(&mut *inlet, Duration::from_millis(100));
                numbers.extend(received.iter().map(|it| it.sequence.unwrap().number));
            }
            let has_step = |pair: &[u32]| pair[1] == pair[0] + 1;
            assert!(numbers.windows(2).all(has_step), "{numbers:?}");
        }
        ends.store(true, Ordering::Release);
    });
}
