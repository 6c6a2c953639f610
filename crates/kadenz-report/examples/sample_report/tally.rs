//! The counts of a series, the summary they give, and the random numbers for its values.

use kadenz_record::histogram::SignedHistogram;
use kadenz_record::recorder::Counts;
use kadenz_record::run::model::Series;
use kadenz_report::summary::{IntervalPoint, SeriesSummary};

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
        self.histogram.record_n(value, times);
        self.counts.early += if value < 0 { times } else { 0 };
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

    /// Counts so many values at 1 kHz, in intervals of a second.
    pub(crate) fn record_at_1_khz(&mut self, values: u64, mut value_ns: impl FnMut(u64) -> f64) {
        for number in 0..values {
            if number % 1000 == 0 {
                self.interval(number as f64 / 1000.0, 1.0);
            }
            self.record(value_ns(number), 1);
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn summary(self, mut series: Series, duration_ns: u64) -> SeriesSummary {
        series.counts = self.counts;
        series.deadline_ns = self.deadline_ns;
        SeriesSummary {
            intervals: self.intervals,
            ..SeriesSummary::new(series, &self.histogram, Vec::new(), duration_ns)
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
