//! Statistics of a set of values: percentiles with the samples beyond them, moments, extremes, jitter and clusters of
//! early wake-ups.

pub(crate) mod batch_means;
mod clusters;
mod distribution;
mod jitter;
mod moments;
pub(crate) mod random;
mod samples;
pub(crate) mod student;

pub use clusters::early_clusters;
pub use distribution::hiccup_total;
pub(crate) use distribution::value_at_rank;
pub(crate) use distribution::{Percentiles, by_name, by_name_at_least};
pub use distribution::{count, distribution, percentile, percentiles};
pub use kadenz_record::histogram::{ParsePercentError, Percent};
pub use moments::Extremes;
pub use moments::Moments;
pub use samples::SampleMeter;
pub use student::RatioInterval;

use schemars::JsonSchema;
use serde::Serialize;

/// A percentile that the sample supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentile {
    /// The share of the samples, in percent.
    pub percent: Percent,
    /// Its value: the highest value that the histogram cannot distinguish from it (of three significant digits in
    /// a run of Kadenz), never above the exact maximum.
    pub value_ns: i64,
    /// The lowest value that the histogram cannot distinguish from it.
    pub at_least_ns: i64,
    /// How many samples rank above it.
    pub beyond: u64,
}

/// Halvings of a bracket of [`bisect`]: enough for an `f64`.
const HALVINGS: u32 = 60;

/// The number between `low` and `high` up to which `is_below` holds.
pub(crate) fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = low.midpoint(high);
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Twice the uncertainty of three significant digits: a less certain percentile is marked.
const FINE: f64 = 0.002;

impl Percentile {
    /// In words, as in every table: marked where a coarse log gives an upper bound only.
    ///
    /// ```
    /// use kadenz_report::statistics::{Percent, Percentile};
    ///
    /// let fine = Percentile { percent: Percent::P99, value_ns: 344_063, at_least_ns: 344_000, beyond: 2 };
    /// assert_eq!(fine.words(), "344.1 us");
    /// let coarse = Percentile { at_least_ns: 342_000, ..fine };
    /// assert_eq!(coarse.words(), "<= 344.1 us");
    /// ```
    #[must_use]
    pub fn words(&self) -> String {
        let edge = self.coarseness().map_or("", |_| "<= ");
        format!("{edge}{}", crate::numbers::value(self.value_ns as f64))
    }

    /// By which share the true value may be below the given one, where a coarse log is less certain than a run of
    /// Kadenz.
    #[must_use]
    pub(crate) fn coarseness(&self) -> Option<f64> {
        let open = self.value_ns.abs_diff(self.at_least_ns) as f64;
        let share = open / self.value_ns.unsigned_abs().max(1) as f64;
        // The clock limits values of few nanoseconds anyway.
        (share > FINE && open > 1.0).then_some(share)
    }
}

/// A run of equivalent values and how often they were recorded. Early values are negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedBucket {
    /// Lowest value of the bucket.
    pub low_ns: i64,
    /// Highest value of the bucket, included.
    pub high_ns: i64,
    /// How many samples fell into it.
    pub count: u64,
}

/// One of the highest or lowest samples, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Extreme {
    /// Sequence number of the sample.
    pub index: u64,
    /// The value of the sample, in nanoseconds.
    pub value_ns: i64,
}

/// A group of early (negative) values well apart from the main group: a timer that
/// fires twice in a row to catch up, as the ROS cyclic timer did with 12 % at -0.9 ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cluster {
    /// Share of all samples, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub share: f64,
    /// Median of the group.
    pub centre_ns: i64,
    /// Lowest value of the group.
    pub low_ns: i64,
    /// Highest value of the group.
    pub high_ns: i64,
}

/// Differences of the intervals between samples from the expected one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct JitterFacts {
    /// Number of counted intervals.
    pub count: u64,
    /// Smallest jitter in nanoseconds, exact; negative after a short interval.
    pub min_ns: i64,
    /// Largest jitter in nanoseconds, exact.
    pub max_ns: i64,
    /// Mean, exact; signed, so 0 when the average frequency was kept.
    pub mean_ns: f64,
    /// Standard deviation, exact.
    pub stddev_ns: f64,
    /// Percentiles that the sample supports.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "Percentiles")]
    pub percentiles: Vec<Percentile>,
    /// Groups of early wake-ups, except for those owed after a stall.
    #[serde(skip)]
    pub early_clusters: Vec<Cluster>,
    /// Intervals that were short because a stall of more than half an interval came before: the owed wake-ups came at
    /// once.
    pub catching_up: u64,
    /// Whether the average frequency was kept.
    pub frequency: Option<FrequencyFacts>,
}

/// The average frequency against the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FrequencyFacts {
    /// The expected interval between two samples, in nanoseconds.
    pub expected_interval_ns: u64,
    /// Mean interval over the run: the slope of the least-squares line through all wake-ups, which
    /// a stall at the end does not tilt.
    pub mean_interval_ns: f64,
    /// Relative difference of the frequency in parts per million: positive is too fast.
    pub error_ppm: f64,
    /// Whether the number of samples is as expected, within one, or within 100 ppm.
    pub kept: bool,
}

/// Figures that need raw samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleFacts {
    /// Samples in the file.
    pub count: u64,
    /// Mean of the raw values, exact.
    pub mean_ns: f64,
    /// Standard deviation of the raw values, exact.
    pub stddev_ns: f64,
    /// The first two, which take longest where a library initialises itself.
    pub first: Vec<Extreme>,
    /// The ten highest, highest first.
    pub highest: Vec<Extreme>,
    /// The ten lowest, lowest first.
    pub lowest: Vec<Extreme>,
    /// Interval-to-interval jitter, where the kind of series has one.
    pub jitter: Option<JitterFacts>,
}
