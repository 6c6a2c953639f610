//! Batches: packing and unpacking give the same measurements, and a broken batch is refused.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kadenz_udp::controller::DeviceKey;
use kadenz_udp::record::{
    self, Batch, Batcher, Cookies, DEFAULT_BATCH_BYTES, Full, Handshake, HandshakeEvent,
    Measurement, Outcome, Position, ServerReply,
};
use kadenz_udp::wire::{
    DeviceStamps, EncodeError, Kind, Malformed, Packet, RunId, Sequence, Stamp, Token,
};
use proptest::prelude::*;

fn measurement() -> impl Strategy<Value = Measurement> {
    let v4 = any::<u32>().prop_map(|it| IpAddr::V4(Ipv4Addr::from(it)));
    let v6 = any::<u128>().prop_map(|it| IpAddr::V6(Ipv6Addr::from(it)));
    let device = (prop_oneof![v4, v6], any::<u16>(), any::<u32>())
        .prop_map(|(address, port, scope)| DeviceKey::new(address, port).with_scope(scope));
    let stamps =
        (any::<u64>(), any::<u64>()).prop_map(|(received_ns, transmitted_ns)| DeviceStamps {
            received_ns,
            transmitted_ns,
        });
    let answered = (any::<u64>(), prop::option::of(stamps)).prop_map(|(received_ns, device)| {
        Outcome::Answered {
            received_ns,
            device,
        }
    });
    let outcome = prop_oneof![Just(Outcome::Lost), answered];
    (device, any::<u32>(), any::<u64>(), any::<u64>(), outcome).prop_map(
        |(device, sequence, intended_ns, sent_ns, outcome)| Measurement {
            device,
            sequence: Sequence(sequence),
            intended_ns,
            sent_ns,
            outcome,
        },
    )
}

fn lost() -> Measurement {
    Measurement {
        device: DeviceKey::new(Ipv4Addr::LOCALHOST.into(), 6176),
        sequence: Sequence(0),
        intended_ns: 0,
        sent_ns: 0,
        outcome: Outcome::Lost,
    }
}

#[test]
fn a_full_batch_refuses_and_stays_as_it_is() {
    let mut batcher = Batcher::over([0; DEFAULT_BATCH_BYTES], RunId(7), None).unwrap();
    let mut fits = 0;
    while batcher.push(&lost()).is_ok() {
        fits += 1;
    }
    // 18 of header, 4 of head, 27 for each without an answer.
    assert_eq!((fits, batcher.len()), ((1400 - 22) / 27, 51));
    assert_eq!(batcher.push(&lost()), Err(Full));
    let packet = Packet::parse(batcher.finish(Stamp(0), Position::Within)).unwrap();
    assert_eq!(Batch::read(&packet).unwrap().len(), fits);
    assert!(batcher.is_empty() && batcher.sequence() == Sequence(1));
    assert_eq!(batcher.push(&lost()), Ok(()));
}

#[test]
fn a_buffer_holds_one_of_the_largest_or_is_refused() {
    let token = Token::new(b"arm of robot 3").unwrap();
    for (token, least) in [(None, 18 + 4 + 67), (Some(token), 18 + 4 + 67 + 16)] {
        let refused = Batcher::over(vec![0; least - 1], RunId(7), token.clone()).err();
        let given = least - 1;
        assert_eq!(refused, Some(EncodeError::TooSmall { given, least }));
        let mut batcher = Batcher::over(vec![0; least], RunId(7), token).unwrap();
        let largest = Measurement {
            device: DeviceKey::new(Ipv6Addr::LOCALHOST.into(), 6176),
            outcome: Outcome::Answered {
                received_ns: 1,
                device: Some(DeviceStamps::ABSENT),
            },
            ..lost()
        };
        assert_eq!(batcher.push(&largest), Ok(()));
        assert_eq!(batcher.finish(Stamp(0), Position::Last).len(), least);
    }
}

#[test]
fn what_is_broken_is_refused_whole() {
    let mut batcher = Batcher::over([0; 200], RunId(7), None).unwrap();
    batcher.push(&lost()).unwrap();
    let sound = batcher.finish(Stamp(0), Position::Last).to_vec();
    let read = |bytes: &[u8]| Batch::read(&Packet::parse(bytes).unwrap()).map(|it| it.len());
    assert_eq!(read(&sound), Ok(1));
    let changed = |at: usize, byte: u8| {
        let mut bytes = sound.clone();
        bytes[at] = byte;
        bytes
    };
    let longer = [&sound[..], &[0]].concat();
    let cases = [
        ("cut in a measurement", sound[..sound.len() - 1].to_vec()),
        ("cut in its head", sound[..20].to_vec()),
        ("longer than announced", longer),
        ("announces two", changed(19, 2)),
        ("announces none", changed(19, 0)),
        ("a position of 2", changed(21, 2)),
        ("stamps without an answer", changed(22, 0b100)),
        ("an unknown flag", changed(22, 0b1000)),
    ];
    for (what, bytes) in cases {
        assert_eq!(read(&bytes), Err(Malformed::Batch), "{what}");
    }
    assert_eq!(
        read(&changed(0, Kind::Probe.first_byte())),
        Err(Malformed::Kind(0xA1))
    );
}

#[test]
fn ipv4_inside_of_ipv6_has_one_form() {
    let mut batcher = Batcher::over([0; 200], RunId(7), None).unwrap();
    let six = Measurement {
        device: DeviceKey::new(Ipv6Addr::LOCALHOST.into(), 6176),
        ..lost()
    };
    batcher.push(&six).unwrap();
    let mut bytes = batcher.finish(Stamp(0), Position::Last).to_vec();
    let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
    bytes[23..39].copy_from_slice(&mapped.octets());
    assert!(Batch::read(&Packet::parse(&bytes).unwrap()).is_err());
}

#[test]
fn only_a_batch_has_a_receipt_and_it_is_not_longer() {
    let token = Token::new(b"arm of robot 3").unwrap();
    let mut batcher = Batcher::over([0; 200], RunId(7), Some(token.clone())).unwrap();
    let tagged = batcher.finish(Stamp(5), Position::Last).to_vec();
    let mut receipt = tagged.clone();
    let length = record::server_reply(&mut receipt, ServerReply::Kept, Some(&token)).unwrap();
    let packet = Packet::open(&receipt[..length], Some(&token)).unwrap();
    assert_eq!(
        (packet.kind(), packet.run(), packet.stamp()),
        (Kind::BatchKept, RunId(7), Stamp(5))
    );
    assert_eq!(
        record::server_reply(&mut receipt[..length], ServerReply::Kept, Some(&token)),
        None,
        "no receipt of a receipt"
    );
    assert_eq!(
        record::server_reply(&mut tagged.clone(), ServerReply::Kept, None),
        Some(18)
    );
}

#[test]
fn a_cookie_is_of_one_address_and_one_run() {
    let cookies = Cookies::new(&[7; 32]);
    let of = |address: &str, run| {
        let address: std::net::SocketAddr = address.parse().unwrap();
        cookies.of(address.into(), RunId(run))
    };
    let own = of("10.0.0.1:4000", 1);
    assert_eq!(of("10.0.0.1:4000", 1), own);
    assert_eq!(of("[::ffff:10.0.0.1]:4000", 1), own, "the same address");
    let others = [
        of("10.0.0.1:4001", 1),
        of("10.0.0.2:4000", 1),
        of("10.0.0.1:4000", 2),
    ];
    let scoped = [of("[fe80::1%2]:4000", 1), of("[fe80::1%3]:4000", 1)];
    assert!(!others.contains(&own) && scoped[0] != scoped[1]);
    let restarted = Cookies::new(&[8; 32]);
    let address: std::net::SocketAddr = "10.0.0.1:4000".parse().unwrap();
    assert_ne!(restarted.of(address.into(), RunId(1)), own);
}

#[test]
fn no_answer_of_the_server_is_longer_than_its_question() {
    let token = Token::new(b"arm of robot 3").unwrap();
    for token in [None, Some(token)] {
        let mut batcher = Batcher::over([0; 200], RunId(7), token.clone()).unwrap();
        let batch = batcher.finish(Stamp(5), Position::Last).to_vec();
        let hello = Handshake::new(RunId(7), token.clone()).hello().to_vec();
        let replies = [
            ServerReply::Kept,
            ServerReply::Cookie(Stamp(1)),
            ServerReply::Welcome,
            ServerReply::Refused,
        ];
        for question in [batch, hello] {
            for reply in replies {
                let mut bytes = question.clone();
                let Some(length) = record::server_reply(&mut bytes, reply, token.as_ref()) else {
                    continue;
                };
                assert!(length <= question.len(), "{reply:?}");
                let again = record::server_reply(&mut bytes[..length], reply, token.as_ref());
                assert_eq!(again, None, "no answer to an answer");
            }
        }
    }
}

#[test]
fn an_answer_to_another_run_or_without_the_token_is_not_heard() {
    let token = Token::new(b"arm of robot 3").unwrap();
    let mut handshake = Handshake::new(RunId(7), Some(token.clone()));
    let mut other = Handshake::new(RunId(8), Some(token.clone()));
    let mut bytes = other.hello().to_vec();
    record::server_reply(&mut bytes, ServerReply::Refused, Some(&token)).unwrap();
    assert_eq!(handshake.receive(&bytes), HandshakeEvent::Nothing);
    let mut untagged = Handshake::new(RunId(7), None);
    let mut bytes = untagged.hello().to_vec();
    record::server_reply(&mut bytes, ServerReply::Refused, None).unwrap();
    assert_eq!(handshake.receive(&bytes), HandshakeEvent::Nothing);
    assert_eq!(untagged.receive(&bytes), HandshakeEvent::Refused);
}

proptest! {
    #[test]
    fn what_is_packed_is_unpacked(
        measurements in prop::collection::vec(measurement(), 0..40),
        tagged in any::<bool>(),
        stamp in any::<u64>(),
        room in 110_usize..1400,
    ) {
        let token = tagged.then(|| Token::new(b"arm of robot 3").unwrap());
        let mut batcher = Batcher::over(vec![0xEE; room], RunId(7), token.clone()).unwrap();
        let mut unpacked = Vec::new();
        let mut sent = 0;
        let mut send = |batcher: &mut Batcher<Vec<u8>>, unpacked: &mut Vec<Measurement>| {
            let datagram = batcher.finish(Stamp(stamp), Position::Within);
            assert!(datagram.len() <= room);
            let packet = Packet::open(datagram, token.as_ref()).unwrap();
            let batch = Batch::read(&packet).unwrap();
            assert_eq!((batch.run(), batch.sequence(), batch.stamp()), (RunId(7), Sequence(sent), Stamp(stamp)));
            assert_eq!(batch.measurements().len(), batch.measurements().count());
            unpacked.extend(batch.measurements());
            sent += 1;
        };
        for measurement in &measurements {
            if batcher.push(measurement).is_err() {
                send(&mut batcher, &mut unpacked);
                prop_assert_eq!(batcher.push(measurement), Ok(()));
            }
        }
        send(&mut batcher, &mut unpacked);
        prop_assert_eq!(unpacked, measurements);
    }

    #[test]
    fn any_bytes_are_a_batch_or_refused(content in prop::collection::vec(any::<u8>(), 0..300), count in 0_u16..9) {
        let mut bytes = vec![0; 22];
        bytes[0] = Kind::Batch.first_byte();
        bytes[18..20].copy_from_slice(&count.to_be_bytes());
        bytes.extend(content);
        if let Ok(batch) = Batch::read(&Packet::parse(&bytes).unwrap()) {
            prop_assert_eq!(batch.measurements().count(), usize::from(count));
        }
    }
}
