//! The trackers against oracles that keep every number and search through all of them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use kadenz_udp::controller::{Arrival, Counts, Order, OutOfSequence, Timing, TrackWord, Tracker};
use kadenz_udp::record::{Batch, BatchTracker, Batcher, Position};
use kadenz_udp::wire::{Packet, RunId, Sequence, Stamp};
use proptest::prelude::*;

const TIMEOUT_NS: u64 = 1000;

/// Remembers every number in the order of sending, and every first answer in the order of arrival.
struct Oracle {
    window: u64,
    sent: Vec<u64>,
    answered: Vec<u64>,
    in_time: Vec<u64>,
    counts: Counts,
}

impl Oracle {
    fn arrival(&mut self, number: u64, round_trip_ns: u64) -> Arrival {
        let arrival = self.judge(number, round_trip_ns);
        match arrival {
            Arrival::First { order, timing } => {
                self.answered.push(number);
                if timing == Timing::InTime {
                    self.in_time.push(number);
                }
                self.counts.reordered += u64::from(order == Order::Reordered);
                self.counts.late += u64::from(timing == Timing::Late);
                self.counts.in_time += u64::from(timing == Timing::InTime);
            }
            Arrival::Duplicate => self.counts.duplicates += 1,
            Arrival::TooOld => self.counts.too_old += 1,
            Arrival::NotOurs => self.counts.not_ours += 1,
        }
        arrival
    }

    fn judge(&self, number: u64, round_trip_ns: u64) -> Arrival {
        let (Some(first), Some(last)) = (self.sent.first(), self.sent.last()) else {
            return Arrival::NotOurs;
        };
        if number < *first || number > *last {
            return Arrival::NotOurs;
        }
        if number + self.window <= *last {
            return Arrival::TooOld;
        }
        if !self.sent.contains(&number) {
            return Arrival::NotOurs;
        }
        if self.answered.contains(&number) {
            return Arrival::Duplicate;
        }
        let overtaken = self.answered.iter().any(|other| *other > number);
        Arrival::First {
            order: if overtaken {
                Order::Reordered
            } else {
                Order::InOrder
            },
            timing: if round_trip_ns > TIMEOUT_NS {
                Timing::Late
            } else {
                Timing::InTime
            },
        }
    }

    /// The counts if no more answers come to the numbers up to `through`.
    fn counts_through(&self, through: u64) -> Counts {
        let last = self.sent.last().copied().unwrap_or_default();
        let over = |number: u64| number <= through || number + self.window <= last;
        let (mut lost, mut longest, mut run) = (0, 0, 0);
        for number in self.sent.iter().filter(|it| over(**it)) {
            run = if self.in_time.contains(number) {
                0
            } else {
                run + 1
            };
            lost += u64::from(!self.answered.contains(number));
            longest = longest.max(run);
        }
        Counts {
            sent: self.sent.len() as u64,
            lost,
            longest_loss: longest,
            ..self.counts
        }
    }
}

#[derive(Clone, Debug)]
enum Event {
    Send { steps: u32 },
    Answer { back: i64, round_trip_ns: u64 },
    Look { back: i64 },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let steps = prop_oneof![20 => Just(1_u32), 3 => 2..5_u32, 1 => 5..400_u32];
    let back = || prop_oneof![10 => 0..6_i64, 4 => -2..80_i64, 2 => 0..400_i64];
    prop::collection::vec(
        prop_oneof![
            5 => steps.prop_map(|steps| Event::Send { steps }),
            5 => (back(), 0..2 * TIMEOUT_NS).prop_map(|(back, round_trip_ns)| Event::Answer { back, round_trip_ns }),
            1 => back().prop_map(|back| Event::Look { back }),
        ],
        0..400,
    )
}

fn sequence(number: u64) -> Sequence {
    Sequence((number % (1 << 32)) as u32)
}

proptest! {
    #[test]
    fn every_count_is_what_a_naive_one_is(
        start in prop_oneof![any::<u32>(), u32::MAX - 300..=u32::MAX, 0..3_u32],
        words in 1_usize..4,
        events in events(),
    ) {
        let mut tracker = Tracker::over(vec![TrackWord::default(); words], TIMEOUT_NS);
        let mut oracle = Oracle {
            window: tracker.window(),
            sent: Vec::new(),
            answered: Vec::new(),
            in_time: Vec::new(),
            counts: Counts::default(),
        };
        // Far enough from 0 that going back stays above it.
        let mut last = (1_u64 << 40) + u64::from(start);
        for event in events {
            match event {
                Event::Send { steps } => {
                    last += if oracle.sent.is_empty() { 0 } else { u64::from(steps) };
                    oracle.sent.push(last);
                    prop_assert_eq!(tracker.expect(sequence(last)), Ok(()));
                }
                Event::Answer { back, round_trip_ns } => {
                    let number = last.checked_add_signed(-back).unwrap();
                    let expected = oracle.arrival(number, round_trip_ns);
                    prop_assert_eq!(tracker.received(sequence(number), round_trip_ns), expected);
                }
                Event::Look { back } => {
                    let through = last.checked_add_signed(-back).unwrap();
                    let expected = oracle.counts_through(through);
                    prop_assert_eq!(tracker.counts_through(sequence(through)), expected);
                }
            }
            let counts = tracker.counts();
            prop_assert_eq!(counts.sent, counts.answered() + counts.lost + counts.waiting());
        }
        let counts = tracker.finish();
        prop_assert_eq!(counts, oracle.counts_through(u64::MAX));
        prop_assert_eq!(counts.waiting(), 0);
    }

    /// A logger's counts equal the sender's once it knows where the run ends.
    #[test]
    fn a_batch_tracker_counts_lost_batches_once_the_end_is_known(
        fates in prop::collection::vec((0_usize..3, 0_usize..90), 1..200),
    ) {
        let datagrams = batches(fates.len());
        // Each batch arrives so many times, after so many others.
        let mut arrivals = Vec::new();
        for (at, (copies, delay)) in fates.iter().enumerate() {
            let copies = if at + 1 == fates.len() { 1 } else { *copies };
            arrivals.extend((0..copies).map(|copy| (at + copy * delay, at)));
        }
        arrivals.sort_unstable();
        let mut tracker = BatchTracker::over([TrackWord::default(); 8], RunId(7));
        let mut seen = vec![false; fates.len()];
        for (_, at) in arrivals {
            let packet = Packet::parse(&datagrams[at]).unwrap();
            let arrival = tracker.arrived(&Batch::read(&packet).unwrap(), u64::MAX);
            let new = matches!(arrival, Arrival::First { .. });
            prop_assert_eq!(new, !seen[at]);
            seen[at] = true;
        }
        prop_assert!(tracker.knows_end());
        let counts = tracker.finish();
        prop_assert_eq!(counts.sent, fates.len() as u64);
        prop_assert_eq!(counts.lost, seen.iter().filter(|it| !**it).count() as u64);
    }
}

fn batches(count: usize) -> Vec<Vec<u8>> {
    let mut batcher = Batcher::over([0; 200], RunId(7), None).unwrap();
    let position = |at| {
        if at + 1 == count {
            Position::Last
        } else {
            Position::Within
        }
    };
    let finish = |at| batcher.finish(Stamp(0), position(at)).to_vec();
    (0..count).map(finish).collect()
}

#[test]
fn a_number_that_does_not_grow_is_refused_and_changes_nothing() {
    let mut tracker = Tracker::over([TrackWord::default(); 1], TIMEOUT_NS);
    tracker.expect(Sequence(5)).unwrap();
    for given in [5, 4, 5 + (1 << 31)].map(Sequence) {
        let last = Sequence(5);
        assert_eq!(tracker.expect(given), Err(OutOfSequence { last, given }));
    }
    assert_eq!(tracker.counts().sent, 1);
}

#[test]
fn an_answer_before_any_question_is_not_ours() {
    let mut tracker = Tracker::over([TrackWord::default(); 1], TIMEOUT_NS);
    assert_eq!(tracker.received(Sequence(0), 0), Arrival::NotOurs);
}

#[test]
fn the_timeout_itself_is_in_time() {
    let mut tracker = Tracker::over([TrackWord::default(); 1], TIMEOUT_NS);
    let first = |timing| Arrival::First {
        order: Order::InOrder,
        timing,
    };
    for (number, round_trip, timing) in [
        (0, TIMEOUT_NS, Timing::InTime),
        (1, TIMEOUT_NS + 1, Timing::Late),
    ] {
        tracker.expect(Sequence(number)).unwrap();
        assert_eq!(
            tracker.received(Sequence(number), round_trip),
            first(timing)
        );
    }
}

#[test]
fn memory_is_cleared_before_it_is_used() {
    let mut words = [TrackWord::default(); 2];
    let mut first = Tracker::over(&mut words[..], TIMEOUT_NS);
    first.expect(Sequence(0)).unwrap();
    first.received(Sequence(0), 0);
    let mut second = Tracker::over(&mut words[..], TIMEOUT_NS);
    second.expect(Sequence(1)).unwrap();
    assert_eq!(second.received(Sequence(0), 0), Arrival::NotOurs);
}

#[test]
fn a_forged_batch_from_far_ahead_ends_at_once_and_is_counted() {
    let mut tracker = BatchTracker::over([TrackWord::default(); 2], RunId(7));
    for (number, expected) in [
        (3, true),
        (0x7FFF_FFFF, true),
        (0xFFFF_FFFE, true),
        (0xFFFF_FF00, false),
    ] {
        let mut bytes = batches(2).swap_remove(0);
        kadenz_udp::wire::patch(&mut bytes, Sequence(number), Stamp(0), None).unwrap();
        let packet = Packet::parse(&bytes).unwrap();
        let arrival = tracker.arrived(&Batch::read(&packet).unwrap(), u64::MAX);
        assert_eq!(
            matches!(arrival, Arrival::First { .. }),
            expected,
            "{number}: {arrival:?}"
        );
    }
    let counts = tracker.finish();
    assert_eq!((counts.sent, counts.lost), (0xFFFF_FFFF, 0xFFFF_FFFF - 3));
    assert_eq!(counts.longest_loss, 0xFFFF_FFFE - 0x7FFF_FFFF - 1);
}

#[test]
fn batches_of_another_run_and_behind_the_end_are_not_ours() {
    let datagrams = batches(3);
    let read = |bytes: &[u8], tracker: &mut BatchTracker<_>| {
        let packet = Packet::parse(bytes).unwrap();
        tracker.arrived(&Batch::read(&packet).unwrap(), u64::MAX)
    };
    let mut other = BatchTracker::over([TrackWord::default(); 2], RunId(8));
    assert_eq!(read(&datagrams[0], &mut other), Arrival::NotOurs);
    let mut tracker = BatchTracker::over([TrackWord::default(); 2], RunId(7));
    read(&datagrams[2], &mut tracker);
    let mut behind = datagrams[0].clone();
    kadenz_udp::wire::patch(&mut behind, Sequence(3), Stamp(0), None).unwrap();
    assert_eq!(read(&behind, &mut tracker), Arrival::NotOurs);
    assert_eq!(tracker.finish().sent, 3);
}

#[test]
fn a_gap_claims_no_more_than_its_bound() {
    let mut tracker = Tracker::over([TrackWord::default(); 64], TIMEOUT_NS);
    tracker.expect(Sequence(0)).unwrap();
    tracker.expect_through(Sequence(101), 100);
    assert_eq!(tracker.counts().sent, 102);
    for far in 1..200 {
        tracker.expect_through(Sequence(101 + (far << 20)), 100);
    }
    // These numbers were recorded one by one; the numbers between them are unknown.
    assert_eq!(tracker.counts().sent, 102 + 199);
    let last = Sequence(101 + (199 << 20));
    assert_eq!(tracker.last_sent(), Some(last));
    assert!(matches!(tracker.received(last, 0), Arrival::First { .. }));
    assert_eq!(tracker.finish().lost, 102 + 198);
}

#[test]
fn a_first_number_from_far_ahead_claims_nothing() {
    for first in [101, u32::MAX] {
        let mut tracker = Tracker::over([TrackWord::default(); 2], TIMEOUT_NS);
        tracker.expect_through(Sequence(first), 100);
        assert_eq!(tracker.finish().sent, 1);
    }
}

#[test]
fn a_last_batch_behind_another_does_not_end_the_run() {
    let read = |bytes: &[u8], tracker: &mut BatchTracker<_>| {
        let packet = Packet::parse(bytes).unwrap();
        tracker.arrived(&Batch::read(&packet).unwrap(), u64::MAX)
    };
    let mut tracker = BatchTracker::over([TrackWord::default(); 2], RunId(7));
    read(&batches(4)[2], &mut tracker);
    assert_eq!(read(&batches(2)[1], &mut tracker), Arrival::NotOurs);
    assert!(!tracker.knows_end());
    read(&batches(4)[3], &mut tracker);
    assert!(tracker.knows_end());
}

proptest! {
    /// Recorded up to a number or one by one, the counts are the same.
    #[test]
    fn expectations_at_once_count_as_one_by_one(
        steps in prop::collection::vec((1_u32..300, any::<bool>()), 1..60),
    ) {
        let mut at_once = Tracker::over([TrackWord::default(); 3], TIMEOUT_NS);
        let mut each = Tracker::over([TrackWord::default(); 3], TIMEOUT_NS);
        let mut last = 0;
        at_once.expect(Sequence(0)).unwrap();
        each.expect(Sequence(0)).unwrap();
        for (step, answered) in steps {
            for number in last + 1..=last + step {
                each.expect(Sequence(number)).unwrap();
            }
            last += step;
            at_once.expect_through(Sequence(last), u64::MAX);
            if answered {
                prop_assert_eq!(at_once.received(Sequence(last), 1), each.received(Sequence(last), 1));
            }
            prop_assert_eq!(at_once.counts(), each.counts());
        }
        prop_assert_eq!(at_once.finish(), each.finish());
    }
}
