//! Jitter from interval to interval, in constant memory.

use kadenz_record::histogram::SignedHistogram;

use super::clusters::early_clusters;
use super::distribution::{distribution, percentiles};
use super::moments::Tally;
use super::{FrequencyFacts, JitterFacts, Moments, SignedBucket};

/// The average frequency counts as kept within this many parts per million ...
const KEPT_PPM: f64 = 100.0;
/// ... or when no more than one sample came too many or too few.
const KEPT_SAMPLES: f64 = 1.0;

/// Reads jitter as it streams by.
#[derive(Clone, Debug, Default)]
pub(super) struct JitterMeter {
    moments: Moments,
    values: Tally,
    range: Option<(i64, i64)>,
    trend: Trend,
    stalls: Stalls,
}

impl JitterMeter {
    /// Jitter of a series whose interval should be `expected_interval_ns`.
    pub(super) fn new(expected_interval_ns: Option<u64>) -> Self {
        Self {
            stalls: Stalls::new(expected_interval_ns),
            ..Self::default()
        }
    }

    /// Takes jitter of intervals that follow each other.
    pub(super) fn extend(&mut self, values: &[i64]) {
        self.moments.extend(values);
        self.values.extend(values);
        self.trend.extend(values);
        let (mut low, mut high) = self.range.unwrap_or((i64::MAX, i64::MIN));
        for &value in values {
            self.stalls.take(value);
            low = low.min(value);
            high = high.max(value);
        }
        self.range = (self.moments.count() > 0).then_some((low, high));
    }

    /// The figures of the jitter; absent without any. A frequency is given where there is a `beat`.
    pub(super) fn facts(&self, beat_ns: Option<u64>) -> Option<JitterFacts> {
        let (min_ns, max_ns) = self.range?;
        let distribution = distribution(&self.values.histogram());
        let unforced = without(&distribution, &self.stalls.repaid);
        Some(JitterFacts {
            count: self.moments.count(),
            min_ns,
            max_ns,
            mean_ns: self.moments.mean()?,
            stddev_ns: self.moments.stddev()?,
            percentiles: percentiles(&distribution, max_ns),
            early_clusters: early_clusters(&unforced, self.stalls.interval_ns),
            catching_up: self.stalls.repaid.count(),
            frequency: beat_ns.map(|ns| self.trend.frequency(ns)),
        })
    }
}

/// The buckets of `all` without those in `some`.
fn without(all: &[SignedBucket], some: &SignedHistogram) -> Vec<SignedBucket> {
    let mut some = some.buckets().peekable();
    let rest = all.iter().map(|bucket| {
        let taken = some
            .next_if(|taken| taken.low == bucket.low_ns)
            .map_or(0, |taken| taken.count);
        SignedBucket {
            count: bucket.count - taken,
            ..*bucket
        }
    });
    rest.filter(|bucket| bucket.count > 0).collect()
}

/// Separates intervals that were short because the one before had stalled. On a beat, the wake-ups owed after a stall
/// of several intervals come at once: the stall causes that, not the timer. An interval counts as stalled when it is
/// half as long again as it should be; the timer that loses a little each time and jumps to catch up owes nothing by
/// this measure.
#[derive(Clone, Debug, Default)]
struct Stalls {
    interval_ns: Option<u64>,
    /// Time that stalls took and short intervals have not given back yet.
    owed_ns: i64,
    /// Jitter of the intervals that gave it back.
    repaid: SignedHistogram,
}

impl Stalls {
    fn new(interval_ns: Option<u64>) -> Self {
        Self {
            interval_ns,
            ..Self::default()
        }
    }

    fn take(&mut self, jitter_ns: i64) {
        let Some(interval_ns) = self.interval_ns else {
            return;
        };
        let large = jitter_ns.unsigned_abs() > interval_ns / 2;
        if jitter_ns > 0 && large {
            self.owed_ns = self.owed_ns.saturating_add(jitter_ns);
            return;
        }
        // A debt of less than a hundredth of an interval is within the noise.
        let owes = self.owed_ns > 0 && self.owed_ns.unsigned_abs() > interval_ns / 100;
        if jitter_ns < 0 && owes {
            self.repaid.record(jitter_ns);
        }
        // The first interval that is not much too short ends it.
        self.owed_ns = if large {
            self.owed_ns.saturating_add(jitter_ns)
        } else {
            0
        };
    }
}

/// The straight line through all wake-ups, by least squares: its slope is the mean interval, and a
/// stall at either end of the run does not tilt it as it would the line from first to last.
#[derive(Clone, Copy, Debug, Default)]
struct Trend {
    /// Intervals; wake-ups are one more.
    intervals: u64,
    /// Lateness of the last wake-up against the first and the expected interval.
    lateness_ns: i64,
    sum: i128,
    /// Sum of lateness times number.
    moment: i128,
}

impl Trend {
    fn extend(&mut self, jitter: &[i64]) {
        for &value in jitter {
            self.intervals += 1;
            self.lateness_ns = self.lateness_ns.wrapping_add(value);
            self.sum += i128::from(self.lateness_ns);
            self.moment += i128::from(self.lateness_ns) * i128::from(self.intervals);
        }
    }

    /// The least-squares slope of the lateness: its growth from one interval to the next.
    fn slope_ns(&self) -> f64 {
        let last = self.intervals as f64;
        let wake_ups = last + 1.0;
        let twice = 2 * self.moment - i128::from(self.intervals) * self.sum;
        6.0 * twice as f64 / (wake_ups * (wake_ups * wake_ups - 1.0)).max(1.0)
    }

    fn frequency(&self, expected_interval_ns: u64) -> FrequencyFacts {
        let expected = expected_interval_ns as f64;
        let slope = self.slope_ns();
        let mean_interval_ns = expected + slope;
        let error_ppm = 1e6 * (expected / mean_interval_ns - 1.0);
        let samples_off = slope.abs() * self.intervals as f64 / expected;
        FrequencyFacts {
            expected_interval_ns,
            mean_interval_ns,
            error_ppm,
            kept: samples_off <= KEPT_SAMPLES || error_ppm.abs() <= KEPT_PPM,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: u64 = 1_000_000;

    fn facts(jitter: impl IntoIterator<Item = i64>) -> JitterFacts {
        let mut meter = JitterMeter::new(Some(INTERVAL));
        meter.extend(&jitter.into_iter().collect::<Vec<i64>>());
        meter.facts(Some(INTERVAL)).unwrap()
    }

    #[test]
    fn a_timer_that_drifts_does_not_keep_its_frequency() {
        let frequency = facts(std::iter::repeat_n(60_000, 10_000))
            .frequency
            .unwrap();
        assert!(!frequency.kept);
        assert!(
            (frequency.error_ppm + 56_604.0).abs() < 1.0,
            "{frequency:?}"
        );
        assert!((frequency.mean_interval_ns - 1_060_000.0).abs() < 1e-6);
    }

    #[test]
    fn a_timer_that_catches_up_keeps_its_frequency() {
        let jitter = (0..9000).map(|i| if i % 8 == 7 { -875_000 } else { 125_000 });
        assert!(facts(jitter).frequency.unwrap().kept);
    }

    #[test]
    fn a_stall_at_either_end_is_no_drift() {
        for stalled in [0, 2990] {
            let lateness = |i: i64| {
                let after = i - stalled;
                60_000
                    + if (0..5).contains(&after) {
                        5_000_000 - after * 1_000_000
                    } else {
                        0
                    }
            };
            let jitter = (1..3000).map(|i| lateness(i) - lateness(i - 1));
            let frequency = facts(jitter).frequency.unwrap();
            assert!(frequency.kept, "{frequency:?}");
            assert!(
                (frequency.mean_interval_ns - 1_000_000.0).abs() < 50.0,
                "{frequency:?}"
            );
        }
    }

    #[test]
    fn wake_ups_owed_by_a_stall_make_no_cluster() {
        let jitter: Vec<i64> = (0..20_000)
            .map(|i| match i % 100 {
                10 => 4_000_000,
                11..=14 => -1_000_000 + i % 7,
                _ => 1_000 * (i % 30) - 15_000,
            })
            .collect();
        let found = facts(jitter.clone());
        assert_eq!(found.early_clusters, []);
        assert_eq!(found.catching_up, 800);
        assert_eq!(found.count, 20_000);
        // The same values without a stall before them are caused by the timer itself.
        let unprovoked = jitter.into_iter().filter(|&value| value < 2_000_000);
        let found = facts(unprovoked);
        assert_eq!((found.early_clusters.len(), found.catching_up), (1, 0));
    }
}
