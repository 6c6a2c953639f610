use proptest::prelude::*;

use super::*;

/// Returns the frames, as text that outlives the decoder's memory.
fn all(decoder: &mut Decoder) -> Result<Vec<String>, TcpqError> {
    let mut said = Vec::new();
    while let Some(frame) = decoder.next()? {
        said.push(match frame {
            Frame::Publish { channel, payload } => format!("{channel}:{}", payload.len()),
            Frame::Subscribe { pattern } => format!("+{pattern}"),
            Frame::Unsubscribe { pattern } => format!("-{pattern}"),
        });
    }
    Ok(said)
}

fn feed(decoder: &mut Decoder, mut bytes: &[u8], most: usize) -> Result<Vec<String>, TcpqError> {
    let mut said = Vec::new();
    while !bytes.is_empty() {
        let space = decoder.space();
        let count = bytes.len().min(most).min(space.len());
        space[..count].copy_from_slice(&bytes[..count]);
        decoder.filled(count);
        bytes = &bytes[count..];
        said.extend(all(decoder)?);
    }
    Ok(said)
}

fn talk(payload: &[u8]) -> Vec<u8> {
    let mut bytes = greeting(MAGIC_CLIENT).to_vec();
    push_subscription(&mut bytes, "ARM_.*", true).unwrap();
    let header = message_header(&Channel::new("ARM_LEFT").unwrap(), payload.len() as u32);
    bytes.extend_from_slice(header.bytes());
    bytes.extend_from_slice(payload);
    push_subscription(&mut bytes, "ARM_.*", false).unwrap();
    bytes
}

#[test]
fn frames_are_the_bytes_that_lcm_sends() {
    let expected = b"\x28\x76\x17\xfb\0\0\x01\0\0\0\0\x02\0\0\0\x06ARM_.*\0\0\0\x01\0\0\0\x08ARM_LEFT\0\0\0\x02hi\0\0\0\x03\0\0\0\x06ARM_.*";
    assert_eq!(talk(b"hi"), expected);
}

#[test]
fn an_unknown_peer_another_version_and_a_frame_of_the_wrong_side_fail() {
    let of = |peer, bytes: &[u8]| feed(&mut Decoder::new(peer, 100), bytes, 1).unwrap_err();
    assert!(matches!(
        of(Peer::Server, b"HTTP/1.1"),
        TcpqError::Magic { .. }
    ));
    let newer = [greeting(MAGIC_SERVER)[..4].to_vec(), vec![0, 0, 2, 0]].concat();
    assert_eq!(
        of(Peer::Server, &newer),
        TcpqError::Version { found: 0x200 }
    );
    let mut subscribes = greeting(MAGIC_SERVER).to_vec();
    push_subscription(&mut subscribes, ".*", true).unwrap();
    assert_eq!(of(Peer::Server, &subscribes), TcpqError::Type { found: 2 });
    let long = of(Peer::Client, &talk(&[0; 101]));
    assert!(matches!(
        long,
        TcpqError::TooLong {
            what: "message",
            length: 101,
            ..
        }
    ));
    let mut pattern = Vec::new();
    assert!(push_subscription(&mut pattern, &"x".repeat(1025), true).is_err());
    assert!(push_subscription(&mut pattern, "", true).is_err());
}

#[test]
fn a_promised_length_takes_no_memory_before_its_bytes_come() {
    let mut decoder = Decoder::new(Peer::Client, 1 << 28);
    let mut bytes = greeting(MAGIC_CLIENT).to_vec();
    let header = message_header(&Channel::new("X").unwrap(), 1 << 28);
    bytes.extend_from_slice(header.bytes());
    assert!(feed(&mut decoder, &bytes, 7).unwrap().is_empty());
    assert!(decoder.held() <= 2 * READ_SIZE);
}

#[test]
fn decoders_that_share_a_buffer_hold_the_part_of_a_frame_that_came_and_no_more() {
    let mut room = Vec::new();
    let mut decoders: Vec<Decoder> = (0..3)
        .map(|_| Decoder::new(Peer::Client, 1 << 20))
        .collect();
    let bytes = talk(&vec![1; 200_000]);
    let mut said = vec![Vec::new(); decoders.len()];
    for part in bytes.chunks(10_000) {
        for (decoder, said) in decoders.iter_mut().zip(&mut said) {
            decoder.lend(&mut room);
            said.extend(feed(decoder, part, 7_000).unwrap());
            decoder.give_back(&mut room);
        }
    }
    for (decoder, said) in decoders.iter().zip(said) {
        assert_eq!(said, ["+ARM_.*", "ARM_LEFT:200000", "-ARM_.*"]);
        assert!(decoder.has_handshake());
        assert_eq!(decoder.held(), 0);
    }
    for decoder in &mut decoders {
        decoder.lend(&mut room);
        feed(decoder, &bytes[8..108], 9).unwrap();
        decoder.give_back(&mut room);
        assert!(decoder.held() <= 100, "{}", decoder.held());
    }
}

#[test]
fn a_buffer_that_was_long_once_is_not_held_for_a_short_part() {
    let mut room = vec![0; 10 << 20];
    let mut decoder = Decoder::new(Peer::Client, 1 << 24);
    for (promised, longest) in [(100_000, 100_000), (9 << 20, 10 << 20)] {
        decoder.lend(&mut room);
        assert_eq!(decoder.needed(), 0, "it is another's");
        let header = message_header(&Channel::new("X").unwrap(), promised);
        let part = [&greeting(MAGIC_CLIENT), header.bytes(), &[0; 50_000]].concat();
        feed(&mut decoder, &part, 60_000).unwrap();
        decoder.give_back(&mut room);
        assert!((50_000..=longest).contains(&decoder.held()));
        decoder = Decoder::new(Peer::Client, 1 << 24);
    }
}

#[test]
fn needed_memory_is_known_before_it_is_taken() {
    let mut decoder = Decoder::new(Peer::Client, 1_000_000);
    for part in talk(&vec![1; 1_000_000]).chunks(50_000) {
        let mut part = part;
        while !part.is_empty() {
            let needed = decoder.needed();
            let space = decoder.space();
            let count = part.len().min(space.len());
            space[..count].copy_from_slice(&part[..count]);
            decoder.filled(count);
            part = &part[count..];
            assert_eq!(decoder.held(), needed);
            assert!(needed <= 1_000_100, "{needed}");
            all(&mut decoder).unwrap();
        }
    }
}

proptest! {
    #[test]
    fn however_the_bytes_are_cut_the_frames_are_the_same(
        length in prop_oneof![0_usize..300, 60_000_usize..200_000],
        most in 1_usize..100_000,
    ) {
        let most = most.max(length / 500);
        let mut decoder = Decoder::new(Peer::Client, 1 << 20);
        let said = feed(&mut decoder, &talk(&vec![1; length]), most).unwrap();
        prop_assert_eq!(said, ["+ARM_.*".to_owned(), format!("ARM_LEFT:{length}"), "-ARM_.*".to_owned()]);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), most in 1_usize..50) {
        let mut decoder = Decoder::new(Peer::Client, 1000);
        let _ = feed(&mut decoder, &[&greeting(MAGIC_CLIENT)[..], &bytes].concat(), most);
    }
}
