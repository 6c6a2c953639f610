//! The echo's answers to anything: never longer than the question, never an answer to an answer, and none to a sender
//! without the token.
#![no_main]

use kadenz_udp::device::{Answer, Echo, Policy, SilenceReason};
use kadenz_udp::wire::{Kind, Name, Packet, Token};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let name = Name::new("left knee").expect("printable");
    let token = Token::new(b"a token that nobody knows").expect("long enough");
    let open = Policy {
        name,
        ..Policy::default()
    };
    let closed = Policy {
        token: Some(token),
        ..open.clone()
    };
    let mut without_token = bytes.to_vec();
    let refused = Echo::new(closed).on_datagram(5, &mut without_token);
    assert!(matches!(refused, Answer::Silent(_)));
    assert_eq!(without_token, bytes, "what is not answered stays as it is");

    let question = Packet::parse(bytes).ok().map(|packet| packet.kind());
    let mut datagram = bytes.to_vec();
    let mut echo = Echo::new(open);
    let Answer::Reply(length) = echo.on_datagram(5, &mut datagram) else {
        assert_eq!(datagram, bytes);
        return;
    };
    assert!(length <= bytes.len());
    echo.stamp_departure(6, &mut datagram[..length]);
    let answer = Packet::open(&datagram[..length], None).expect("an answer is a datagram");
    match question {
        Some(Kind::Probe) => assert_eq!(answer.kind(), Kind::Reply),
        Some(Kind::Discover) => assert!(answer.name().is_ok()),
        other => panic!("answered {other:?}"),
    }
    if let Some(stamps) = answer.device_stamps() {
        assert_eq!((stamps.received_ns, stamps.transmitted_ns), (5, 6));
    }
    let again = echo.on_datagram(7, &mut datagram[..length]);
    assert_eq!(again, Answer::Silent(SilenceReason::NotAQuestion));
});
