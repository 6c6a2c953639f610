//! The datagram: what is written can be read back, and other bytes are refused.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use kadenz_udp::wire::{
    self, BadToken, EncodeError, Kind, MAX_PAYLOAD_BYTES, Malformed, Name, Packet, Probe, Refused,
    RunId, Sequence, Stamp, Token,
};
use proptest::prelude::*;

fn probe(stamps: bool, token: Option<&Token>) -> Probe<'_> {
    Probe {
        run: RunId(7),
        sequence: Sequence(1),
        stamp: Stamp(2),
        stamps,
        token,
    }
}

fn token() -> Token {
    Token::new(b"arm of robot 3").unwrap()
}

#[test]
fn a_probe_fits_from_its_least_to_the_most_of_udp_and_not_beyond() {
    let token = token();
    let cases = [
        (false, None, 18),
        (true, None, 34),
        (false, Some(&token), 34),
        (true, Some(&token), 50),
    ];
    let mut buffer = vec![0; MAX_PAYLOAD_BYTES + 1];
    for (stamps, token, least) in cases {
        let probe = probe(stamps, token);
        assert_eq!(probe.least_bytes(), least);
        let given = least - 1;
        let small = EncodeError::TooSmall { given, least };
        assert_eq!(probe.write(&mut buffer[..given]), Err(small));
        for fits in [least, MAX_PAYLOAD_BYTES] {
            assert_eq!(probe.write(&mut buffer[..fits]), Ok(fits));
            let packet = Packet::open(&buffer[..fits], token).unwrap();
            assert_eq!(packet.body().len(), fits - least);
        }
        let given = buffer.len();
        assert_eq!(
            probe.write(&mut buffer),
            Err(EncodeError::TooLarge { given })
        );
    }
}

#[test]
fn what_is_not_a_datagram_of_this_protocol_is_recognised() {
    let mut bytes = [0_u8; 34];
    probe(true, None).write(&mut bytes).unwrap();
    let short = |given, least| Err(Malformed::Short { given, least });
    assert_eq!(Packet::parse(&[]), short(0, 18));
    assert_eq!(Packet::parse(&bytes[..17]), short(17, 18));
    assert_eq!(Packet::parse(&bytes[..33]), short(33, 34));
    for first in [0x00, 0xA0, 0xAB, 0xB1, 0xFF] {
        bytes[0] = first;
        assert_eq!(Packet::parse(&bytes), Err(Malformed::Kind(first)));
    }
    bytes[0] = Kind::Probe.first_byte();
    bytes[1] = 0b100;
    assert_eq!(Packet::parse(&bytes), Err(Malformed::Flags(0b100)));
}

#[test]
fn the_token_is_asked_of_all_or_of_none() {
    let (ours, theirs) = (token(), Token::new(b"another robot").unwrap());
    let mut tagged = [0; 64];
    probe(false, Some(&ours)).write(&mut tagged).unwrap();
    let mut plain = [0; 64];
    probe(false, None).write(&mut plain).unwrap();
    assert!(Packet::open(&tagged, Some(&ours)).is_ok());
    assert!(Packet::open(&plain, None).is_ok());
    for (bytes, token) in [
        (&tagged, Some(&theirs)),
        (&tagged, None),
        (&plain, Some(&ours)),
    ] {
        assert_eq!(Packet::open(bytes, token), Err(Refused::WrongToken));
    }
}

#[test]
fn a_token_has_8_to_64_bytes_and_is_never_shown() {
    for given in [0, 7, 65] {
        assert_eq!(
            Token::new(&[b'x'; 65][..given]).err(),
            Some(BadToken { given })
        );
    }
    for given in [8, 64] {
        let token = Token::new(&[b'x'; 64][..given]).unwrap();
        assert!(!format!("{token:?}").contains('x'));
    }
}

#[test]
fn names_are_printable_and_short() {
    let longest = "x".repeat(Name::MAX_BYTES);
    assert_eq!(Name::new(&longest).unwrap().as_str(), longest);
    for wrong in [
        format!("{longest}x"),
        "knee\n".to_owned(),
        "Knöchel".to_owned(),
    ] {
        assert_eq!(Name::new(&wrong), None, "{wrong:?}");
    }
    assert_eq!(Name::new(""), Some(Name::EMPTY));
}

#[test]
fn a_forged_name_is_malformed() {
    let mut present = [0; 24];
    probe(false, None).write(&mut present).unwrap();
    present[0] = Kind::Present.first_byte();
    for body in [*b"\x06knees", *b"\x03\x1b[2Jx", *b"\xffknees"] {
        present[18..].copy_from_slice(&body);
        assert_eq!(
            Packet::parse(&present).unwrap().name(),
            Err(Malformed::Name)
        );
    }
    present[18..].copy_from_slice(b"\x05knees");
    assert_eq!(
        Packet::parse(&present).unwrap().name().unwrap().as_str(),
        "knees"
    );
}

#[test]
fn errors_name_a_remedy() {
    let short = Malformed::Short {
        given: 1,
        least: 18,
    };
    let texts = [
        short.to_string(),
        Refused::WrongToken.to_string(),
        EncodeError::TooLarge { given: 70_000 }.to_string(),
        BadToken { given: 1 }.to_string(),
    ];
    for text in texts {
        assert!(text.contains(':'), "cause: remedy in {text:?}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        run in any::<u32>(),
        sequence in any::<u32>(),
        stamp in any::<u64>(),
        stamps in any::<bool>(),
        tagged in any::<bool>(),
        length in 50_usize..2000,
    ) {
        let token = token();
        let token = tagged.then_some(&token);
        let mut bytes = vec![0xEE; length];
        let probe = Probe {
            run: RunId(run),
            sequence: Sequence(0),
            stamp: Stamp(0),
            stamps,
            token,
        };
        probe.write(&mut bytes).unwrap();
        wire::patch(&mut bytes, Sequence(sequence), Stamp(stamp), token).unwrap();
        let packet = Packet::open(&bytes, token).unwrap();
        prop_assert_eq!(packet.kind(), Kind::Probe);
        prop_assert_eq!(packet.run(), RunId(run));
        prop_assert_eq!((packet.sequence(), packet.stamp()), (Sequence(sequence), Stamp(stamp)));
        prop_assert_eq!((packet.asks_for_stamps(), packet.has_tag()), (stamps, tagged));
        prop_assert_eq!((packet.device_stamps(), packet.damaged_bytes()), (None, 0));
        let mut at_once = vec![0; length];
        Probe { sequence: Sequence(sequence), stamp: Stamp(stamp), ..probe }.write(&mut at_once).unwrap();
        prop_assert_eq!(bytes, at_once, "patched is as good as written");
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), first in 0_usize..8) {
        let mut bytes = bytes;
        if let (Some(byte), Some(kind)) = (bytes.first_mut(), Kind::ALL.get(first)) {
            *byte = kind.first_byte();
        }
        let token = token();
        if let Ok(packet) = Packet::parse(&bytes) {
            prop_assert!(packet.body().len() + 18 <= bytes.len());
            prop_assert!(packet.damaged_bytes() <= packet.body().len());
            let _ = packet.name();
        }
        prop_assert!(Packet::open(&bytes, Some(&token)).is_err(), "no tag is guessed");
    }

    #[test]
    fn each_flipped_bit_of_a_tagged_datagram_is_noticed(length in 50_usize..300, at in any::<prop::sample::Index>(), bit in 0_u32..8) {
        let token = token();
        let mut bytes = vec![0; length];
        probe(true, Some(&token)).write(&mut bytes).unwrap();
        let at = at.index(length);
        bytes[at] ^= 1 << bit;
        prop_assert!(Packet::open(&bytes, Some(&token)).is_err());
    }

    #[test]
    fn each_flipped_byte_of_the_filler_is_noticed(length in 19_usize..1000, at in any::<prop::sample::Index>(), by in 1_u8..) {
        let mut bytes = vec![0; length];
        probe(false, None).write(&mut bytes).unwrap();
        let at = 18 + at.index(length - 18);
        bytes[at] ^= by;
        prop_assert_eq!(Packet::parse(&bytes).unwrap().damaged_bytes(), 1);
    }
}
