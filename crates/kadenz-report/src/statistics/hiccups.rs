//! How long the machine was away in all, from a log that also holds what omission correction added.

use super::SignedBucket;

/// The sum of all hiccups without those that omission correction added, from ascending `buckets`
/// of a corrected log and the resolution of its sleeps.
///
/// After a hiccup `h` at resolution `R` jHiccup also records `h - R`, `h - 2R`, ... while at least
/// `R`: what sleeps that never took place would have met. Adding up the log therefore counts a long
/// hiccup about `h / 2R` times over. But each hiccup of `R` and more leaves exactly one value in
/// every `[jR, (j + 1)R)` up to its own, so its length comes back as `R` for each of them above
/// `2R`, and the rest from the one in `[R, 2R)`.
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
    use crate::statistics::distribution;

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
                // jHiccup's loop: what was missed is recorded while it is at least one resolution.
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
