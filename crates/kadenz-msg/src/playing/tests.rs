use std::sync::Arc;

use super::*;
use crate::message::Message as _;
use crate::provider;
use crate::service::messages::Heartbeat;

fn entry(channel: LoggedChannel) -> Entry {
    Entry {
        channel: Arc::new(channel),
        payload: Heartbeat::default().encode().unwrap(),
        ..Entry::default()
    }
}

fn finished(publisher: LogPublisher<'_>) -> PublishedMessages {
    publisher.finish(&AtomicBool::new(false))
}

#[test]
fn messages_that_the_bus_refuses_are_counted_with_the_first_reason() {
    let bus = provider::open("memq://").unwrap();
    assert!(TypeAnnouncer::start("memq://", &bus).unwrap().is_none());
    let mut publisher = LogPublisher::new(bus.outlet().unwrap(), None, |it| panic!("{it}"));
    for name in ["BEAT", &"x".repeat(999), ""] {
        let is_accepted = publisher.publish(&entry(LoggedChannel::lcm(name)));
        assert_eq!(is_accepted, name == "BEAT");
    }
    let counts = finished(publisher);
    assert_eq!((counts.messages, counts.refused), (1, 2));
    let long = Channel::new(&"x".repeat(999)).unwrap_err().to_string();
    assert_eq!(counts.reason, Some(long));
}

#[cfg(feature = "shm")]
#[test]
fn other_programs_learn_the_types_that_the_log_describes() {
    use std::time::Duration;

    use crate::bus::Bus;
    use crate::service::types_on_wire::{MAX_TEXT, TypeFinder};

    let url = format!("shm://playing-{}", std::process::id());
    let bus = provider::open(&url).unwrap();
    let announcer = TypeAnnouncer::start(&url, &bus).unwrap();
    assert!(announcer.is_some());
    let mut told = Vec::new();
    let notify = |error: &NotAnnouncedError| told.push(error.to_string());
    let mut publisher = LogPublisher::new(bus.outlet().unwrap(), announcer, notify);
    let beat = LoggedChannel::lcm_of_type("BEAT", Heartbeat::NAME, Heartbeat::DESCRIPTION);
    let invalid = LoggedChannel::lcm_of_type("BAD", "a.bad_t", "no type");
    let missing = LoggedChannel::lcm_of_type("ODD", "a.odd_t", Heartbeat::DESCRIPTION);
    let members = (0..=MAX_TEXT / 1000).map(|n| format!("int8_t member_{n:01000}; "));
    let long = format!("struct long_t {{ {} }}", members.collect::<String>());
    let long = LoggedChannel::lcm_of_type("LONG", "long_t", &long);
    for channel in [beat, invalid, missing, long] {
        publisher.publish(&entry(channel.clone()));
        publisher.publish(&entry(channel));
    }
    let listener = Bus::open(&url).unwrap();
    let mut finder = TypeFinder::new(&listener).unwrap();
    let found = finder.find(Heartbeat::FINGERPRINT, Duration::from_secs(10));
    assert_eq!(found.unwrap().unwrap().name, Heartbeat::NAME);
    assert_eq!(finished(publisher).messages, 8);
    // Each type once, although each was published twice, and none of an invalid text.
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("a.odd_t"), "{told:?}");
    assert!(told[1].contains("long_t"), "{told:?}");
}
