//! Counts of values at a fixed number of significant digits.
//!
//! The layout of the counters and the meaning of every result are HdrHistogram's: a returned value is the *highest*
//! value that cannot be told apart from a recorded one, so no latency is ever reported smaller than it was. Two
//! things are our own: values below zero (early wake-ups) are counted too, by [`SignedHistogram`], and no function
//! here resizes or fails on a large value.
//!
//! ```
//! use kadenz_record::histogram::Histogram;
//!
//! let mut lateness = Histogram::new();
//! for micros in 1..=1000 {
//!     lateness.record(micros * 1000);
//! }
//! assert_eq!(lateness.count(), 1000);
//! assert_eq!(lateness.value_at_quantile(0.99), 990_207);
//! assert_eq!(lateness.value_at_quantile(1.0), lateness.max());
//! ```

mod counts;
mod layout;
mod percent;
mod signed;
mod sparse;

pub use counts::{Bucket, Histogram};
pub use layout::{Layout, NewLayoutError};
pub use percent::{ParsePercentError, Percent};
pub use signed::{SignedBucket, SignedHistogram};
pub use sparse::SparseHistogram;

pub(crate) use sparse::Cell;

// The results of a histogram.

impl Histogram {
    /// The lowest value that cannot be told apart from the smallest one recorded; 0 when empty.
    #[must_use]
    pub fn min(&self) -> u64 {
        if self.is_empty() {
            0
        } else {
            self.bucket_at(*self.used().start()).low
        }
    }

    /// The highest value that cannot be told apart from the largest one recorded; 0 when empty.
    #[must_use]
    pub fn max(&self) -> u64 {
        if self.is_empty() {
            0
        } else {
            self.bucket_at(*self.used().end()).high
        }
    }

    /// The mean, each value taken as the middle of its range; 0 when empty.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.is_empty() {
            0.0
        } else {
            self.sum() / self.count() as f64
        }
    }

    /// The standard deviation of the recorded values (divided by n, as HdrHistogram does it);
    /// 0 when empty.
    #[must_use]
    pub fn stddev(&self) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        (self.squared_deviations(self.mean()) / self.count() as f64).sqrt()
    }

    /// The sum of all values, each taken as the middle of its range.
    pub(crate) fn sum(&self) -> f64 {
        self.buckets()
            .map(|bucket| self.layout().median_equivalent(bucket.low) as f64 * bucket.count as f64)
            .sum()
    }

    /// The sum of the squared distances from `mean`.
    pub(crate) fn squared_deviations(&self, mean: f64) -> f64 {
        self.buckets()
            .map(|bucket| {
                let deviation = self.layout().median_equivalent(bucket.low) as f64 - mean;
                deviation * deviation * bucket.count as f64
            })
            .sum()
    }

    /// The value that a share `quantile` of all recorded values does not exceed: 0.999 for the 99.9th percentile.
    /// It is the highest value of its range, except at `quantile` 0, where it is the lowest; 0 when empty. A
    /// `quantile` outside 0 to 1 counts as the nearer end.
    ///
    /// As in the Java original, the share is lowered by one unit in the last place, so that rounding in
    /// `quantile * count` never includes one value too many.
    #[must_use]
    pub fn value_at_quantile(&self, quantile: f64) -> u64 {
        let share = quantile.next_down().clamp(0.0, 1.0);
        self.value_at_rank((share * self.count() as f64).ceil(), quantile)
    }

    /// As [`Histogram::value_at_quantile`] with a percentile from 0 to 100; equal to the bit to
    /// `getValueAtPercentile` of the Java original.
    #[must_use]
    pub fn value_at_percentile(&self, percentile: f64) -> u64 {
        let share = percentile.next_down().clamp(0.0, 100.0);
        self.value_at_rank((share * self.count() as f64 / 100.0).ceil(), percentile)
    }

    fn value_at_rank(&self, rank: f64, asked: f64) -> u64 {
        let rank = (rank as u64).max(1);
        let mut seen = 0_u64;
        for index in self.used() {
            seen = seen.saturating_add(self.counts()[index]);
            if seen >= rank {
                let bucket = self.bucket_at(index);
                return if asked <= 0.0 {
                    bucket.low
                } else {
                    bucket.high
                };
            }
        }
        // Only saturated counters, or an empty histogram, lead here.
        self.max()
    }

    /// How many recorded values are at most `value`, or cannot be told apart from it.
    #[must_use]
    pub fn count_at_or_below(&self, value: u64) -> u64 {
        let end = self.layout().covered_index(value);
        self.used()
            .take_while(|&index| index <= end)
            .fold(0, |sum: u64, index| {
                sum.saturating_add(self.counts()[index])
            })
    }

    /// How many recorded values are above `value` and can be told apart from it.
    #[must_use]
    pub fn count_above(&self, value: u64) -> u64 {
        self.count() - self.count_at_or_below(value).min(self.count())
    }
}
