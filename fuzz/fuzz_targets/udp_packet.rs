//! Any bytes as a datagram: its parts stay within its bytes, a name that was read can be written again, and a tag
//! cannot be made without the token.
#![no_main]

use kadenz_udp::device::{Answer, Echo, Policy};
use kadenz_udp::wire::{Discover, HEADER_BYTES, Kind, Name, Packet, Token, patch};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(packet) = Packet::parse(bytes) else {
        return;
    };
    assert!(packet.body().len() + HEADER_BYTES <= bytes.len());
    assert!(packet.damaged_bytes() <= packet.body().len());
    assert_eq!(packet.kind().first_byte(), bytes[0]);
    let token = Token::new(b"a token that nobody knows").expect("long enough");
    assert!(Packet::open(bytes, Some(&token)).is_err());

    let mut patched = bytes.to_vec();
    patch(&mut patched, packet.sequence(), packet.stamp(), None).expect("it has a header");
    assert_eq!(patched, bytes, "what was read is written again as it was");

    if let Ok(name) = packet.name() {
        assert_eq!(packet.kind(), Kind::Present);
        assert_eq!(answered_name(name, &packet), name);
    }
});

/// The name, in a device's answer to a request with the same header.
fn answered_name(name: Name, packet: &Packet<'_>) -> Name {
    let question = Discover {
        run: packet.run(),
        sequence: packet.sequence(),
        stamp: packet.stamp(),
        token: None,
    };
    let mut bytes = [0; Discover::ROOMY_BYTES];
    question.write(&mut bytes).expect("large enough");
    let mut echo = Echo::new(Policy {
        name,
        ..Policy::default()
    });
    assert_eq!(echo.on_datagram(0, &mut bytes), Answer::Reply(bytes.len()));
    let answer = Packet::parse(&bytes).expect("our own");
    answer.name().expect("our own")
}
