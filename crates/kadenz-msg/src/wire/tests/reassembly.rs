use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;
use proptest::prelude::*;

use super::super::*;
use super::datagrams;
use crate::arrival::SenderId;

const SENDER: SenderId = SenderId(1);

fn at(ms: u64) -> MonotonicTime {
    MonotonicTime::from_ns(ms * 1_000_000)
}

fn small(bytes: usize) -> Reassembly {
    Reassembly::new(ReassemblyLimits {
        bytes,
        messages: 4,
        idle: Duration::from_secs(1),
    })
}

/// Adds a datagram; returns the message, if it is complete.
fn add(
    reassembly: &mut Reassembly,
    sender: SenderId,
    datagram: &[u8],
    now: MonotonicTime,
) -> Option<Vec<u8>> {
    let Ok(Packet::Fragment(fragment)) = Packet::parse(datagram) else {
        panic!("no fragment");
    };
    match reassembly.add(sender, &fragment, now, Some(now)) {
        Added::Complete(complete) => Some(complete.payload.clone()),
        Added::Incomplete | Added::Ignored => None,
    }
}

#[test]
fn fragments_of_two_senders_and_any_order_become_their_messages() {
    let payloads: Vec<Vec<u8>> = (0..2_u8).map(|who| vec![who; 1000]).collect();
    let mut reassembly = small(10_000);
    let mut whole = Vec::new();
    let sent = payloads
        .iter()
        .map(|payload| datagrams(5, "A", payload, 100));
    let sent: Vec<_> = sent.collect();
    for number in (0..sent[0].len()).rev() {
        for (who, sent) in sent.iter().enumerate() {
            whole.extend(add(
                &mut reassembly,
                SenderId(who as u128),
                &sent[number],
                at(0),
            ));
        }
    }
    assert_eq!(whole, payloads);
    assert_eq!(reassembly.counters().complete, 2);
}

/// In LCM's C the duplicate counts as the missing one, and a message with a hole is delivered.
#[test]
fn a_duplicate_fragment_is_never_counted_as_the_missing_one() {
    let payload: Vec<u8> = (0..255).collect();
    let sent = datagrams(5, "A", &payload, 100);
    let mut reassembly = small(10_000);
    for at_once in [0, 1, 1, 1, 0] {
        assert_eq!(add(&mut reassembly, SENDER, &sent[at_once], at(0)), None);
    }
    assert_eq!(reassembly.counters().duplicates, 3);
    assert_eq!(add(&mut reassembly, SENDER, &sent[2], at(0)), Some(payload));
    // Late fragments begin no second message, which would be counted as incomplete.
    assert_eq!(add(&mut reassembly, SENDER, &sent[1], at(1)), None);
    reassembly.expire(at(10_000));
    assert_eq!(reassembly.counters().incomplete, 0);
}

#[test]
fn fragments_that_contradict_their_message_are_refused_and_counted() {
    let mut reassembly = small(10_000);
    let first = datagrams(5, "A", &[1; 300], 100);
    let other_size = datagrams(5, "A", &[2; 299], 100);
    let other_count = datagrams(5, "A", &[2; 300], 70);
    assert!(first.len() == other_size.len() && first.len() < other_count.len());
    add(&mut reassembly, SENDER, &first[0], at(0));
    add(&mut reassembly, SENDER, &other_size[1], at(0));
    add(&mut reassembly, SENDER, &other_count[1], at(0));
    assert_eq!(reassembly.counters().inconsistent, 2);
    let rest: Vec<_> = first[1..]
        .iter()
        .filter_map(|it| add(&mut reassembly, SENDER, it, at(0)))
        .collect();
    assert_eq!(rest, [vec![1; 300]]);
}

#[test]
fn a_message_whose_fragments_leave_a_hole_is_never_delivered() {
    let mut sent = datagrams(5, "A", &[1; 250], 100);
    // The last one claims the place of the second.
    let (second, last) = sent.split_at_mut(2);
    last[0][12..16].copy_from_slice(&second[1][12..16]);
    let mut reassembly = small(10_000);
    for datagram in &sent {
        assert_eq!(add(&mut reassembly, SENDER, datagram, at(0)), None);
    }
    let counters = reassembly.counters();
    assert_eq!(
        (
            counters.inconsistent,
            counters.incomplete,
            counters.complete
        ),
        (1, 1, 0)
    );
}

#[test]
fn a_header_that_promises_much_takes_little() {
    let mut reassembly = Reassembly::new(ReassemblyLimits {
        bytes: MAX_MESSAGE + 1_000_000,
        ..ReassemblyLimits::default()
    });
    let payload = vec![0; MAX_MESSAGE];
    let fragments = Fragments::new(0, &"A".parse().unwrap(), &payload, FRAGMENT_BYTES).unwrap();
    for (sequence, (header, part)) in (0..500_u32).zip(fragments.cycle()) {
        let mut datagram = [header.bytes(), part].concat();
        datagram.truncate(2000);
        datagram[4..8].copy_from_slice(&sequence.to_be_bytes());
        datagram[12..16].copy_from_slice(&0_u32.to_be_bytes());
        add(&mut reassembly, SENDER, &datagram, at(0));
    }
    let held = reassembly.held();
    assert!(
        held < 500 * 40_000,
        "{held} bytes for 500 fragments of 2 kB"
    );
}

#[test]
fn a_fragment_far_behind_all_that_came_takes_nothing_and_the_message_is_incomplete() {
    let mut reassembly = Reassembly::new(ReassemblyLimits::default());
    let sent = datagrams(5, "A", &vec![1; 10_000_000], FRAGMENT_BYTES);
    let (last, before) = sent.split_last().unwrap();
    add(&mut reassembly, SENDER, &before[0], at(0));
    let held = reassembly.held();
    add(&mut reassembly, SENDER, last, at(1));
    assert_eq!(reassembly.held(), held);
    // Some fragments that changed places are taken.
    for swapped in before[1..].chunks(8) {
        for datagram in swapped.iter().rev() {
            assert_eq!(add(&mut reassembly, SENDER, datagram, at(2)), None);
        }
    }
    reassembly.expire(at(9000));
    let counters = reassembly.counters();
    assert_eq!((counters.incomplete, counters.inconsistent), (1, 0));
}

#[test]
fn what_waits_longest_is_given_up_for_want_of_room_and_counted() {
    let mut reassembly = small(2500);
    let sent: Vec<_> = (0..3)
        .map(|it| datagrams(it, "A", &[it as u8; 1000], 500))
        .collect();
    for (ms, datagrams) in sent.iter().enumerate() {
        add(&mut reassembly, SENDER, &datagrams[0], at(ms as u64));
    }
    add(&mut reassembly, SENDER, &sent[0][1], at(5));
    assert_eq!(reassembly.counters().incomplete, 0);
    // 0, 1 and 2 hold 1498 together with their growth; the rest of 0 and 2 does not fit beside 1.
    let zero = add(&mut reassembly, SENDER, &sent[0][2], at(6));
    assert_eq!(zero, Some(vec![0; 1000]));
    let two: Vec<_> = sent[2][1..]
        .iter()
        .filter_map(|it| add(&mut reassembly, SENDER, it, at(7)))
        .collect();
    assert_eq!(two, [vec![2; 1000]]);
    assert!(reassembly.held() <= 2500);
    // A message longer than all the room is not begun.
    let huge = datagrams(9, "A", &[0; 3000], 500);
    add(&mut reassembly, SENDER, &huge[0], at(8));
    assert_eq!(reassembly.counters().too_long, 1);
}

#[test]
fn more_messages_than_the_limit_push_the_oldest_out() {
    let mut reassembly = small(100_000);
    let sent: Vec<_> = (0..5)
        .map(|it| datagrams(it, "A", &[it as u8; 150], 100))
        .collect();
    for (ms, datagrams) in sent.iter().enumerate() {
        add(&mut reassembly, SENDER, &datagrams[0], at(ms as u64));
    }
    assert_eq!(reassembly.counters().incomplete, 1);
    assert_eq!(
        add(&mut reassembly, SENDER, &sent[0][1], at(9)),
        None,
        "it was given up"
    );
    assert!(add(&mut reassembly, SENDER, &sent[1][1], at(9)).is_some());
}

#[test]
fn a_message_that_waits_too_long_is_given_up_and_counted_once() {
    let mut reassembly = small(10_000);
    let sent = datagrams(5, "A", &[1; 250], 100);
    add(&mut reassembly, SENDER, &sent[0], at(0));
    reassembly.expire(at(1000));
    assert_eq!(reassembly.counters().incomplete, 0);
    reassembly.expire(at(1001));
    assert_eq!(reassembly.counters().incomplete, 1);
    // A late rest of the message is not a new message.
    add(&mut reassembly, SENDER, &sent[1], at(1100));
    reassembly.expire(at(9000));
    assert_eq!(reassembly.counters().incomplete, 1);
}

#[test]
fn a_vector_longer_than_all_that_may_be_held_costs_no_message() {
    let mut reassembly = small(1000);
    for sequence in 0..5 {
        for datagram in datagrams(sequence, "A", &[7; 300], 100) {
            let Ok(Packet::Fragment(fragment)) = Packet::parse(&datagram) else {
                panic!("no fragment");
            };
            if let Added::Complete(it) = reassembly.add(SENDER, &fragment, at(0), None) {
                // As a queue that was made with room for larger messages.
                *it.payload = Vec::with_capacity(2000);
            }
        }
    }
    let counters = reassembly.counters();
    assert_eq!((counters.complete, counters.too_long), (5, 0));
}

#[test]
fn a_steady_stream_of_messages_of_1_mb_allocates_nothing_after_the_first() {
    let payload = vec![7; 1_000_000];
    let sent: Vec<_> = (0..20)
        .map(|it| datagrams(it, "CAMERA", &payload, FRAGMENT_BYTES))
        .collect();
    let mut reassembly = Reassembly::new(ReassemblyLimits::default());
    let mut mine = Vec::with_capacity(1_000_000);
    let mut feed = |sent: &[Vec<u8>]| {
        for datagram in sent {
            let Ok(Packet::Fragment(fragment)) = Packet::parse(datagram) else {
                panic!()
            };
            if let Added::Complete(complete) = reassembly.add(SENDER, &fragment, at(0), None) {
                // As a subscription that takes large messages by a swap.
                std::mem::swap(complete.payload, &mut mine);
            }
        }
        assert_eq!(mine.len(), 1_000_000);
    };
    feed(&sent[0]);
    let after = allocation_counter::measure(|| sent[1..].iter().for_each(|sent| feed(sent)));
    assert_eq!(after.count_total, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_comes_memory_stays_bounded_and_messages_are_never_mixed(
        events in proptest::collection::vec((0_u32..6, 0_usize..40, 0_u64..500, any::<u8>()), 0..300),
    ) {
        let sent: Vec<_> = (0..6_u32).map(|it| datagrams(it, "A", &vec![it as u8; 200 + 300 * it as usize], 70)).collect();
        let mut reassembly = small(3000);
        let mut now = 0;
        for (message, number, pause, damage) in events {
            now += pause;
            let mut datagram = sent[message as usize][number % sent[message as usize].len()].clone();
            if damage < 40 {
                // Any field of the header may be wrong.
                datagram[8 + usize::from(damage) % 12] ^= 1 << (damage % 8);
            }
            let Ok(Packet::Fragment(fragment)) = Packet::parse(&datagram) else { continue };
            if let Added::Complete(complete) = reassembly.add(SENDER, &fragment, at(now), None) {
                prop_assert_eq!(complete.payload.iter().position(|byte| u32::from(*byte) != message), None);
            }
            prop_assert!(reassembly.held() <= 3000);
        }
    }
}
