use std::time::Duration;

use kadenz_msg::service::heartbeat::{CHANNEL, Event, HeartbeatOptions, Liveness};
use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::tuning::Tuning;

use crate::{LONG, SHORT, bus};

#[test]
fn a_program_that_beats_appears_dies_and_starts_again() {
    let bus = bus();
    let mut nodes = bus.watch_nodes(&HeartbeatOptions::default()).unwrap();
    let heartbeat = bus.heartbeat("arm", Duration::from_millis(100)).unwrap();
    let beating = heartbeat.on_thread(Tuning::default()).unwrap();
    let next = |nodes: &mut kadenz_msg::service::heartbeat::Nodes| {
        // A busy machine may be late itself.
        loop {
            let happened = nodes.next_event(LONG).unwrap().unwrap();
            assert_eq!(happened.name, "arm");
            if !matches!(happened.event, Event::Late | Event::Recovered) {
                return happened.event;
            }
        }
    };
    assert_eq!(next(&mut nodes), Event::Appeared);
    drop(beating);
    assert_eq!(next(&mut nodes), Event::Died);
    let mut heartbeat = bus.heartbeat("arm", Duration::from_millis(100)).unwrap();
    heartbeat.set_state("calibrating\0cut here");
    heartbeat.beat().unwrap();
    assert_eq!(next(&mut nodes), Event::Restarted);
    let node = nodes.watch().node("arm").unwrap();
    assert_eq!((node.state.as_str(), node.restarts), ("calibrating", 1));
}

#[test]
fn nothing_happens_is_none_and_nonsense_on_the_channel_is_passed_over() {
    let bus = bus();
    let mut nodes = bus.watch_nodes(&HeartbeatOptions::default()).unwrap();
    bus.publish_bytes(CHANNEL, b"no beat").unwrap();
    assert_eq!(nodes.next_event(SHORT).unwrap(), None);
    let mut heartbeat = bus.heartbeat("arm", Duration::from_secs(60)).unwrap();
    heartbeat.beat().unwrap();
    assert!(nodes.next_event(LONG).unwrap().is_some());
    assert_eq!(nodes.watch().node("arm").unwrap().life, Liveness::Alive);
}

#[test]
fn a_wait_of_zero_takes_all_beats_that_wait() {
    let bus = bus();
    let mut nodes = bus.watch_nodes(&HeartbeatOptions::default()).unwrap();
    let mut heartbeats =
        ["arm", "head"].map(|it| bus.heartbeat(it, Duration::from_secs(60)).unwrap());
    for _ in 0..10 {
        heartbeats[0].beat().unwrap();
    }
    heartbeats[1].beat().unwrap();
    for name in ["arm", "head"] {
        let happened = nodes.next_event(Duration::ZERO).unwrap().unwrap();
        assert_eq!(
            (happened.name.as_str(), happened.event),
            (name, Event::Appeared)
        );
    }
    assert_eq!(nodes.next_event(Duration::ZERO).unwrap(), None);
}

#[test]
fn a_fast_loop_beats_at_the_heart_s_own_pace() {
    let bus = bus();
    let mut beats = bus.aggregator(CHANNEL).unwrap();
    let mut heartbeat = bus.heartbeat("arm", Duration::from_millis(10)).unwrap();
    let at = |us: u64| MonotonicTime::from_ns(1_000_000_000 + us * 1000);
    let beaten = (0..100).filter(|it| heartbeat.beat_if_due(at(it * 1000)).unwrap());
    assert_eq!(beaten.count(), 10);
    let mut received = 0;
    while beats.next_message(Duration::ZERO).unwrap().is_some() {
        received += 1;
    }
    assert_eq!(received, 10);
}

#[test]
fn a_heart_without_a_name_or_with_a_mad_pace_is_refused() {
    let bus = bus();
    let second = Duration::from_secs(1);
    for name in ["", "a\0b", &"x".repeat(64)] {
        assert!(bus.heartbeat(name, second).is_err(), "{name:?}");
    }
    for interval in [Duration::ZERO, second * 4000] {
        assert!(bus.heartbeat("arm", interval).is_err(), "{interval:?}");
    }
}
