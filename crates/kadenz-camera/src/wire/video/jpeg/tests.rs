#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use kadenz_rt::clock::MonotonicTime;
use proptest::prelude::*;

use super::super::super::jpeg::{ImageBoundary, Scanner};
use super::super::super::rtp::Packet;
use super::super::Encoded;
use super::*;

const DATA: &[u8] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

fn push(
    assembler: &mut JpegAssembler,
    at: u32,
    marker: bool,
    lost_before: u64,
    payload: &[u8],
) -> Vec<Encoded> {
    let packet = Packet {
        marker,
        payload_type: 26,
        sequence: 0,
        timestamp: at * 3000,
        ssrc: 1,
        payload,
    };
    let arrival = MonotonicTime::from_ns(u64::from(at));
    assembler.push(&Sequenced {
        packet,
        arrival,
        lost_before,
        is_restart: false,
    });
    assembler.pictures.ready.drain(..).collect()
}

/// A header of RFC 2435 for 320x240, type 1, and what follows it.
fn fragment(offset: u8, quality: u8, rest: &[&[u8]]) -> Vec<u8> {
    [&[0, 0, 0, offset, 1, quality, 40, 30][..], &rest.concat()].concat()
}

/// Asserts that the bytes are a file from beginning to end, with the data in it.
fn assert_is_jpeg(bytes: &[u8], data: &[u8]) {
    let mut scanner = Scanner::default();
    assert_eq!(scanner.scan(bytes), Some(ImageBoundary::Begin(2)));
    assert_eq!(
        scanner.scan(&bytes[2..]),
        Some(ImageBoundary::End(bytes.len() - 2))
    );
    assert!(bytes.ends_with(&[data, &[0xff, 0xd9]].concat()));
}

#[test]
fn a_picture_is_made_of_its_fragments() {
    let mut assembler = JpegAssembler::default();
    assert_eq!(
        push(&mut assembler, 1, false, 0, &fragment(0, 80, &[&DATA[..4]])),
        []
    );
    let pictures = push(&mut assembler, 1, true, 0, &fragment(4, 80, &[&DATA[4..]]));
    assert_is_jpeg(&pictures[0].bytes, DATA);
    assert!(pictures[0].is_key && !pictures[0].is_damaged);
    // Without a marker the next picture ends it.
    assert_eq!(
        push(&mut assembler, 2, false, 0, &fragment(0, 80, &[DATA])),
        []
    );
    let pictures = push(&mut assembler, 3, true, 0, &fragment(0, 80, &[DATA]));
    assert_eq!(
        pictures.iter().map(|it| it.timestamp).collect::<Vec<_>>(),
        [6000, 9000]
    );
}

#[test]
fn tables_come_with_pictures_or_are_remembered() {
    let mut assembler = JpegAssembler::default();
    // No tables came yet for this quality.
    assert_eq!(
        push(
            &mut assembler,
            1,
            true,
            0,
            &fragment(0, 200, &[&[0, 0, 0, 0], DATA])
        ),
        []
    );
    let tables = [[7; 64], [9; 64]].concat();
    let pictures = push(
        &mut assembler,
        2,
        true,
        0,
        &fragment(0, 200, &[&[0, 0, 0, 128], &tables, DATA]),
    );
    assert_is_jpeg(&pictures[0].bytes, DATA);
    assert!(pictures[0].bytes.windows(64).any(|it| it == [9; 64]));
    let again = push(
        &mut assembler,
        3,
        true,
        0,
        &fragment(0, 200, &[&[0, 0, 0, 0], DATA]),
    );
    assert_eq!(again[0].bytes, pictures[0].bytes);
    let odd = fragment(0, 255, &[&[0, 0, 0, 100], &tables[..100], DATA]);
    assert_eq!(push(&mut assembler, 4, true, 0, &odd), []);
    // Of 16-bit values.
    let wide = fragment(0, 255, &[&[0, 3, 1, 0], &[0; 256], DATA]);
    assert_is_jpeg(&push(&mut assembler, 5, true, 0, &wide)[0].bytes, DATA);
}

#[test]
fn restart_markers_are_in_the_headers() {
    let mut assembler = JpegAssembler::default();
    let payload = [&[0, 0, 0, 0, 65, 80, 40, 30, 0, 7, 0xff, 0xff][..], DATA].concat();
    let pictures = push(&mut assembler, 1, true, 0, &payload);
    assert!(
        pictures[0]
            .bytes
            .windows(6)
            .any(|it| it == [0xff, 0xdd, 0, 4, 0, 7])
    );
    assert_is_jpeg(&pictures[0].bytes, DATA);
}

#[test]
fn a_loss_is_marked() {
    let mut assembler = JpegAssembler::default();
    push(&mut assembler, 1, true, 0, &fragment(0, 80, &[DATA]));
    push(&mut assembler, 2, true, 0, &fragment(0, 80, &[DATA]));
    push(&mut assembler, 3, false, 0, &fragment(0, 80, &[&DATA[..2]]));
    let pictures = push(&mut assembler, 3, true, 1, &fragment(6, 80, &[&DATA[6..]]));
    assert!(pictures[0].is_damaged && pictures[0].missed == 0);
    // A picture without its head, and one of which nothing came.
    assert_eq!(
        push(&mut assembler, 5, true, 2, &fragment(4, 80, &[DATA])),
        []
    );
    let pictures = push(&mut assembler, 6, true, 0, &fragment(0, 80, &[DATA]));
    assert!(
        !pictures[0].is_damaged && pictures[0].missed == 2,
        "{pictures:?}"
    );
}

proptest! {
    #[test]
    fn any_packets_are_bounded_and_harmless(
        packets in prop::collection::vec((0_u32..4, any::<bool>(), 0_u64..2, prop::collection::vec(any::<u8>(), 0..40)), 0..60),
    ) {
        let mut assembler = JpegAssembler::default();
        for (at, marker, lost, payload) in packets {
            prop_assert!(push(&mut assembler, at, marker, lost, &payload).len() <= 2);
        }
    }
}
