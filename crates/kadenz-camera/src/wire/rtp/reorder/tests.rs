#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use proptest::prelude::*;

use super::*;

fn packet(sequence: u16, ssrc: u32) -> Vec<u8> {
    let payload = sequence.to_be_bytes();
    let packet = Packet {
        marker: false,
        payload_type: 96,
        sequence,
        timestamp: 0,
        ssrc,
        payload: &payload,
    };
    let mut bytes = Vec::new();
    packet.write(&mut bytes);
    bytes
}

fn at_ms(ms: u64) -> MonotonicTime {
    MonotonicTime::from_ns(ms * 1_000_000)
}

fn drain(reorder: &mut Reorder, now: MonotonicTime, out: &mut Vec<(u16, u64)>) {
    while let Some(it) = reorder.pop(now) {
        assert_eq!(it.packet.payload, it.packet.sequence.to_be_bytes());
        out.push((it.packet.sequence, it.lost_before));
    }
}

/// Pushes a packet a millisecond.
fn given(limits: ReorderLimits, sequences: &[u16]) -> (Vec<(u16, u64)>, ReorderCounts) {
    let (mut reorder, mut out) = (Reorder::new(limits), Vec::new());
    for (ms, sequence) in sequences.iter().enumerate() {
        let now = at_ms(ms as u64);
        reorder.push(&packet(*sequence, 1), now);
        drain(&mut reorder, now, &mut out);
    }
    drain(&mut reorder, at_ms(1_000_000), &mut out);
    (out, reorder.counts())
}

fn numbers(out: &[(u16, u64)]) -> Vec<u16> {
    out.iter().map(|it| it.0).collect()
}

#[test]
fn packets_come_in_order_across_the_wrap() {
    let (out, counts) = given(ReorderLimits::UDP, &[65_533, 65_535, 65_534, 1, 0, 1, 2]);
    assert_eq!(numbers(&out), [65_533, 65_534, 65_535, 0, 1, 2]);
    let expected = ReorderCounts {
        received: 6,
        duplicated: 1,
        reordered: 2,
        ..ReorderCounts::default()
    };
    assert_eq!(counts, expected);
}

#[test]
fn a_missing_packet_is_given_up_after_its_time() {
    let mut reorder = Reorder::new(ReorderLimits::UDP);
    let mut out = Vec::new();
    for (sequence, ms) in [(10, 0), (12, 1), (13, 20)] {
        reorder.push(&packet(sequence, 1), at_ms(ms));
        drain(&mut reorder, at_ms(ms), &mut out);
    }
    assert_eq!(out, [(10, 0)]);
    assert_eq!(reorder.deadline(), Some(at_ms(51)));
    drain(&mut reorder, at_ms(50), &mut out);
    assert_eq!(out.len(), 1);
    drain(&mut reorder, at_ms(51), &mut out);
    assert_eq!(out, [(10, 0), (12, 1), (13, 0)]);
    reorder.push(&packet(11, 1), at_ms(52));
    reorder.push(&packet(12, 1), at_ms(53));
    drain(&mut reorder, at_ms(53), &mut out);
    let expected = ReorderCounts {
        received: 3,
        lost: 1,
        late: 1,
        duplicated: 1,
        ..ReorderCounts::default()
    };
    assert_eq!((out.len(), reorder.counts()), (3, expected));
}

#[test]
fn a_missing_packet_is_given_up_for_many_behind_it() {
    let few = ReorderLimits {
        packets: 2,
        time: Duration::from_secs(9),
    };
    let (mut reorder, mut out) = (Reorder::new(few), Vec::new());
    for sequence in [1, 3, 4] {
        reorder.push(&packet(sequence, 1), at_ms(0));
        drain(&mut reorder, at_ms(0), &mut out);
    }
    assert_eq!(numbers(&out), [1]);
    reorder.push(&packet(5, 1), at_ms(0));
    drain(&mut reorder, at_ms(0), &mut out);
    assert_eq!(out, [(1, 0), (3, 1), (4, 0), (5, 0)]);
    let (out, _) = given(ReorderLimits::NONE, &[1, 3]);
    assert_eq!(out, [(1, 0), (3, 1)]);
}

#[test]
fn a_long_gap_loses_only_what_did_not_come() {
    let (out, counts) = given(ReorderLimits::UDP, &[1, 3, 1003, 1004]);
    assert_eq!(out, [(1, 0), (3, 1), (1003, 999), (1004, 0)]);
    assert_eq!((counts.received, counts.lost), (4, 1000));
}

#[test]
fn another_stream_begins_anew_and_a_single_stray_does_not() {
    let (out, counts) = given(
        ReorderLimits::UDP,
        &[1, 2, 40_000, 3, 20_000, 20_001, 20_002],
    );
    assert_eq!(numbers(&out), [1, 2, 3, 20_001, 20_002]);
    assert_eq!((counts.restarts, counts.lost), (1, 0));
    let mut reorder = Reorder::new(ReorderLimits::UDP);
    let mut restarts = Vec::new();
    for ssrc in [7, 7, 8] {
        reorder.push(&packet(restarts.len() as u16, ssrc), at_ms(0));
        restarts.push(reorder.pop(at_ms(0)).unwrap().is_restart);
    }
    assert_eq!(restarts, [false, false, true]);
}

proptest! {
    #[test]
    fn any_order_within_the_window_gives_the_same_packets(
        first: u16,
        keys in prop::collection::vec(0_usize..40, 1..300),
        repeated in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        // Each packet is late by at most 39 places, the first one by none.
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|at| at + if *at == 0 { 0 } else { keys[*at] });
        let mut sequences: Vec<u16> = order.iter().map(|at| first.wrapping_add(*at as u16)).collect();
        for index in repeated {
            let at = index.index(sequences.len());
            sequences.insert(at, sequences[at]);
        }
        let (out, counts) = given(ReorderLimits { packets: 127, time: Duration::from_secs(9) }, &sequences);
        let expected: Vec<_> = (0..keys.len()).map(|at| (first.wrapping_add(at as u16), 0)).collect();
        prop_assert_eq!(out, expected);
        prop_assert_eq!((counts.lost, counts.late), (0, 0));
    }

    #[test]
    fn whatever_comes_is_given_in_order_and_counted(
        jumps in prop::collection::vec(prop_oneof![8 => -3_i32..5, 1 => -200_i32..4000, 1 => any::<i32>()], 1..200),
    ) {
        let mut at = 0_i32;
        let sequences: Vec<u16> = jumps.iter().map(|jump| { at = at.wrapping_add(*jump); at as u16 }).collect();
        let (out, counts) = given(ReorderLimits::UDP, &sequences);
        prop_assert_eq!(counts.received, out.len() as u64);
        let lost: u64 = out.iter().map(|it| it.1).sum();
        prop_assert!(lost <= counts.lost);
        if counts.restarts == 0 {
            for pair in out.windows(2) {
                let step = u64::from(pair[1].0.wrapping_sub(pair[0].0));
                prop_assert_eq!(step, pair[1].1 % 65_536 + 1);
            }
        }
    }
}
