use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const SENDER: SenderId = SenderId(1);

fn of_sender(number: u32) -> Sequence {
    let scope = Scope::Sender;
    Sequence { number, scope }
}

fn see(meter: &mut LossMeter, number: u32) -> SequenceStatus {
    meter.note(SENDER, of_sender(number), "ARM")
}

#[test]
fn a_late_message_that_fills_a_gap_is_reordered_and_not_lost() {
    let mut meter = LossMeter::new(1);
    let seen: Vec<SequenceStatus> = [5, 6, 9, 8, 8, 10]
        .map(|number| see(&mut meter, number))
        .into();
    let expected = [
        SequenceStatus::First,
        SequenceStatus::Next,
        SequenceStatus::Gap { lost: 2 },
        SequenceStatus::Late,
        SequenceStatus::Duplicate,
        SequenceStatus::Next,
    ];
    assert_eq!(seen, expected);
    let expected = Tally {
        received: 5,
        lost: 1,
        duplicated: 1,
        reordered: 1,
        restarted: 0,
    };
    assert_eq!(meter.total(), expected);
    assert!((expected.lost_part() - 1.0 / 6.0).abs() < 1e-12);
}

#[test]
fn the_first_that_is_heard_need_not_be_the_first_that_was_sent() {
    let mut meter = LossMeter::new(1);
    // 5 overtook 3 and 4; 2 is missing only once 1 has arrived.
    for (number, lost) in [(5, 0), (4, 0), (3, 0), (1, 1), (2, 0)] {
        see(&mut meter, number);
        assert_eq!(meter.total().lost, lost, "after {number}");
    }
    assert_eq!(meter.total().reordered, 4);
}

#[test]
fn the_counter_wraps_without_loss() {
    let mut meter = LossMeter::new(1);
    for step in 0..10 {
        see(&mut meter, (u32::MAX - 4).wrapping_add(step));
    }
    assert_eq!(meter.total().lost + meter.total().restarted, 0);
    assert_eq!(see(&mut meter, 3), SequenceStatus::Duplicate);
}

#[test]
fn a_sender_that_begins_anew_has_lost_nothing() {
    for before in [100_000_u32, 3_000_000_000, 500] {
        let mut meter = LossMeter::new(1);
        for number in 0..before % 1000 + 200 {
            see(
                &mut meter,
                before
                    .wrapping_sub(200 + before % 1000)
                    .wrapping_add(number),
            );
        }
        let old = meter.total();
        assert_eq!(old.lost + old.duplicated, 0);
        for number in 0..200 {
            see(&mut meter, number);
        }
        let new = meter.total();
        assert_eq!(
            (new.restarted, new.lost, new.duplicated),
            (1, 0, 0),
            "after {before}"
        );
        assert_eq!(new.received, old.received + 200);
    }
}

#[test]
fn every_message_doubled_by_two_ways_is_not_a_new_start() {
    let mut meter = LossMeter::new(1);
    for number in 0..1000_u32 {
        see(&mut meter, number);
        if let Some(late) = number.checked_sub(30) {
            see(&mut meter, late);
        }
    }
    for number in 970..1000 {
        assert_eq!(see(&mut meter, number), SequenceStatus::Duplicate);
    }
    let expected = Tally {
        received: 1000,
        duplicated: 1000,
        ..Tally::default()
    };
    assert_eq!(meter.total(), expected);
}

#[test]
fn loss_is_of_a_channel_where_the_sender_has_used_but_one() {
    let mut meter = LossMeter::new(8);
    see(&mut meter, 0);
    see(&mut meter, 2);
    let channel = |meter: &LossMeter| meter.counters().next().unwrap().channel;
    assert_eq!(channel(&meter), Some("ARM".parse().unwrap()));
    meter.note(SENDER, of_sender(3), "LEG");
    assert_eq!(channel(&meter), None);
    // With one counter for each channel, one sender has several counters.
    for name in ["A", "B"] {
        let scope = Scope::Channel;
        meter.note(SENDER, Sequence { number: 0, scope }, name);
        meter.note(SENDER, Sequence { number: 2, scope }, name);
    }
    let lost: Vec<u64> = meter.counters().map(|it| it.tally.lost).collect();
    assert_eq!(lost, [1, 1, 1]);
}

#[test]
fn the_sender_not_heard_of_longest_is_given_up_and_what_it_lost_is_kept() {
    let mut meter = LossMeter::new(2);
    for (sender, number) in [(1, 0), (1, 5), (2, 0), (3, 0), (2, 1), (4, 0)] {
        meter.note(SenderId(sender), of_sender(number), "ARM");
    }
    let known: Vec<u128> = meter.counters().map(|it| it.sender.0).collect();
    assert_eq!((known, meter.forgotten()), (vec![2, 4], 2));
    assert_eq!((meter.total().lost, meter.total().received), (4, 6));
}

#[test]
fn noting_allocates_nothing() {
    let mut meter = LossMeter::new(3);
    let after = allocation_counter::measure(|| {
        for step in 0..1000 {
            meter.note(SenderId(step % 5), of_sender(step as u32), "ARM");
        }
    });
    assert_eq!(after.count_total, 0);
}

/// The arrival times of many messages, as (number, time): some never arrive, some twice, some late.
fn arrivals() -> impl Strategy<Value = Vec<(u32, usize)>> {
    let message = (0_u8..100, 0_usize..40, 0_usize..40);
    proptest::collection::vec(message, 1..2000).prop_map(|messages| {
        let mut arrivals = Vec::new();
        for (at, (dice, delay, second)) in messages.into_iter().enumerate() {
            let delay = if dice % 4 == 0 { delay } else { 0 };
            if dice >= 10 {
                arrivals.push((at as u32, at + delay));
            }
            if dice >= 90 {
                arrivals.push((at as u32, at + delay + second));
            }
        }
        arrivals.sort_by_key(|(_, when)| *when);
        arrivals
    })
}

proptest! {
    #[test]
    fn with_loss_duplicates_and_reordering_the_meter_counts_what_a_model_counts(
        arrivals in arrivals(),
        base: u32,
    ) {
        let mut meter = LossMeter::new(1);
        let (mut come, mut model) = (BTreeSet::new(), Tally::default());
        for (number, _) in arrivals {
            let late = come.last().is_some_and(|newest| number < *newest);
            if come.insert(number) {
                model.received += 1;
                model.reordered += u64::from(late);
            } else {
                model.duplicated += 1;
            }
            see(&mut meter, base.wrapping_add(number));
            let span = come.last().unwrap() - come.first().unwrap() + 1;
            model.lost = u64::from(span) - come.len() as u64;
            prop_assert_eq!(meter.total(), model);
        }
    }
}
