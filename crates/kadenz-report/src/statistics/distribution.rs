//! Percentiles from recorded buckets, by exact rank.

use kadenz_record::histogram::SignedHistogram;

use super::{Percent, Percentile, SignedBucket};

/// The recorded buckets of a histogram, ascending, early values negative.
#[must_use]
pub fn distribution(histogram: &SignedHistogram) -> Vec<SignedBucket> {
    let bucket = |b: kadenz_record::histogram::SignedBucket| SignedBucket {
        low_ns: b.low,
        high_ns: b.high,
        count: b.count,
    };
    let mut buckets: Vec<SignedBucket> = histogram.buckets().map(bucket).collect();
    buckets.shrink_to_fit();
    buckets
}

/// How many values ascending `buckets` hold.
#[must_use]
pub fn count(buckets: &[SignedBucket]) -> u64 {
    buckets.iter().map(|bucket| bucket.count).sum()
}

/// Every percentile of [`Percent::LADDER`] that ascending `buckets` can carry. A value is the
/// highest of its bucket, but never above `max_ns`, the exact maximum.
#[must_use]
pub fn percentiles(buckets: &[SignedBucket], max_ns: i64) -> Vec<Percentile> {
    let count = count(buckets);
    let mut rows = Vec::new();
    let mut seen = 0;
    let mut walk = buckets.iter();
    let (mut value_ns, mut at_least_ns) = (max_ns, max_ns);
    for percent in Percent::LADDER
        .into_iter()
        .take_while(|p| p.is_carried_by(count))
    {
        let rank = percent.rank(count);
        while seen < rank {
            let Some(bucket) = walk.next() else { break };
            seen += bucket.count;
            value_ns = bucket.high_ns.min(max_ns);
            at_least_ns = bucket.low_ns.min(max_ns);
        }
        rows.push(Percentile {
            percent,
            value_ns,
            at_least_ns,
            beyond: percent.beyond(count),
        });
    }
    rows
}

/// One percentile of ascending `buckets`, by the rule of [`percentiles`]; absent when they cannot
/// carry it.
#[must_use]
pub fn percentile(buckets: &[SignedBucket], percent: Percent, max_ns: i64) -> Option<i64> {
    let count = count(buckets);
    percent
        .is_carried_by(count)
        .then(|| value_at_rank(buckets, percent.rank(count)))
        .flatten()
        .map(|value| value.min(max_ns))
}

/// The highest value of the bucket that holds the `rank`-th value, counted from 1.
#[must_use]
pub(crate) fn value_at_rank(buckets: &[SignedBucket], rank: u64) -> Option<i64> {
    let mut seen = 0;
    buckets
        .iter()
        .find(|bucket| {
            seen += bucket.count;
            seen >= rank
        })
        .map(|bucket| bucket.high_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recorded(values: &[i64]) -> SignedHistogram {
        let mut histogram = SignedHistogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        histogram
    }

    #[test]
    fn a_percentile_the_sample_is_too_small_for_is_absent() {
        let values: Vec<i64> = (1..=999).collect();
        let buckets = distribution(&recorded(&values));
        let rows = percentiles(&buckets, 999);
        let names: Vec<String> = rows.iter().map(|row| row.percent.to_string()).collect();
        assert_eq!(names, ["50", "90", "99"]);
        assert_eq!(
            rows[2],
            Percentile {
                percent: Percent::P99,
                value_ns: 990,
                at_least_ns: 990,
                beyond: 9
            }
        );
        assert_eq!(percentile(&buckets, Percent::P99_9, 999), None);
        assert!(percentiles(&[], 0).is_empty());
    }

    proptest! {
        /// What a report says of a run lies within three digits of what the raw samples say.
        #[test]
        fn percentiles_equal_those_of_the_raw_samples_within_three_digits(
            mut values in prop::collection::vec(
                prop_oneof![-2_000_000_i64..2_000_000, 0_i64..3_600_000_000_000], 2..3000),
        ) {
            let histogram = recorded(&values);
            values.sort_unstable();
            let max = values[values.len() - 1];
            let buckets = distribution(&histogram);
            let rows = percentiles(&buckets, max);
            prop_assert!(!rows.is_empty());
            for row in rows {
                let raw = values[row.percent.rank(values.len() as u64) as usize - 1];
                let slack = (raw.unsigned_abs() / 1000) as i64;
                prop_assert!((raw..=raw + slack).contains(&row.value_ns), "{row:?}, raw {raw}");
                prop_assert_eq!(percentile(&buckets, row.percent, max), Some(row.value_ns));
                let record = histogram.value_at_quantile(row.percent.fraction());
                prop_assert_eq!(record.min(max), row.value_ns);
            }
        }
    }
}
