use std::time::Duration;

use super::*;

#[test]
fn since_is_signed_and_saturates() {
    let early = MonotonicTime::from_ns(100);
    let late = MonotonicTime::from_ns(350);
    assert_eq!(late.since(early), 250);
    assert_eq!(early.since(late), -250);
    assert_eq!(
        MonotonicTime::from_ns(u64::MAX).since(MonotonicTime::default()),
        i64::MAX
    );
    assert_eq!(
        MonotonicTime::default().since(MonotonicTime::from_ns(u64::MAX)),
        -i64::MAX
    );
}

#[test]
fn spans_saturate_at_both_ends() {
    let end = MonotonicTime::from_ns(u64::MAX);
    assert_eq!(end + Duration::from_secs(1), end);
    assert_eq!(end + Duration::MAX, end);
    let start = MonotonicTime::default();
    assert_eq!(start - Duration::from_secs(1), start);
    assert_eq!(start.offset_by_ns(-1), start);
    assert_eq!(start.remaining(end), Duration::ZERO);
}

#[test]
fn every_kind_is_read_back_from_its_word() {
    for kind in ClockKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    assert!("wall".parse::<ClockKind>().is_err());
}

#[test]
fn every_clock_that_opens_never_steps_back_and_moves() {
    for kind in ClockKind::ALL {
        let clock = match open(kind) {
            Ok(clock) => clock,
            Err(error) => {
                crate::testing::skip(
                    "every_clock_that_opens_never_steps_back_and_moves",
                    &error.to_string(),
                );
                continue;
            }
        };
        let start = clock.now();
        let mut previous = start;
        while previous.since(start) < 2_000_000 {
            let now = clock.now();
            assert!(now >= previous, "{kind} stepped back");
            previous = now;
        }
    }
}

#[test]
fn measured_facts_are_positive() {
    let clock = open(ClockKind::Monotonic).unwrap();
    let facts = measure(clock.as_ref());
    assert!(facts.resolution_ns >= 1.0);
    assert!(facts.read_cost_ns > 0.0);
}

#[test]
fn a_deadline_translated_to_the_sleep_clock_is_as_far_ahead() {
    for kind in ClockKind::ALL {
        let Ok(clock) = open(kind) else { continue };
        let before = now();
        let deadline = clock.now() + Duration::from_secs(10);
        let translated = clock.to_sleep_clock(deadline);
        let after = now();
        // Whatever time the readings took lies between `before` and `after`.
        let slack_ns = after.since(before) + 1_000;
        let error_ns = translated.since(before + Duration::from_secs(10));
        assert!(
            error_ns.abs() <= slack_ns,
            "{kind}: {error_ns} ns off, {slack_ns} ns allowed"
        );
    }
}

#[test]
fn wall_time_is_after_2020() {
    assert!(WallTime::now().as_unix_ns() > 1_577_836_800_000_000_000);
}
