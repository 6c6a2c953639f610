//! The counts of a series, the summary they give, and the random numbers for its values.

use kadenz_record::histogram::SignedHistogram;
use kadenz_record::recorder::Counts;
use kadenz_record::run::model::Series;
use kadenz_report::statistics::{distribution, percentiles};
use kadenz_report::summary::{IntervalPoint, SeriesSummary};
use kadenz_report::verdict::Verdict;

#[derive(Default)]
pub(crate) struct Tally {
    histogram: SignedHistogram,
    counts: Counts,
    miss_run: u64,
    deadline_ns: Option<u64>,
    intervals: Vec<IntervalPoint>,
}

impl Tally {
    pub(crate) fn new(deadline_ns: Option<u64>) -> Self {
        Self {
            deadline_ns,
            ..Self::default()
        }
    }

    /// Starts an interval of the log.
    pub(crate) fn interval(&mut self, start_s: f64, length_s: f64) {
        self.intervals.push(IntervalPoint {
            start_s,
            length_s,
            min_ns: i64::MAX,
            max_ns: i64::MIN,
            ..IntervalPoint::default()
        });
    }

    /// Counts a value this many times.
    pub(crate) fn record(&mut self, value_ns: f64, times: u64) {
        let value = value_ns as i64;
        if value >= 0 {
            self.histogram.late.record_n(value.unsigned_abs(), times);
        } else {
            self.histogram.early.record_n(value.unsigned_abs(), times);
            self.counts.early += times;
        }
        self.counts.recorded += times;
        let late = self.deadline_ns.is_some_and(|limit| value > limit as i64);
        self.miss_run = if late { self.miss_run + times } else { 0 };
        self.counts.misses += if late { times } else { 0 };
        self.counts.longest_miss_run = self.counts.longest_miss_run.max(self.miss_run);
        self.counts.min_ns = Some(self.counts.min_ns.map_or(value, |min| min.min(value)));
        self.counts.max_ns = Some(self.counts.max_ns.map_or(value, |max| max.max(value)));
        if let Some(point) = self.intervals.last_mut() {
            point.count += times;
            point.min_ns = point.min_ns.min(value);
            point.max_ns = point.max_ns.max(value);
        }
    }

    pub(crate) fn summary(self, mut series: Series, duration_ns: u64) -> SeriesSummary {
        let counts = self.counts;
        series.counts = counts;
        series.deadline_ns = self.deadline_ns;
        let recorded = counts.recorded > 0;
        let (mean, sd) = (self.histogram.mean(), self.histogram.stddev());
        let distribution = distribution(&self.histogram);
        let max = counts.max_ns.unwrap_or(0);
        SeriesSummary {
            count: counts.recorded,
            min_ns: counts.min_ns,
            max_ns: counts.max_ns,
            mean_ns: recorded.then_some(mean),
            stddev_ns: recorded.then_some(sd),
            max_in_stddevs: (sd > 0.0).then(|| (max as f64 - mean) / sd),
            percentiles: percentiles(&distribution, max),
            distribution,
            intervals: self.intervals,
            verdict: self.deadline_ns.map(|limit| {
                let Counts {
                    recorded,
                    misses,
                    longest_miss_run,
                    ..
                } = counts;
                Verdict::new(limit, recorded, misses, longest_miss_run, duration_ns)
            }),
            series,
            ..SeriesSummary::default()
        }
    }
}

/// Pseudo-random numbers, the same every time (SplitMix64).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly between 0 and 1, without either.
    pub(crate) fn even(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// True with this probability.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.even() < probability
    }

    /// Gaussian, by Box and Muller.
    pub(crate) fn bell(&mut self, mean: f64, deviation: f64) -> f64 {
        let radius = (-2.0 * self.even().ln()).sqrt();
        mean + deviation * radius * (std::f64::consts::TAU * self.even()).cos()
    }

    /// Exponential with this mean: the tail of most latencies.
    pub(crate) fn tail(&mut self, mean: f64) -> f64 {
        -mean * self.even().ln()
    }
}
