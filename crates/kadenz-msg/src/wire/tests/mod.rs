mod reassembly;

use proptest::prelude::*;

use super::*;
use crate::channel::Channel;

fn channel(name: &str) -> Channel {
    Channel::new(name).unwrap()
}

/// A message's fragments as datagrams.
pub(super) fn datagrams(sequence: u32, name: &str, payload: &[u8], budget: usize) -> Vec<Vec<u8>> {
    let fragments = Fragments::new(sequence, &channel(name), payload, budget).unwrap();
    fragments
        .map(|(header, part)| [header.bytes(), part].concat())
        .collect()
}

#[test]
fn a_short_message_is_written_as_lcm_writes_it() {
    let header = short_header(0x0102_0304, &channel("ARM"));
    assert_eq!(header.bytes(), b"LC02\x01\x02\x03\x04ARM\0");
    assert!(fits_short(&channel("ARM"), MAX_SHORT_MESSAGE - 4));
    assert!(!fits_short(&channel("ARM"), MAX_SHORT_MESSAGE - 3));
}

#[test]
fn a_long_message_is_cut_where_lcm_cuts_it() {
    let payload: Vec<u8> = (0..FRAGMENT_BYTES * 2 - 4).map(|at| at as u8).collect();
    let datagrams = datagrams(9, "ARM", &payload, FRAGMENT_BYTES);
    assert_eq!(datagrams.len(), 2, "ceil((channel + 1 + length) / 65487)");
    let size = (payload.len() as u32).to_be_bytes();
    assert_eq!(datagrams[0][..8], *b"LC03\0\0\0\x09");
    assert_eq!(datagrams[0][8..12], size);
    assert_eq!(datagrams[0][12..24], *b"\0\0\0\0\0\0\0\x02ARM\0");
    assert_eq!(datagrams[1][8..12], size);
    assert_eq!(
        datagrams[1][12..16],
        (FRAGMENT_BYTES as u32 - 4).to_be_bytes()
    );
    assert_eq!(datagrams[1][16..20], [0, 1, 0, 2]);
    assert_eq!(datagrams[1].len(), 20 + FRAGMENT_BYTES);
}

#[test]
fn what_the_wire_cannot_say_is_too_long() {
    let payload = vec![0; 65_535 * Fragments::MIN_BUDGET];
    let error = Fragments::new(0, &channel("ARM"), &payload, 0).unwrap_err();
    assert_eq!(error.longest, payload.len() - 4);
    assert!(Fragments::new(0, &channel("ARM"), &payload[4..], 0).is_ok());
}

#[test]
fn hostile_headers_are_refused_each_for_its_reason() {
    let parse = |bytes: &[u8]| Packet::parse(bytes).unwrap_err();
    assert_eq!(parse(b""), Malformed::Short { length: 0 });
    assert_eq!(parse(b"LC02\0\0\0"), Malformed::Short { length: 7 });
    assert_eq!(
        parse(b"LC04\0\0\0\0"),
        Malformed::Magic { magic: 0x4c43_3034 }
    );
    assert_eq!(parse(b"LC02\0\0\0\0ARM"), Malformed::ChannelEnd);
    assert_eq!(
        parse(&[b"LC02\0\0\0\0", &[b'x'; 64][..], b"\0"].concat()),
        Malformed::ChannelEnd
    );
    assert_eq!(parse(b"LC02\0\0\0\0\0x"), Malformed::ChannelEmpty);
    assert_eq!(parse(b"LC02\0\0\0\0\xff\0x"), Malformed::ChannelText);
    assert!(Packet::parse(&[b"LC02\0\0\0\0", &[b'x'; 63][..], b"\0"].concat()).is_ok());
    let fragment = |size: u32, offset: u32, numbers: [u8; 4], rest: &[u8]| {
        let (size, offset) = (size.to_be_bytes(), offset.to_be_bytes());
        [b"LC03\0\0\0\0", &size[..], &offset, &numbers, rest].concat()
    };
    for (bytes, number, count) in [
        (fragment(10, 0, [0, 2, 0, 2], b"x"), 2, 2),
        (fragment(10, 0, [0, 0, 0, 0], b"A\0x"), 0, 0),
        (fragment(10, 5, [0, 1, 0, 2], b""), 1, 2),
        (fragment(10, 5, [0, 1, 0xff, 0xff], b"x"), 1, 0xffff),
    ] {
        assert_eq!(parse(&bytes), Malformed::Number { number, count });
    }
    for (size, offset, rest) in [
        (10, 10, &b"x"[..]),
        (10, u32::MAX, b"x"),
        (1 << 29, 0, b"x"),
    ] {
        let bytes = fragment(size, offset, [0, 1, 0, 2], rest);
        assert!(
            matches!(parse(&bytes), Malformed::Place { .. }),
            "{size} {offset}"
        );
    }
    assert!(matches!(
        parse(b"LC03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0"),
        Malformed::Short { .. }
    ));
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        sequence: u32,
        name in "[a-zA-Z_/é]{1,31}",
        payload in proptest::collection::vec(any::<u8>(), 0..5000),
        budget in 65_usize..6000,
    ) {
        let header = short_header(sequence, &channel(&name));
        let datagram = [header.bytes(), &payload].concat();
        let short = Packet::Short { sequence, channel: &name, payload: &payload };
        prop_assert_eq!(Packet::parse(&datagram), Ok(short));
        let datagrams = datagrams(sequence, &name, &payload, budget);
        let mut whole = Vec::new();
        for (at, datagram) in datagrams.iter().enumerate() {
            let Ok(Packet::Fragment(fragment)) = Packet::parse(datagram) else { panic!() };
            prop_assert_eq!(usize::from(fragment.number), at);
            prop_assert_eq!(usize::from(fragment.count), datagrams.len());
            prop_assert_eq!((fragment.size, fragment.offset), (payload.len(), whole.len()));
            prop_assert_eq!(fragment.channel, (at == 0).then_some(name.as_str()));
            whole.extend_from_slice(fragment.payload);
        }
        prop_assert_eq!(whole, payload);
    }

    #[test]
    fn no_bytes_make_parsing_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), long: bool) {
        let magic = if long { b"LC03" } else { b"LC02" };
        let _ = Packet::parse(&[magic, &bytes[..]].concat());
        let _ = Packet::parse(&bytes);
    }
}
