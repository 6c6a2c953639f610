//! The datagrams of `conformance/udp`, which were not written by this code.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::net::SocketAddr;
use std::path::PathBuf;

use kadenz_udp::device::{Answer, Echo, Policy};
use kadenz_udp::record::{
    self, Batch, Batcher, Handshake, HandshakeEvent, Measurement, Outcome, Position, ServerReply,
};
use kadenz_udp::wire::{
    DeviceStamps, Discover, Kind, Name, Packet, Probe, RunId, Sequence, Stamp, Token,
};

const RUN: RunId = RunId(0x0bad_cafe);

fn token() -> Token {
    Token::new(b"conformance token").unwrap()
}

fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance/udp");
    folder.join(name)
}

fn golden(name: &str) -> Vec<u8> {
    let text = std::fs::read_to_string(path(&format!("{name}.hex"))).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .flat_map(str::split_whitespace)
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

#[test]
fn both_forms_of_each_file_say_the_same() {
    let mut seen = 0;
    for entry in std::fs::read_dir(path("")).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|it| it == "bin") {
            let name = file.file_stem().unwrap().to_str().unwrap();
            assert_eq!(std::fs::read(&file).unwrap(), golden(name), "{name}");
            seen += 1;
        }
    }
    assert_eq!(seen, 13);
}

#[test]
fn the_smallest_probe() {
    let probe = Probe {
        run: RUN,
        sequence: Sequence(1),
        stamp: Stamp(1_000_000),
        stamps: false,
        token: None,
    };
    let mut bytes = [0xFF; 18];
    assert_eq!(probe.write(&mut bytes), Ok(18));
    assert_eq!(bytes[..], golden("probe-smallest"));
}

#[test]
fn the_full_probe_and_its_reply() {
    let token = token();
    let probe = Probe {
        run: RUN,
        sequence: Sequence(u32::MAX),
        stamp: Stamp(1_000_000_000_123),
        stamps: true,
        token: Some(&token),
    };
    let mut bytes = [0xFF; 296];
    probe.write(&mut bytes).unwrap();
    assert_eq!(bytes[..], golden("probe-full"));

    let mut echo = Echo::new(Policy {
        token: Some(token.clone()),
        ..Policy::default()
    });
    assert_eq!(echo.on_datagram(5000, &mut bytes), Answer::Reply(296));
    echo.stamp_departure(6000, &mut bytes);
    assert_eq!(bytes[..], golden("reply-full"));

    let reply = Packet::open(&bytes, Some(&token)).unwrap();
    let stamps = DeviceStamps {
        received_ns: 5000,
        transmitted_ns: 6000,
    };
    assert_eq!(reply.device_stamps(), Some(stamps));
    assert_eq!(reply.damaged_bytes(), 0);
}

#[test]
fn a_discovery_and_its_answers() {
    let question = Discover {
        run: RUN,
        sequence: Sequence(0),
        stamp: Stamp(77),
        token: None,
    };
    let mut echo = Echo::new(Policy {
        name: Name::new("left knee").unwrap(),
        ..Policy::default()
    });
    for (length, answer, name) in [(40, "present", "left knee"), (22, "present-cut", "lef")] {
        let mut bytes = vec![0xFF; length];
        question.write(&mut bytes).unwrap();
        assert_eq!(bytes, golden("discover")[..length]);
        assert_eq!(echo.on_datagram(0, &mut bytes), Answer::Reply(length));
        assert_eq!(bytes, golden(answer));
        let read = Packet::parse(&bytes).unwrap().name().unwrap();
        assert_eq!(read.as_str(), name);
    }
}

fn measurements() -> [Measurement; 3] {
    let knee: SocketAddr = "10.10.1.2:6176".parse().unwrap();
    let hand: SocketAddr = "[fe80::2%3]:6176".parse().unwrap();
    let lost = Measurement {
        device: knee.into(),
        sequence: Sequence(7),
        intended_ns: 70_000_000,
        sent_ns: 70_004_000,
        outcome: Outcome::Lost,
    };
    let answered = Measurement {
        sequence: Sequence(8),
        intended_ns: 80_000_000,
        sent_ns: 80_001_000,
        outcome: Outcome::Answered {
            received_ns: 80_194_000,
            device: None,
        },
        ..lost
    };
    let stamped = Measurement {
        device: hand.into(),
        sent_ns: 80_002_000,
        outcome: Outcome::Answered {
            received_ns: 80_200_000,
            device: Some(DeviceStamps {
                received_ns: 5_080_000,
                transmitted_ns: 5_100_000,
            }),
        },
        ..answered
    };
    [lost, answered, stamped]
}

#[test]
fn a_batch_and_its_receipt() {
    let token = token();
    let mut batcher = Batcher::over([0xFF_u8; 1400], RUN, Some(token.clone())).unwrap();
    batcher.finish(Stamp(0), Position::Within);
    batcher.finish(Stamp(0), Position::Within);
    for measurement in measurements() {
        batcher.push(&measurement).unwrap();
    }
    let sent = batcher.finish(Stamp(9_000_000_000), Position::Last);
    assert_eq!(sent, golden("batch"));

    let mut bytes = golden("batch");
    let packet = Packet::open(&bytes, Some(&token)).unwrap();
    let batch = Batch::read(&packet).unwrap();
    assert_eq!((batch.run(), batch.sequence()), (RUN, Sequence(2)));
    assert_eq!(batch.position(), Position::Last);
    assert_eq!(batch.measurements().collect::<Vec<_>>(), measurements());

    let length = record::server_reply(&mut bytes, ServerReply::Kept, Some(&token)).unwrap();
    assert_eq!(bytes[..length], golden("batch-kept"));
}

#[test]
fn a_controller_is_introduced() {
    let token = token();
    let mut handshake = Handshake::new(RUN, Some(token.clone()));
    assert_eq!(handshake.hello(), golden("hello-first"));
    let cookie = Stamp(0x0123_4567_89ab_cdef);
    let replies = [
        (
            "hello-first",
            ServerReply::Cookie(cookie),
            "cookie",
            HandshakeEvent::AskedAgain,
        ),
        (
            "hello",
            ServerReply::Welcome,
            "welcome",
            HandshakeEvent::Welcome,
        ),
        (
            "hello",
            ServerReply::Refused,
            "refused",
            HandshakeEvent::Refused,
        ),
    ];
    for (question, reply, answer, heard) in replies {
        let mut bytes = golden(question);
        let length = record::server_reply(&mut bytes, reply, Some(&token)).unwrap();
        assert_eq!(bytes[..length], golden(answer), "{answer}");
        assert_eq!(handshake.receive(&golden(answer)), heard, "{answer}");
        assert_eq!(handshake.hello(), golden("hello"), "{answer}");
    }
}

#[test]
fn each_is_of_its_kind() {
    let kinds = [
        ("probe-smallest", Kind::Probe),
        ("probe-full", Kind::Probe),
        ("reply-full", Kind::Reply),
        ("discover", Kind::Discover),
        ("present", Kind::Present),
        ("batch", Kind::Batch),
        ("batch-kept", Kind::BatchKept),
        ("hello-first", Kind::Hello),
        ("hello", Kind::Hello),
        ("cookie", Kind::Cookie),
        ("welcome", Kind::Welcome),
        ("refused", Kind::Refused),
    ];
    for (name, kind) in kinds {
        let bytes = golden(name);
        let packet = Packet::parse(&bytes).unwrap();
        assert_eq!((packet.kind(), packet.run()), (kind, RUN), "{name}");
        assert_eq!(packet.damaged_bytes(), 0, "{name}");
    }
}
