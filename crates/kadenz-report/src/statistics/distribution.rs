//! Percentiles from recorded buckets, by exact rank, and the sum of all hiccups.

use std::borrow::Cow;

use kadenz_record::histogram::SignedHistogram;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{SerializeMap, Serializer};

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

/// Every percentile of [`Percent::REPORTED`] that ascending `buckets` support. A value is the
/// highest of its bucket, but never above `max_ns`, the exact maximum.
#[must_use]
pub fn percentiles(buckets: &[SignedBucket], max_ns: i64) -> Vec<Percentile> {
    let count = count(buckets);
    let mut rows = Vec::new();
    let mut seen = 0;
    let mut walk = buckets.iter();
    let (mut value_ns, mut at_least_ns) = (max_ns, max_ns);
    for percent in Percent::REPORTED
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

/// One percentile of ascending `buckets`, by the rule of [`percentiles`]; absent when they do not support it.
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

/// How many reported percentiles are always present.
const ALWAYS: usize = 4;

/// Percentiles by name, ascending. 50, 90, 99 and 99.9 are always present, `null` where the sample does not support
/// them; higher ones only where it does.
pub(crate) fn by_name<S: Serializer>(
    rows: &[Percentile],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serialize(rows, serializer, |row| row.value_ns)
}

/// The same, each as the lowest value that the histogram cannot distinguish from it.
pub(crate) fn by_name_at_least<S: Serializer>(
    rows: &[Percentile],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serialize(rows, serializer, |row| row.at_least_ns)
}

fn serialize<S: Serializer>(
    rows: &[Percentile],
    serializer: S,
    value: fn(&Percentile) -> i64,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (index, percent) in Percent::REPORTED.into_iter().enumerate() {
        let row = rows.iter().find(|row| row.percent == percent);
        if index < ALWAYS || row.is_some() {
            map.serialize_entry(&percent.to_string(), &row.map(value))?;
        }
    }
    map.end()
}

/// The schema of the output of [`by_name`].
pub(crate) struct Percentiles;

impl JsonSchema for Percentiles {
    fn schema_name() -> Cow<'static, str> {
        "Percentiles".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let value = json_schema!({ "type": ["integer", "null"] });
        json_schema!({
            "type": "object",
            "description": "Values by percentile. One that the sample is too small for, count * (1 - p) < 1, is \
                            null (50, 90, 99, 99.9) or absent (the others).",
            "required": ["50", "90", "99", "99.9"],
            "properties": { "50": value, "90": value, "99": value, "99.9": value },
            "patternProperties": { "^99\\.99+$": { "type": "integer" } },
            "additionalProperties": false,
        })
    }
}

/// The sum of all hiccups without those that omission correction added, from ascending `buckets`
/// of a corrected log and the resolution of its sleeps.
///
/// After a hiccup `h` at resolution `R` jHiccup also records `h - R`, `h - 2R`, ... while at least `R`: the hiccups of
/// the omitted sleeps. Adding up the log therefore counts a long hiccup about `h / 2R` times over. But each hiccup of
/// `R` and more leaves exactly one value in every `[jR, (j + 1)R)` up to its own, so its length comes back as `R` for
/// each of them above `2R`, and the rest from the one in `[R, 2R)`.
///
/// ```
/// use kadenz_report::statistics::{SignedBucket, hiccup_total};
///
/// // Hiccups of 0.4 ms and of 3.2 ms at 1 ms, corrected.
/// let log = [400_000, 1_200_000, 2_200_000, 3_200_000]
///     .map(|value| SignedBucket { low_ns: value, high_ns: value, count: 1 });
/// assert_eq!(hiccup_total(&log, 1_000_000), 3_600_000.0);
/// ```
#[must_use]
pub fn hiccup_total(buckets: &[SignedBucket], resolution_ns: u64) -> f64 {
    let resolution = resolution_ns as f64;
    let share = |bucket: &SignedBucket| {
        let value = bucket.low_ns.midpoint(bucket.high_ns).max(0) as f64;
        if value < 2.0 * resolution {
            value
        } else {
            resolution
        }
    };
    buckets
        .iter()
        .map(|bucket| share(bucket) * bucket.count as f64)
        .sum()
}

#[cfg(test)]
mod tests {
    use kadenz_record::histogram::SignedHistogram;
    use proptest::prelude::*;

    use super::*;

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
        /// Figures of a report equal those of the raw samples within three digits.
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

    const RESOLUTION: i64 = 1_000_000;

    proptest! {
        #[test]
        fn the_sum_before_correction_comes_back(
            hiccups in prop::collection::vec(
                prop_oneof![
                    9 => 0_i64..200_000,
                    1 => (0_i64..80, 5_000_i64..995_000).prop_map(|(ms, ns)| ms * RESOLUTION + ns),
                ],
                1..300,
            ),
        ) {
            let sum: i64 = hiccups.iter().sum();
            let mut histogram = SignedHistogram::new();
            for hiccup in hiccups {
                // jHiccup's loop: omitted values are recorded while they are at least one resolution.
                let mut missed = hiccup;
                histogram.record(hiccup);
                while missed - RESOLUTION >= RESOLUTION {
                    missed -= RESOLUTION;
                    histogram.record(missed);
                }
            }
            let got = hiccup_total(&distribution(&histogram), RESOLUTION as u64);
            prop_assert!((got - sum as f64).abs() <= 1e-3 * sum as f64 + 300.0, "{got}, not {sum}");
        }
    }
}
