use proptest::prelude::*;

use super::*;

fn rate(word: &str) -> Rate {
    word.parse().unwrap()
}

#[test]
fn the_first_beat_is_one_interval_after_the_start() {
    let start = MonotonicTime::from_ns(500);
    let mut beat = Beat::new(start, Duration::from_millis(1));
    assert_eq!((beat.index(), beat.current()), (0, start));
    assert_eq!(beat.next().as_ns(), 1_000_500);
    assert_eq!(beat.index(), 1);
}

#[test]
fn rates_are_read_exactly() {
    let cases = [
        ("1kHz", (1_000_000, 1)),
        ("1 kHz", (1_000_000, 1)),
        ("30Hz", (100_000_000, 3)),
        ("29.97Hz", (100_000_000_000, 2997)),
        ("30000/1001Hz", (100_100_000, 3)),
        ("0.5Hz", (2_000_000_000, 1)),
        ("44.1kHz", (10_000_000, 441)),
        ("1MHz", (1_000, 1)),
    ];
    for (word, fraction) in cases {
        assert_eq!(rate(word).interval().as_fraction(), fraction, "{word}");
    }
}

#[test]
fn words_that_are_not_rates_are_refused() {
    for word in [
        "",
        "1",
        "kHz",
        "-1Hz",
        "1e3Hz",
        "0Hz",
        "1/0Hz",
        "2000MHz",
        "0.000000001Hz",
        "1.2.3Hz",
        "+1Hz",
        "99999999999999999999Hz",
    ] {
        assert!(word.parse::<Rate>().is_err(), "{word}");
    }
}

#[test]
fn rates_are_shown_as_users_write_them() {
    let cases = [
        ("1kHz", "1 kHz"),
        ("250Hz", "250 Hz"),
        ("29.97Hz", "29.97 Hz"),
        ("1.5kHz", "1.5 kHz"),
        ("0.5Hz", "0.5 Hz"),
    ];
    for (word, shown) in cases {
        assert_eq!(rate(word).to_string(), shown);
    }
}

#[test]
fn a_day_of_30_hz_ends_on_the_nanosecond() {
    let mut beat = Beat::at(MonotonicTime::default(), rate("30Hz").interval());
    let mut last = beat.current();
    for _ in 0..30 * 60 * 60 {
        last = beat.next();
    }
    assert_eq!(last.as_ns(), 3_600_000_000_000);
}

#[test]
fn skipping_stops_before_the_next_beat_ahead() {
    let mut beat = Beat::new(MonotonicTime::default(), Duration::from_nanos(10));
    assert_eq!(beat.skip_to(MonotonicTime::from_ns(35)), 3);
    assert_eq!(beat.next().as_ns(), 40);
    assert_eq!(beat.skip_to(MonotonicTime::from_ns(40)), 0);
    assert_eq!(beat.skip_to(MonotonicTime::from_ns(5)), 0);
}

#[test]
#[should_panic(expected = "above zero")]
fn an_interval_of_zero_panics() {
    let _ = Beat::new(MonotonicTime::default(), Duration::ZERO);
}

fn any_interval() -> impl Strategy<Value = Interval> {
    (1_u64..1_000_000_000_000, 1_u64..1_000_000_000)
        .prop_filter_map("below a nanosecond or above a year", |(n, d)| {
            Interval::from_fraction(n, d).ok()
        })
}

proptest! {
    #[test]
    fn stepping_and_computing_agree(interval in any_interval(), start in 0_u64..1 << 60, steps in 1_usize..2_000) {
        let mut beat = Beat::at(MonotonicTime::from_ns(start), interval);
        for n in 1..=steps as u64 {
            let stepped = beat.next();
            prop_assert_eq!(stepped, beat.intended(n));
            prop_assert_eq!(beat.index(), n);
        }
    }

    #[test]
    fn intended_times_never_drift(interval in any_interval(), n in 0_u64..1 << 40) {
        let beat = Beat::at(MonotonicTime::default(), interval);
        let (numerator, denominator) = interval.as_fraction();
        let exact = u128::from(numerator) * u128::from(n);
        let intended = beat.intended(n).as_ns();
        // Within one nanosecond below the exact time, whatever n is.
        if intended < u64::MAX {
            let scaled = u128::from(intended) * u128::from(denominator);
            prop_assert!(scaled <= exact && exact < scaled + u128::from(denominator));
        }
    }

    #[test]
    fn skipping_equals_stepping(interval in any_interval(), now in 0_u64..100_000_000_000_000) {
        let mut skipped = Beat::at(MonotonicTime::default(), interval);
        skipped.skip_to(MonotonicTime::from_ns(now));
        prop_assert!(skipped.current().as_ns() <= now);
        prop_assert_eq!(skipped.current(), skipped.intended(skipped.index()));
        let next = skipped.next();
        prop_assert!(next.as_ns() > now);
        prop_assert_eq!(next, skipped.intended(skipped.index()));
    }

    #[test]
    fn any_word_is_read_or_refused_without_panic(word in ".{0,24}") {
        let _ = word.parse::<Rate>();
    }
}
