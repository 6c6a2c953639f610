//! `dds://`.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::Duration;

use kadenz_msg::provider::parameters::Address;
use kadenz_msg::provider::{Provider, dds::Dds};
use kadenz_rt::clock;
use rustdds::bytes::Bytes;
use rustdds::no_key::SerializerAdapter;
use rustdds::{DomainParticipantBuilder, QosPolicies, RepresentationIdentifier, TopicKind};

use crate::ends::{channel, collect, inlet, join_all, look};
use crate::outside::{Program, beside, skip};
use crate::promises::{Open, promises};
use crate::unique;

/// A domain that other programs most probably do not use, with ports below the ephemeral ones.
fn domain() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let offset = (std::process::id() % 8) as u16 * 10;
    10 + (offset + number) % 90
}

fn open(url: &str) -> Dds {
    Dds::open(&Address::parse(url).unwrap()).unwrap()
}

/// The name of a bus that no other test uses; DDS allows no hyphens.
fn bus() -> String {
    unique().replace('-', "_")
}

fn fresh(query: &'static str) -> Open {
    let url = format!("dds://{}?bus={}{query}", domain(), bus());
    let dds = Arc::new(open(&url));
    Box::new(move || Arc::clone(&dds) as Arc<dyn Provider>)
}

#[test]
fn dds_keeps_its_promises() {
    promises(|| fresh(""));
}

#[test]
fn dds_keeps_its_promises_with_best_effort() {
    promises(|| fresh("&reliability=best_effort"));
}

/// Settings of Cyclone DDS on loopback without multicast: it addresses the first participants of the host.
const CYCLONE_ON_LOOPBACK: &str = "<CycloneDDS><Domain><General>\
    <Interfaces><NetworkInterface name=\"lo\"/></Interfaces><AllowMulticast>false</AllowMulticast>\
    </General><Discovery><ParticipantIndex>auto</ParticipantIndex>\
    <Peers><Peer Address=\"127.0.0.1\"/></Peers></Discovery></Domain></CycloneDDS>";

/// Compiles a program of Cyclone DDS from the type's IDL.
fn cyclone_end(test: &str, folder: &Path) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let idl = here.join("../../docs/schema/kadenz.idl");
    let run = |command: &mut Command| {
        let output = command.current_dir(folder).output();
        output.is_ok_and(|output| output.status.success())
    };
    let program = folder.join("dds_end");
    let made = run(Command::new("idlc").args(["-l", "c"]).arg(&idl))
        && run(Command::new("cc")
            .args(["-O1", "-I.", "-o"])
            .arg(&program)
            .arg(beside("dds_end.c"))
            .args(["kadenz.c", "-lddsc"]));
    if !made {
        let how = "apt-get install gcc cyclonedds-dev cyclonedds-tools";
        skip(test, &format!("Cyclone DDS and its idlc ({how})"));
    }
    made.then_some(program)
}

#[test]
fn programs_of_cyclone_dds_take_part_by_the_type_s_idl() {
    let test = "programs_of_cyclone_dds_take_part_by_the_type_s_idl";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = cyclone_end(test, folder.path()) else {
        return;
    };
    for reliability in ["reliable", "best_effort"] {
        let (domain, bus) = (domain(), bus());
        let url = format!("dds://{domain}?bus={bus}&reliability={reliability}");
        let other = Program::start(
            Command::new(&program)
                .args([&domain.to_string(), &format!("kadenz_{bus}"), reliability])
                .env("CYCLONEDDS_URI", CYCLONE_ON_LOOPBACK),
        );
        hears_both_lengths_and_is_heard(&open(&url), &other);
    }
}

fn hears_both_lengths_and_is_heard(bus: &Dds, other: &Program) {
    let mut inlet = inlet(bus, &["FROM_.*"]);
    let mut outlet = bus.outlet().unwrap();
    let mut missing = vec![5, 200_000];
    while !missing.is_empty() {
        for received in collect(&mut *inlet, 1) {
            assert_eq!(received.channel, "FROM_CYCLONE");
            assert!(received.payload.iter().all(|byte| *byte == 7));
            assert!(received.sequence.is_some(), "DDS itself counts");
            missing.retain(|length| *length != received.payload.len());
        }
    }
    assert_eq!(inlet.counters().malformed, 0);
    let end = clock::now() + Duration::from_secs(60);
    let mut lines = Vec::new();
    let expected = ["TO_CYCLONE 3 6", "TO_CYCLONE 150001 150001"];
    while !expected
        .iter()
        .all(|line| lines.iter().any(|it| it == line))
    {
        assert!(clock::now() < end, "{lines:?}");
        let to = channel("TO_CYCLONE");
        // Best effort does not guarantee that there was room.
        let _ = outlet.publish(&to, &[1, 2, 3]);
        let _ = outlet.publish(&to, &[1; 150_001]);
        thread::sleep(Duration::from_millis(50));
        lines.extend(other.lines());
    }
}

/// A serialiser that passes bytes that are not a message.
struct Nonsense;

impl SerializerAdapter<&'static [u8]> for Nonsense {
    type Error = Infallible;

    fn output_encoding() -> RepresentationIdentifier {
        RepresentationIdentifier::CDR_LE
    }

    fn to_bytes(value: &&'static [u8]) -> Result<Bytes, Infallible> {
        Ok(Bytes::from_static(value))
    }
}

#[test]
fn what_is_not_a_message_is_counted_and_the_next_one_comes() {
    let (domain, bus) = (domain(), bus());
    let ours = open(&format!("dds://{domain}?bus={bus}"));
    let mut inlet = inlet(&ours, &["A"]);
    let builder = DomainParticipantBuilder::new(domain);
    let participant = builder
        .with_only_networks([[127, 0, 0, 1]])
        .build()
        .unwrap();
    let policies = QosPolicies::builder()
        .reliable(rustdds::Duration::from_secs(1))
        .build();
    let (topic, kind) = (format!("kadenz_{bus}"), "kadenz::Message".to_owned());
    let topic = participant.create_topic(topic, kind, &policies, TopicKind::NoKey);
    let publisher = participant.create_publisher(&policies).unwrap();
    let writer = publisher.create_datawriter_no_key::<_, Nonsense>(&topic.unwrap(), None);
    let writer = writer.unwrap();
    let end = clock::now() + Duration::from_secs(60);
    while inlet.counters().malformed < 3 {
        assert!(clock::now() < end, "{:?}", inlet.counters());
        let nonsense: &[u8] = b"\xff\xff\xff\xffno message";
        writer.write(nonsense, None).unwrap();
        assert!(look(&mut *inlet, Duration::from_millis(50)).is_empty());
    }
    let mut outlet = ours.outlet().unwrap();
    join_all(&mut *outlet, &mut [&mut *inlet], &["A"]);
}
