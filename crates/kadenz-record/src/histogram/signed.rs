//! Histograms of values that may be below zero.

use super::{Bucket, Histogram, Percent};

/// Late and early values in two histograms: early ones are counted by their magnitude, so that both keep their
/// significant digits. Zero counts as late.
///
/// ```
/// use kadenz_record::histogram::{Percent, SignedHistogram};
///
/// let mut jitter = SignedHistogram::new();
/// for value in [-30, -10, 0, 20] {
///     jitter.record(value);
/// }
/// assert_eq!((jitter.min(), jitter.max()), (-30, 20));
/// assert_eq!(jitter.value_at_quantile(0.5), -10);
/// assert_eq!(jitter.count_above(0), 1);
/// assert_eq!(jitter.percentiles().collect::<Vec<_>>(), [(Percent::P50, -10)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignedHistogram {
    /// Values of zero and above.
    pub late: Histogram,
    /// Magnitudes of the values below zero.
    pub early: Histogram,
}

/// A range of signed values that share a counter, and how often one of them was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedBucket {
    /// Lowest value of the range.
    pub low: i64,
    /// Highest value of the range.
    pub high: i64,
    /// How often a value of the range was recorded.
    pub count: u64,
}

impl SignedHistogram {
    /// Two empty histograms of the standard layout.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records `value` once; beyond an hour in either direction it is recorded as that hour.
    pub fn record(&mut self, value: i64) {
        self.record_n(value, 1);
    }

    /// Records `value` as if it had come `n` times.
    pub fn record_n(&mut self, value: i64, n: u64) {
        if value < 0 {
            self.early.record_n(value.unsigned_abs(), n);
        } else {
            self.late.record_n(value.unsigned_abs(), n);
        }
    }

    /// Adds everything `other` recorded, by the rule of [`Histogram::add`].
    pub fn add(&mut self, other: &Self) {
        self.late.add(&other.late);
        self.early.add(&other.early);
    }

    /// Resets all counters.
    pub fn reset(&mut self) {
        self.late.reset();
        self.early.reset();
    }

    /// How many values were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.late.count().saturating_add(self.early.count())
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The lowest value that cannot be told apart from the smallest one recorded; 0 when empty.
    #[must_use]
    pub fn min(&self) -> i64 {
        if self.early.is_empty() {
            signed(self.late.min())
        } else {
            -signed(self.early.max())
        }
    }

    /// The highest value that cannot be told apart from the largest one recorded; 0 when empty.
    #[must_use]
    pub fn max(&self) -> i64 {
        if self.late.is_empty() {
            -signed(self.early.min())
        } else {
            signed(self.late.max())
        }
    }

    /// The mean, each value taken as the middle of its range; 0 when empty.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        (self.late.sum() - self.early.sum()) / self.count() as f64
    }

    /// The standard deviation of the recorded values (divided by n); 0 when empty.
    #[must_use]
    pub fn stddev(&self) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        let mean = self.mean();
        let squares = self.late.squared_deviations(mean) + self.early.squared_deviations(-mean);
        (squares / self.count() as f64).sqrt()
    }

    /// The value that a share `quantile` (0 to 1) of all recorded values does not exceed, by the rule of
    /// [`Histogram::value_at_quantile`]: the highest value of its range, except at `quantile` 0, where it is the
    /// lowest; 0 when empty.
    #[must_use]
    pub fn value_at_quantile(&self, quantile: f64) -> i64 {
        if quantile <= 0.0 {
            return self.min();
        }
        let share = quantile.next_down().clamp(0.0, 1.0);
        let rank = ((share * self.count() as f64).ceil() as u64).max(1);
        let mut seen = 0_u64;
        for bucket in self.buckets() {
            seen = seen.saturating_add(bucket.count);
            if seen >= rank {
                return bucket.high;
            }
        }
        self.max()
    }

    /// The percentiles of [`Percent::REPORTED`] that the recorded values can carry, ascending: each with the
    /// highest value of its range, by exact rank.
    pub fn percentiles(&self) -> impl Iterator<Item = (Percent, i64)> + '_ {
        let count = self.count();
        let mut reported = Percent::REPORTED.into_iter().peekable();
        let mut seen = 0_u64;
        let mut buckets = self.buckets();
        let mut high = 0;
        std::iter::from_fn(move || {
            let percent = reported.next_if(|percent| percent.is_carried_by(count))?;
            while seen < percent.rank(count) {
                let bucket = buckets.next()?;
                seen = seen.saturating_add(bucket.count);
                high = bucket.high;
            }
            Some((percent, high))
        })
    }

    /// How many recorded values are above `limit` and can be told apart from it.
    #[must_use]
    pub fn count_above(&self, limit: i64) -> u64 {
        if limit >= 0 {
            return self.late.count_above(limit.unsigned_abs());
        }
        let same_range = self.early.layout().lowest_equivalent(limit.unsigned_abs());
        let nearer_to_zero = same_range
            .checked_sub(1)
            .map_or(0, |below| self.early.count_at_or_below(below));
        self.late.count().saturating_add(nearer_to_zero)
    }

    /// The ranges with a count above zero, from low to high values.
    pub fn buckets(&self) -> impl Iterator<Item = SignedBucket> + '_ {
        let mirrored = |bucket: Bucket| SignedBucket {
            low: -signed(bucket.high),
            high: -signed(bucket.low),
            count: bucket.count,
        };
        let upright = |bucket: Bucket| SignedBucket {
            low: signed(bucket.low),
            high: signed(bucket.high),
            count: bucket.count,
        };
        self.early
            .buckets()
            .rev()
            .map(mirrored)
            .chain(self.late.buckets().map(upright))
    }
}

/// A magnitude as a signed value; layouts end below 2^63, so nothing is cut off.
fn signed(magnitude: u64) -> i64 {
    i64::try_from(magnitude).unwrap_or(i64::MAX)
}
