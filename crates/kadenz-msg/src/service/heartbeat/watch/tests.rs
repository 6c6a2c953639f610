use proptest::prelude::*;

use super::*;

fn at(ms: u64) -> MonotonicTime {
    MonotonicTime::from_ns(ms * 1_000_000)
}

/// A beat of a node that beats every 100 ms.
fn beat(name: &str, instance: i64, number: i64) -> Heartbeat {
    Heartbeat {
        instance,
        number,
        interval_us: 100_000,
        name: name.to_owned(),
        ..Heartbeat::default()
    }
}

fn events(watch: &mut HeartbeatWatch, now: MonotonicTime) -> Vec<(String, Event)> {
    let mut events = Vec::new();
    watch.look(now, |node, event| events.push((node.name.clone(), event)));
    events
}

#[test]
fn a_node_is_alive_late_dead_and_alive_again_with_one_event_each() {
    let mut watch = HeartbeatWatch::new(HeartbeatOptions::default());
    assert_eq!(watch.add(&beat("arm", 7, 0), at(0)), Some(Event::Appeared));
    assert_eq!(events(&mut watch, at(200)), []);
    assert_eq!(events(&mut watch, at(201)), [("arm".into(), Event::Late)]);
    assert_eq!(events(&mut watch, at(499)), []);
    assert_eq!(events(&mut watch, at(501)), [("arm".into(), Event::Died)]);
    assert_eq!(events(&mut watch, at(900)), []);
    assert_eq!(
        watch.add(&beat("arm", 7, 9), at(901)),
        Some(Event::Recovered)
    );
    let node = watch.node("arm").unwrap();
    assert_eq!(
        (node.life, node.missed, node.restarts),
        (Liveness::Alive, 8, 0)
    );
}

#[test]
fn another_instance_is_a_restart_and_two_by_turns_are_duplicates() {
    let mut watch = HeartbeatWatch::new(HeartbeatOptions::default());
    watch.add(&beat("arm", 1, 500), at(0));
    assert_eq!(
        watch.add(&beat("arm", 2, 0), at(50)),
        Some(Event::Restarted)
    );
    assert_eq!(watch.add(&beat("arm", 2, 1), at(150)), None);
    assert_eq!(watch.node("arm").unwrap().restarts, 1);
    assert_eq!(
        watch.add(&beat("arm", 1, 501), at(160)),
        Some(Event::Doubled)
    );
    assert_eq!(watch.add(&beat("arm", 1, 502), at(260)), None, "told once");
    let node = watch.node("arm").unwrap();
    assert!(node.doubled && node.restarts == 1 && node.missed == 0);
}

#[test]
fn of_two_programs_of_one_name_the_one_that_is_left_lives() {
    let mut watch = HeartbeatWatch::new(HeartbeatOptions::default());
    watch.add(&beat("arm", 1, 0), at(0));
    watch.add(&beat("arm", 2, 0), at(50));
    assert_eq!(watch.add(&beat("arm", 1, 1), at(100)), Some(Event::Doubled));
    assert_eq!(events(&mut watch, at(600)), [("arm".into(), Event::Died)]);
    assert_eq!(
        watch.add(&beat("arm", 1, 7), at(700)),
        Some(Event::Recovered)
    );
    assert_eq!(watch.add(&beat("arm", 1, 8), at(800)), None);
    assert_eq!(events(&mut watch, at(900)), []);
    let node = watch.node("arm").unwrap();
    assert_eq!(
        (node.life, node.instance, node.restarts, node.doubled),
        (Liveness::Alive, 1, 1, false)
    );
}

#[test]
fn doubled_and_overtaken_beats_change_nothing() {
    let mut watch = HeartbeatWatch::new(HeartbeatOptions::default());
    watch.add(&beat("arm", 1, 5), at(0));
    let before = watch.node("arm").unwrap().clone();
    assert_eq!(watch.add(&beat("arm", 1, 5), at(90)), None);
    assert_eq!(watch.add(&beat("arm", 1, 4), at(91)), None);
    assert_eq!(*watch.node("arm").unwrap(), before);
}

#[test]
fn the_next_look_is_when_something_happens() {
    let mut watch = HeartbeatWatch::new(HeartbeatOptions::default());
    assert_eq!(watch.next_look(), None);
    watch.add(&beat("arm", 1, 0), at(0));
    for event in [Event::Late, Event::Died] {
        let next = watch.next_look().unwrap();
        assert_eq!(events(&mut watch, next - Duration::from_nanos(1)), []);
        assert_eq!(events(&mut watch, next), [("arm".into(), event)]);
    }
    assert_eq!(watch.next_look(), None);
}

#[test]
fn the_longest_dead_makes_room_and_the_living_never_do() {
    let mut watch = HeartbeatWatch::new(HeartbeatOptions {
        most_nodes: 2,
        ..HeartbeatOptions::default()
    });
    watch.add(&beat("a", 1, 0), at(0));
    watch.add(&beat("b", 1, 0), at(10));
    assert_eq!(watch.add(&beat("c", 1, 0), at(20)), None);
    assert_eq!(watch.untracked_beats(), 1);
    events(&mut watch, at(1000));
    watch.add(&beat("c", 1, 1), at(1001));
    let names: Vec<_> = watch.nodes().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["b", "c"]);
}

#[test]
fn an_unknown_programs_values_are_bounded() {
    let mut watch = HeartbeatWatch::new(HeartbeatOptions::default());
    let monstrous = Heartbeat {
        interval_us: i64::MIN,
        number: i64::MIN,
        name: "ü".repeat(1000),
        state: "s".repeat(100_000),
        ..Heartbeat::default()
    };
    watch.add(&monstrous, at(0));
    let next = Heartbeat {
        interval_us: i64::MAX,
        number: i64::MAX,
        ..monstrous
    };
    watch.add(&next, at(1));
    let node = watch.nodes().next().unwrap();
    assert_eq!((node.name.len(), node.state.len()), (62, 200));
    assert_eq!(node.interval, Duration::from_secs(3600));
    assert!(events(&mut watch, at(u64::MAX / 1_000_000)).len() == 1);
}

proptest! {
    /// Reported events and states agree, whatever arrives in whatever order of time.
    #[test]
    fn a_node_s_life_is_what_was_reported_last(
        steps in prop::collection::vec((0..3_i64, 0..50_i64, 0..400_u64, any::<bool>()), 0..100)
    ) {
        let mut watch = HeartbeatWatch::new(HeartbeatOptions::default());
        let mut reported = None;
        let mut now = 0;
        for (instance, number, pause, looks) in steps {
            now += pause;
            if looks {
                watch.look(at(now), |_, event| reported = Some(event));
            } else if let Some(event) = watch.add(&beat("arm", instance, number), at(now))
                && event != Event::Doubled
            {
                reported = Some(event);
            }
            let life = watch.node("arm").map(|it| it.life);
            let expected = reported.map(|it| match it {
                Event::Late => Liveness::Late,
                Event::Died => Liveness::Dead,
                _ => Liveness::Alive,
            });
            prop_assert_eq!(life, expected);
        }
    }
}
