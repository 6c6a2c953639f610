//! Yoon's statistics of control periods: the whole range, and the range without its peaks.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::statistics::{Percent, SignedBucket, count};
use crate::summary::SeriesSummary;

/// The shares of the control periods in the rows of Yoon's tables: the lowest 99 %, ..., all of them.
const SHARES: [&str; 4] = ["99", "99.9", "99.99", "99.999"];

/// Maximum, mean and standard deviation of the lowest control periods of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PeriodRow {
    /// The share of the lowest periods; absent for all of them.
    #[serde(rename = "lowest_percent", serialize_with = "percentage")]
    #[schemars(with = "f64", extend("enum" = [99, 99.9, 99.99, 99.999, 100]))]
    pub share: Option<Percent>,
    /// The largest of them.
    pub max_ns: f64,
    /// Mean of these periods, in nanoseconds.
    pub mean_ns: f64,
    /// Standard deviation of these periods, in nanoseconds.
    #[schemars(range(min = 0))]
    pub stddev_ns: f64,
}

/// All of them are 100 %.
#[allow(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn percentage<S: Serializer>(share: &Option<Percent>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(share.map_or(100.0, Percent::percent))
}

/// The column of a cell in Yoon's figures 7 and 8.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Periods {
    /// The shortest period, in nanoseconds.
    pub min_ns: f64,
    /// The rows that the sample supports, the one of all periods last.
    pub rows: Vec<PeriodRow>,
}

impl Periods {
    /// The column from ascending buckets of jitter, whose exact ends are known, at an expected
    /// interval. Absent without values.
    pub(super) fn new(
        jitter: &[SignedBucket],
        ends_ns: (i64, i64),
        interval_ns: u64,
    ) -> Option<Self> {
        let whole = count(jitter);
        let interval = interval_ns as f64;
        let row = |share: Option<Percent>| {
            let kept = share.map_or(whole, |share| share.rank(whole));
            let lowest = Lowest::of(jitter, kept, ends_ns)?;
            Some(PeriodRow {
                share,
                max_ns: interval + lowest.max,
                mean_ns: interval + lowest.mean,
                stddev_ns: lowest.stddev,
            })
        };
        let shares = shares().filter(|share| share.is_carried_by(whole));
        let rows: Option<Vec<PeriodRow>> = shares.map(Some).chain([None]).map(row).collect();
        Some(Self {
            min_ns: interval + ends_ns.0 as f64,
            rows: rows?,
        })
    }

    /// The column of a series of jitter. Absent without values, or without the expected interval.
    #[must_use]
    pub fn of(series: &SeriesSummary) -> Option<Self> {
        let ends = series.min_ns.zip(series.max_ns)?;
        let interval = series.series.expected_interval_ns?;
        Self::new(&series.distribution, ends, interval)
    }

    /// The row of a share, where the sample supports it.
    #[must_use]
    pub fn row(&self, share: Option<Percent>) -> Option<&PeriodRow> {
        self.rows.iter().find(|row| row.share == share)
    }
}

/// The shares of Yoon's rows except for the last, which has all.
pub(super) fn shares() -> impl Iterator<Item = Percent> {
    SHARES.into_iter().filter_map(|share| share.parse().ok())
}

/// Statistics of the lowest values of a distribution.
struct Lowest {
    max: f64,
    mean: f64,
    stddev: f64,
}

impl Lowest {
    /// Of the lowest `kept` values; a value counts as the middle of its bucket, or of the part of the bucket between
    /// the exact ends. Absent without values.
    fn of(buckets: &[SignedBucket], kept: u64, ends: (i64, i64)) -> Option<Self> {
        let middle = |bucket: &SignedBucket| {
            let (low, high) = (bucket.low_ns.max(ends.0), bucket.high_ns.min(ends.1));
            low.midpoint(high.max(low)) as f64
        };
        let mut left = kept;
        let mut max = None;
        // Deviations from the first value keep their digits where all values are large.
        let origin = buckets.first().map(middle)?;
        let (mut sum, mut squares) = (0.0, 0.0);
        for bucket in buckets {
            let taken = bucket.count.min(left);
            if taken == 0 {
                break;
            }
            left -= taken;
            let (times, value) = (taken as f64, middle(bucket) - origin);
            sum += times * value;
            squares += times * value * value;
            max = Some(bucket.high_ns.min(ends.1) as f64);
        }
        let number = kept as f64;
        let mean = sum / number;
        max.map(|max| Self {
            max,
            mean: origin + mean,
            stddev: (squares / number - mean * mean).max(0.0).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::distribution;
    use kadenz_record::histogram::SignedHistogram;
    use proptest::prelude::*;

    const INTERVAL: u64 = 1_000_000;

    fn column(values: &[i64]) -> Option<Periods> {
        let mut histogram = SignedHistogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        let ends = (values.iter().min()?, values.iter().max()?);
        Periods::new(&distribution(&histogram), (*ends.0, *ends.1), INTERVAL)
    }

    #[test]
    fn a_row_that_the_sample_cannot_carry_is_left_out() {
        let shares = |n: i64| -> Vec<Option<String>> {
            let column = column(&(0..n).collect::<Vec<_>>()).unwrap();
            let rows = column.rows.iter();
            rows.map(|row| row.share.map(|p| p.to_string())).collect()
        };
        assert_eq!(shares(99), [None]);
        assert_eq!(shares(100), [Some("99".into()), None]);
        assert_eq!(shares(9_999).len(), 3);
        assert_eq!(shares(100_000).len(), 5);
        assert_eq!(column(&[]), None);
    }

    #[test]
    fn peaks_fall_out_of_the_lower_rows() {
        let mut values = vec![10_000; 990];
        values.extend([500_000; 10]);
        let column = column(&values).unwrap();
        let row = |share: Option<&str>| column.row(share.map(|s| s.parse().unwrap())).unwrap();
        let low = row(Some("99"));
        assert!(
            (low.mean_ns - 1_010_000.0).abs() < 10.0 && low.stddev_ns < 1.0,
            "{low:?}"
        );
        assert!((row(None).max_ns - 1_500_000.0).abs() < 1e-9);
        assert!((column.min_ns - 1_010_000.0).abs() < 1e-9);
    }

    proptest! {
        /// Figures of the lowest q % in a table equal those of the raw samples within three digits.
        #[test]
        fn rows_equal_those_of_the_sorted_samples_within_three_digits(
            mut values in prop::collection::vec(
                prop_oneof![-900_000_i64..100_000, 0_i64..400_000_000], 1..3000),
        ) {
            let column = column(&values).unwrap();
            values.sort_unstable();
            for row in &column.rows {
                let n = row.share.map_or(values.len() as u64, |p| p.rank(values.len() as u64));
                let lowest = &values[..n as usize];
                let n = n as f64;
                let size = (lowest.iter().map(|&v| (v as f64).powi(2)).sum::<f64>() / n).sqrt();
                let mean = lowest.iter().map(|&v| v as f64).sum::<f64>() / n;
                let sd = (lowest.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / n).sqrt();
                let max = lowest[lowest.len() - 1];
                let slack = size / 1000.0 + 1.0;
                let interval = INTERVAL as f64;
                prop_assert!((row.max_ns - interval - max as f64).abs() <= max.abs() as f64 / 1000.0 + 1.0);
                prop_assert!((row.mean_ns - interval - mean).abs() <= slack, "{row:?} mean {mean}");
                prop_assert!((row.stddev_ns - sd).abs() <= slack, "{row:?} sd {sd}");
            }
        }
    }
}
