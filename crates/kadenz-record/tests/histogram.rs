//! Our histograms beside those of the crate `hdrhistogram`: every result is the same.

use hdrhistogram::Histogram as Reference;
use kadenz_record::histogram::{Histogram, Layout, NewLayoutError, SignedHistogram};
use proptest::prelude::*;

const QUANTILES: [f64; 16] = [
    0.0, 1e-9, 0.01, 0.07, 0.1, 0.25, 0.5, 0.55, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999,
    0.9999999, 1.0,
];

/// Values over the whole range, small ones as likely as large ones.
fn value(highest: u64) -> impl Strategy<Value = u64> {
    (0..64_u32, any::<u64>()).prop_map(move |(bits, value)| (value >> bits).min(highest))
}

fn layout() -> impl Strategy<Value = Layout> {
    (1..100_000_u64, 2..10_000_000_u64, 0..=5_u8).prop_map(|(lowest, factor, digits)| {
        Layout::new(lowest, lowest * factor, digits).expect("within 63 bits")
    })
}

fn reference_of(layout: &Layout) -> Reference<u64> {
    Reference::new_with_bounds(layout.lowest(), layout.highest(), layout.digits())
        .expect("what we can lay out, it can")
}

fn close(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0)
}

fn check_same(ours: &Histogram, theirs: &Reference<u64>) -> Result<(), TestCaseError> {
    prop_assert_eq!(ours.count(), theirs.len());
    prop_assert_eq!(ours.is_empty(), theirs.is_empty());
    prop_assert_eq!(ours.min(), theirs.min());
    // Where zero shares its counter with larger values, the crate returns 0 if all were really zero.
    if theirs.max() > 0 {
        prop_assert_eq!(ours.max(), theirs.max());
    }
    prop_assert!(
        close(ours.mean(), theirs.mean()),
        "{} {}",
        ours.mean(),
        theirs.mean()
    );
    prop_assert!(
        close(ours.stddev(), theirs.stdev()),
        "{} {}",
        ours.stddev(),
        theirs.stdev()
    );
    for quantile in QUANTILES {
        check_quantile(ours, theirs, quantile)?;
    }
    let theirs: Vec<_> = theirs
        .iter_recorded()
        .map(|it| (it.value_iterated_to(), it.count_at_value()))
        .collect();
    let ours: Vec<_> = ours.buckets().map(|it| (it.high, it.count)).collect();
    prop_assert_eq!(ours, theirs);
    Ok(())
}

/// The crate has no guard against rounding up in `quantile * count`, as the Java original and ours have; for the
/// next lower quantile it returns the same.
fn check_quantile(
    ours: &Histogram,
    theirs: &Reference<u64>,
    quantile: f64,
) -> Result<(), TestCaseError> {
    let guarded = if quantile > 0.0 {
        quantile.next_down()
    } else {
        quantile
    };
    prop_assert_eq!(
        ours.value_at_quantile(quantile),
        theirs.value_at_quantile(guarded),
        "quantile {}",
        quantile
    );
    let exact = quantile * theirs.len() as f64;
    if (exact - exact.round()).abs() > 1e-6 {
        let answer = theirs.value_at_quantile(quantile);
        prop_assert_eq!(ours.value_at_quantile(quantile), answer);
        prop_assert_eq!(ours.value_at_percentile(quantile * 100.0), answer);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn answers_are_those_of_hdrhistogram(
        values in prop::collection::vec((value(3_600_000_000_000), 1..1000_u64), 0..200),
        quantiles in prop::collection::vec(0.0..=1.0_f64, 20),
        limits in prop::collection::vec(value(u64::MAX), 20),
    ) {
        let mut ours = Histogram::new();
        let mut theirs = reference_of(&Layout::STANDARD);
        for &(value, times) in &values {
            ours.record_n(value, times);
            theirs.record_n(value, times).unwrap();
        }
        check_same(&ours, &theirs)?;
        for quantile in quantiles {
            check_quantile(&ours, &theirs, quantile)?;
        }
        for limit in limits {
            let below = ours.count_at_or_below(limit);
            prop_assert_eq!(below, theirs.count_between(0, limit));
            prop_assert_eq!(below + ours.count_above(limit), ours.count());
        }
    }

}

proptest! {
    // Iterating over large layouts is slow.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_layout_is_that_of_hdrhistogram(
        layout in layout(),
        values in prop::collection::vec(value(i64::MAX.unsigned_abs()), 1..50),
    ) {
        let mut ours = Histogram::with_layout(layout);
        let mut theirs = reference_of(&layout);
        prop_assert_eq!(layout.len(), theirs.distinct_values());
        for value in values {
            prop_assert_eq!(layout.lowest_equivalent(value), theirs.lowest_equivalent(value));
            prop_assert_eq!(layout.highest_equivalent(value), theirs.highest_equivalent(value));
            prop_assert_eq!(layout.median_equivalent(value), theirs.median_equivalent(value));
            ours.record(value);
            theirs.saturating_record(value.min(layout.highest()));
        }
        check_same(&ours, &theirs)?;
    }

    #[test]
    fn sums_are_those_of_hdrhistogram(
        from in layout(),
        into in layout(),
        values in prop::collection::vec(value(u64::MAX), 1..50),
    ) {
        let mut ours = (Histogram::with_layout(from), Histogram::with_layout(into));
        let mut theirs = (reference_of(&from), reference_of(&into));
        theirs.1.auto(false);
        for value in values {
            // The crate refuses a value that the sum cannot hold, and ours reduces it.
            let value = value.min(from.highest()).min(into.highest() / 2);
            ours.0.record(value);
            theirs.0.record(value).unwrap();
        }
        for _ in 0..2 {
            ours.1.add(&ours.0);
            for it in theirs.0.iter_recorded() {
                let low = theirs.0.lowest_equivalent(it.value_iterated_to());
                theirs.1.record_n(low, it.count_at_value()).unwrap();
            }
        }
        check_same(&ours.1, &theirs.1)?;
    }

}

proptest! {
    #[test]
    fn reset_forgets_everything(
        before in prop::collection::vec(value(u64::MAX), 0..50),
        after in prop::collection::vec(value(u64::MAX), 0..50),
    ) {
        let (mut used, mut fresh) = (Histogram::new(), Histogram::new());
        before.iter().for_each(|value| used.record(*value));
        used.reset();
        prop_assert_eq!(&used, &fresh);
        after.iter().for_each(|value| used.record(*value));
        after.iter().for_each(|value| fresh.record(*value));
        prop_assert_eq!(used, fresh);
    }

    #[test]
    fn signed_values_keep_their_order(
        mut values in prop::collection::vec(any::<i64>().prop_map(|it| it >> 20), 1..100),
        limit in any::<i64>().prop_map(|it| it >> 22),
        quantile in 0.0..=1.0_f64,
    ) {
        let mut histogram = SignedHistogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        values.sort_unstable();
        let equal = |ours: i64, exact: i64| {
            let layout = Layout::STANDARD;
            let highest = layout.highest();
            let exact_magnitude = exact.unsigned_abs().min(highest);
            (ours < 0) == (exact < 0)
                && layout.index_of(ours.unsigned_abs()) == layout.index_of(exact_magnitude)
        };
        prop_assert_eq!(histogram.count(), values.len() as u64);
        prop_assert!(equal(histogram.min(), values[0]));
        prop_assert!(equal(histogram.max(), values[values.len() - 1]));
        let rank = ((quantile.next_down().max(0.0) * values.len() as f64).ceil() as usize).max(1);
        prop_assert!(equal(histogram.value_at_quantile(quantile), values[rank - 1]));
        let above = values.iter().filter(|value| **value > limit && !equal(limit, **value)).count();
        if limit.unsigned_abs() <= Layout::STANDARD.highest() {
            prop_assert_eq!(histogram.count_above(limit), above as u64);
        }
        let buckets: Vec<_> = histogram.buckets().collect();
        prop_assert!(buckets.windows(2).all(|pair| pair[0].high < pair[1].low));
        prop_assert_eq!(buckets.iter().map(|it| it.count).sum::<u64>(), histogram.count());
        prop_assert!(buckets.iter().all(|it| it.low <= it.high));
    }
}

#[test]
fn an_empty_histogram_answers_zero() {
    let empty = Histogram::new();
    assert_eq!(
        (empty.min(), empty.max(), empty.value_at_quantile(0.5)),
        (0, 0, 0)
    );
    assert_eq!((empty.mean(), empty.stddev()), (0.0, 0.0));
    assert_eq!(empty.buckets().count(), 0);
    let empty = SignedHistogram::new();
    assert_eq!(
        (empty.min(), empty.max(), empty.value_at_quantile(0.5)),
        (0, 0, 0)
    );
    assert_eq!((empty.mean(), empty.stddev()), (0.0, 0.0));
}

#[test]
fn a_share_that_rounds_up_does_not_reach_for_one_value_more() {
    let mut histogram = Histogram::new();
    (1..=100).for_each(|value| histogram.record(value));
    // 0.07 * 100 and 0.55 * 100 are a little more than 7 and 55 in binary.
    assert_eq!(histogram.value_at_quantile(0.07), 7);
    assert_eq!(histogram.value_at_quantile(0.55), 55);
    assert_eq!(histogram.value_at_percentile(7.0), 7);
}

#[test]
fn mean_and_deviation_of_signed_values() {
    let mut histogram = SignedHistogram::new();
    for value in [-1000, -500, 0, 500, 1000] {
        histogram.record(value);
    }
    assert_eq!(histogram.mean(), 0.0);
    assert!((histogram.stddev() - 500_000_f64.sqrt()).abs() < 1e-9);
    assert_eq!(histogram.count_above(-1000), 4);
    assert_eq!(histogram.count_above(-1), 3);
    assert_eq!(histogram.count_above(0), 2);
}

#[test]
fn counters_saturate() {
    let mut histogram = Histogram::new();
    histogram.record_n(5, u64::MAX);
    histogram.record_n(5, 10);
    histogram.record_n(7, 10);
    assert_eq!(histogram.count(), u64::MAX);
    assert_eq!(histogram.value_at_quantile(1.0), 5);
    assert_eq!(histogram.count_above(7), 0);
}

#[test]
fn beyond_an_hour_is_recorded_as_an_hour() {
    let mut histogram = SignedHistogram::new();
    histogram.record(i64::MAX);
    histogram.record(i64::MIN);
    let hour = 3_600_000_000_000_i64;
    let error = hour / 1000;
    assert!((hour..hour + error).contains(&histogram.max()));
    assert!((hour..hour + error).contains(&-histogram.min()));
}

#[test]
fn layouts_that_cannot_be_are_refused() {
    let refused = |lowest, highest, digits| Layout::new(lowest, highest, digits).unwrap_err();
    assert_eq!(refused(1, 100, 6), NewLayoutError::Digits(6));
    assert_eq!(refused(0, 100, 3), NewLayoutError::LowestIsZero);
    assert!(matches!(
        refused(10, 19, 3),
        NewLayoutError::RangeTooSmall { .. }
    ));
    assert!(matches!(
        refused(1, 1 << 63, 3),
        NewLayoutError::TooWide { .. }
    ));
    assert!(matches!(
        refused(1 << 60, (1 << 63) - 1, 3),
        NewLayoutError::TooWide { .. }
    ));
    let message = refused(10, 19, 3).to_string();
    assert!(message.contains("raise the highest"), "{message}");
}

#[test]
fn the_widest_layout_is_bounded() {
    let widest = Layout::new(1, i64::MAX.unsigned_abs(), 5).expect("63 bits");
    assert_eq!(widest.len(), 47 << 17);
    assert_eq!(widest.index_of(u64::MAX), widest.len() - 1);
    assert_eq!(widest.highest_equivalent(u64::MAX), u64::MAX);
}
