use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kadenz_msg::bus::Bus;
use kadenz_msg::generate::rust;
use kadenz_msg::message::{Fingerprint, Message};
use kadenz_msg::provider::memq::Memq;
use kadenz_msg::service::messages::{Heartbeat, Request, TypeAnswer, TypeQuery};
use kadenz_msg::service::types_on_wire::{ANSWERS, LookupResult, QUESTIONS, TypeFinder};
use kadenz_msg::types::Types;
use kadenz_rt::tuning::Tuning;

use crate::{LONG, SHORT, bus, wait_until};

/// An older heartbeat, from a program that was not built again.
const OLD: &str = "package kadenz;
struct heartbeat { int64_t instance; int32_t number; int64_t started_us; string name; string state; byte load; }";

#[test]
fn our_own_messages_are_what_the_generator_makes_of_their_lcm_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let types = Types::from_files([root.join("lcm/kadenz.lcm")]).unwrap();
    let options = rust::RustOptions {
        crate_path: "crate".to_owned(),
    };
    let files = rust::generate(&types, &options).unwrap();
    assert_eq!(files.len(), 2, "mod.rs and the package");
    for file in files {
        let there = root.join("src/service/generated").join(&file.path);
        assert!(
            std::fs::read_to_string(&there).unwrap_or_default() == file.text,
            "{} differs; from the repository's root: kadenz msg gen crates/kadenz-msg/lcm/kadenz.lcm --lang rust --crate-path crate --out crates/kadenz-msg/src/service/generated",
            there.display()
        );
    }
}

#[test]
fn a_late_program_without_files_decodes_what_a_publisher_publishes() {
    let bus = bus();
    let mut publisher = bus.publisher::<Heartbeat>("BEAT").unwrap();
    let _responder = bus.serve_types(Tuning::default()).unwrap();
    let mut aggregator = bus.aggregator("BEAT").unwrap();
    let beat = Heartbeat {
        number: 7,
        name: "arm".to_owned(),
        ..Heartbeat::default()
    };
    publisher.publish(&beat).unwrap();
    let mut finder = TypeFinder::new(&bus).unwrap();
    let raw = aggregator.next_message(LONG).unwrap().unwrap();
    let found = finder
        .find(raw.fingerprint().unwrap(), LONG)
        .unwrap()
        .unwrap();
    assert_eq!(found.name, "kadenz.heartbeat");
    let json = found.types.decode(raw.payload).unwrap().to_json();
    assert_eq!((&json["number"], &json["name"]), (&7.into(), &"arm".into()));
    let again = finder.look(Heartbeat::FINGERPRINT).unwrap();
    assert!(matches!(again, LookupResult::Known(_)), "remembered");
}

#[test]
fn a_type_known_at_run_time_alone_is_found_too() {
    let bus = bus();
    let _responder = bus.serve_types(Tuning::default()).unwrap();
    let types = Types::from_text("package a; struct b { int8_t c; } struct d { b e[3]; }").unwrap();
    assert!(bus.announce_type(&types, "a.x").is_err());
    bus.announce_type(&types, "a.d").unwrap();
    let mut finder = TypeFinder::new(&bus).unwrap();
    let asked = types.fingerprint("a.d").unwrap();
    let found = finder.find(asked, LONG).unwrap().unwrap();
    assert_eq!(found.types.len(), 2, "with what it is made of");
    let none = finder
        .find(types.fingerprint("a.b").unwrap(), SHORT)
        .unwrap();
    assert!(none.is_none(), "not announced itself");
}

#[test]
fn a_type_without_an_answer_is_none_and_look_does_not_wait() {
    let bus = bus();
    let mut finder = TypeFinder::new(&bus).unwrap();
    let unknown = Fingerprint(0x1234);
    assert!(matches!(
        finder.look(unknown).unwrap(),
        LookupResult::Asked(1)
    ));
    assert!(finder.find(unknown, SHORT).unwrap().is_none());
    // The finder asks again when a program that knows the type comes later.
    bus.announce::<Heartbeat>();
    assert!(
        finder
            .find(Heartbeat::FINGERPRINT, SHORT)
            .unwrap()
            .is_none()
    );
    let _responder = bus.serve_types(Tuning::default()).unwrap();
    assert!(finder.find(Heartbeat::FINGERPRINT, LONG).unwrap().is_some());
}

#[test]
fn a_wrong_answer_is_not_believed_and_silences_no_other_program() {
    let bus = bus();
    bus.announce::<Heartbeat>();
    let out = bus.clone();
    let _liar = bus
        .beside()
        .on_message::<TypeQuery, _>(
            QUESTIONS,
            &Default::default(),
            Tuning::default(),
            move |query| {
                let lie = TypeAnswer {
                    fingerprint: query.unwrap().0.fingerprint,
                    name: "kadenz.heartbeat".to_owned(),
                    text: OLD.to_owned(),
                };
                out.publish(ANSWERS, &lie).unwrap();
            },
        )
        .unwrap();
    let _responder = bus.serve_types(Tuning::default()).unwrap();
    let mut finder = TypeFinder::new(&bus).unwrap();
    let found = finder.find(Heartbeat::FINGERPRINT, LONG).unwrap().unwrap();
    let believed = found.types.fingerprint(&found.name);
    assert_eq!(believed, Some(Heartbeat::FINGERPRINT));
    assert!(finder.wrong_answers() >= 1);
    let why = finder.last_wrong_answer().unwrap().to_string();
    assert!(why.contains("has the fingerprint"), "{why}");
}

#[test]
fn a_question_has_few_answers_however_many_know_and_however_often_it_is_asked() {
    let memq = Arc::new(Memq::default());
    let programs: Vec<Bus> = (0..20)
        .map(|_| Bus::over("memq://", memq.clone()))
        .collect();
    let responders: Vec<_> = programs
        .iter()
        .map(|bus| {
            bus.announce::<Heartbeat>();
            bus.serve_types(Tuning::default()).unwrap()
        })
        .collect();
    let answers = || responders.iter().map(|it| it.answers()).sum::<u64>();
    let query = TypeQuery {
        fingerprint: Heartbeat::FINGERPRINT.0.cast_signed(),
    };
    for _ in 0..200 {
        programs[0].publish(QUESTIONS, &query).unwrap();
    }
    wait_until("one answers", || answers() > 0);
    thread::sleep(Duration::from_millis(100));
    // The programs do not answer each question, and each answers at most once in 400 ms: once in this test, or twice if
    // the machine stalls.
    assert!(answers() <= 2 * 20, "{}", answers());
}

#[test]
fn a_mismatch_is_named_field_by_field() {
    let bus = bus();
    let old = Types::from_text(OLD).unwrap();
    bus.announce_type(&old, "kadenz.heartbeat").unwrap();
    let _responder = bus.serve_types(Tuning::default()).unwrap();
    let mut subscription = bus.subscribe::<Heartbeat>("BEAT").unwrap();
    let value = old.default_value("kadenz.heartbeat").unwrap();
    bus.publish_bytes("BEAT", &old.encode(&value).unwrap())
        .unwrap();
    let error = subscription.recv(LONG).unwrap_err();
    let mut finder = TypeFinder::new(&bus).unwrap();
    let mismatch = finder.explain::<Heartbeat>(&error, LONG).unwrap().unwrap();
    let said = mismatch.to_string();
    for part in [
        "kadenz.heartbeat is sent as 0x",
        &Heartbeat::FINGERPRINT.to_string(),
        "member number was int32_t and is int64_t",
        "member interval_us (int64_t) is new",
        "member load (byte) is gone",
    ] {
        assert!(said.contains(part), "{part} is missing in: {said}");
    }
    let other = finder.explain::<Request>(&error, LONG).unwrap().unwrap();
    assert!(
        other.to_string().contains("two types, one channel"),
        "{other}"
    );
    let foreign = kadenz_msg::bus::RecvError::Ended;
    assert!(
        finder
            .explain::<Heartbeat>(&foreign, LONG)
            .unwrap()
            .is_none()
    );
}
