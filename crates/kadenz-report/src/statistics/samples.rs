//! Figures that need raw samples, computed from a stream in constant memory.

use kadenz_record::histogram::SignedHistogram;
use kadenz_record::run::model::{Kind, Series};
use kadenz_record::samples::Sample;

use super::jitter::JitterMeter;
use super::moments::Tally;
use super::{Extreme, Extremes, Moments, SampleFacts};

/// How many of the first samples are kept separately.
const FIRST: usize = 2;

/// Reads the samples of one series as they stream by, and keeps the data that a report needs: a few hundred kilobytes,
/// however many samples there are.
///
/// ```
/// use kadenz_record::run::model::Series;
/// use kadenz_report::statistics::SampleMeter;
///
/// let series = Series { expected_interval_ns: Some(1_000_000), ..Series::default() };
/// let mut meter = SampleMeter::new(&series);
/// meter.take_values(&[50_000, 80_000, 40_000]);
/// let facts = meter.facts();
/// assert_eq!(facts.highest[0].value_ns, 80_000);
/// let jitter = facts.jitter.expect("lateness has jitter");
/// assert_eq!((jitter.min_ns, jitter.max_ns), (-40_000, 30_000));
/// assert!(jitter.frequency.expect("an interval is expected").kept);
/// ```
#[derive(Clone, Debug)]
pub struct SampleMeter {
    next_index: u64,
    first: Vec<Extreme>,
    moments: Moments,
    extremes: Extremes,
    values: Tally,
    jitter: Option<Box<JitterMeter>>,
    kind: Kind,
    expected_interval_ns: Option<u64>,
    deadline_ns: Option<u64>,
    misses: u64,
    miss_run: u64,
    longest_miss_run: u64,
    last_value: Option<i64>,
    scratch: Vec<i64>,
}

impl SampleMeter {
    /// Reads samples of `series`, whose kind determines the jitter: that of lateness on a beat is its difference from
    /// one sample to the next, because intended times are equally far apart; that of a latency is its delay variation
    /// (RFC 3393); jitter is its own; hiccups have none.
    #[must_use]
    pub fn new(series: &Series) -> Self {
        let has_jitter = match series.kind {
            Kind::Latency | Kind::Jitter => true,
            Kind::Lateness => series.expected_interval_ns.is_some(),
            Kind::Hiccup | Kind::Floor => false,
        };
        let jitter = || Box::new(JitterMeter::new(series.expected_interval_ns));
        Self {
            next_index: 0,
            first: Vec::new(),
            moments: Moments::default(),
            extremes: Extremes::default(),
            values: Tally::default(),
            jitter: has_jitter.then(jitter),
            kind: series.kind,
            expected_interval_ns: series.expected_interval_ns,
            deadline_ns: series.deadline_ns,
            misses: 0,
            miss_run: 0,
            longest_miss_run: 0,
            last_value: None,
            scratch: Vec::new(),
        }
    }

    /// Takes consecutive values without a gap. Lateness is assumed to be on a beat.
    pub fn take_values(&mut self, values: &[i64]) {
        let room = FIRST.saturating_sub(self.first.len());
        let first = (self.next_index..).zip(values.iter().take(room));
        self.first
            .extend(first.map(|(index, &value_ns)| Extreme { index, value_ns }));
        self.moments.extend(values);
        self.extremes.extend(self.next_index, values);
        self.values.extend(values);
        self.count_misses(values);
        if let Some(jitter) = &mut self.jitter {
            if self.kind == Kind::Jitter {
                jitter.extend(values);
            } else {
                let last = self.last_value.zip(values.first());
                self.scratch.clear();
                self.scratch
                    .extend(last.map(|(last, first)| first.wrapping_sub(last)));
                self.scratch
                    .extend(values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])));
                jitter.extend(&self.scratch);
            }
        }
        self.last_value = values.last().copied().or(self.last_value);
        self.next_index += values.len() as u64;
    }

    /// Takes samples, whose sequence numbers show where some were dropped: across such a gap there
    /// is no jitter. Lateness whose intended times are not one expected interval apart is on no
    /// beat (a one-shot timer, a relative sleep) and has no jitter at all.
    pub fn take_samples(&mut self, samples: &[Sample]) {
        let mut values = Vec::with_capacity(samples.len());
        for run in samples.chunk_by(|a, b| b.sequence == a.sequence.wrapping_add(1)) {
            if run[0].sequence != self.next_index {
                self.last_value = None;
                self.next_index = run[0].sequence;
            }
            if self.kind == Kind::Lateness && !self.keeps_beat(run) {
                self.jitter = None;
            }
            values.clear();
            values.extend(run.iter().map(|sample| sample.value_ns));
            self.take_values(&values);
        }
    }

    /// Whether intended times are one expected interval apart, within the nanosecond of rounding of a rate that does
    /// not divide a second.
    fn keeps_beat(&self, run: &[Sample]) -> bool {
        let expected = self
            .expected_interval_ns
            .and_then(|ns| i64::try_from(ns).ok());
        let apart = |pair: &[Sample]| pair[1].intended_ns.wrapping_sub(pair[0].intended_ns);
        expected.is_some_and(|expected| {
            run.windows(2)
                .all(|pair| apart(pair).abs_diff(expected) <= 1)
        })
    }

    /// The distribution of the values.
    #[must_use]
    pub fn histogram(&self) -> SignedHistogram {
        self.values.histogram()
    }

    /// How many values were taken.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.values.count()
    }

    /// How many values were above the deadline, and the most of them in a row.
    #[must_use]
    pub fn misses(&self) -> (u64, u64) {
        (self.misses, self.longest_miss_run)
    }

    /// The figures of the samples.
    #[must_use]
    pub fn facts(&self) -> SampleFacts {
        SampleFacts {
            count: self.moments.count(),
            mean_ns: self.moments.mean().unwrap_or(0.0),
            stddev_ns: self.moments.stddev().unwrap_or(0.0),
            first: self.first.clone(),
            highest: self.extremes.highest().to_vec(),
            lowest: self.extremes.lowest().to_vec(),
            jitter: self
                .jitter
                .as_ref()
                .and_then(|jitter| jitter.facts(self.beat_ns())),
        }
    }

    fn count_misses(&mut self, values: &[i64]) {
        let Some(deadline) = self.deadline_ns else {
            return;
        };
        let limit = i64::try_from(deadline).unwrap_or(i64::MAX);
        for &value in values {
            if value > limit {
                self.misses += 1;
                self.miss_run += 1;
                self.longest_miss_run = self.longest_miss_run.max(self.miss_run);
            } else {
                self.miss_run = 0;
            }
        }
    }

    /// The interval of the beat; a latency has none.
    fn beat_ns(&self) -> Option<u64> {
        self.expected_interval_ns
            .filter(|_| self.kind != Kind::Latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(kind: Kind) -> Series {
        Series {
            kind,
            expected_interval_ns: Some(1_000_000),
            deadline_ns: Some(100),
            ..Series::default()
        }
    }

    fn samples(pairs: &[(u64, i64)]) -> Vec<Sample> {
        let sample = |&(sequence, value_ns): &(u64, i64)| {
            let intended_ns = sequence as i64 * 1_000_000;
            Sample {
                sequence,
                intended_ns,
                actual_ns: intended_ns + value_ns,
                value_ns,
            }
        };
        pairs.iter().map(sample).collect()
    }

    #[test]
    fn chunks_change_nothing() {
        let values: Vec<i64> = (0..1000).map(|i| (i * 7919) % 1013 - 300).collect();
        let mut whole = SampleMeter::new(&series(Kind::Lateness));
        whole.take_values(&values);
        let mut parts = SampleMeter::new(&series(Kind::Lateness));
        parts.take_values(&[]);
        values.chunks(17).for_each(|chunk| parts.take_values(chunk));
        assert_eq!(whole.facts(), parts.facts());
        assert_eq!(whole.misses(), parts.misses());
    }

    #[test]
    fn across_a_gap_there_is_no_jitter() {
        let mut meter = SampleMeter::new(&series(Kind::Lateness));
        meter.take_samples(&samples(&[(5, 10), (6, 30), (9, 500)]));
        meter.take_samples(&samples(&[(10, 490)]));
        let facts = meter.facts();
        let jitter = facts.jitter.unwrap();
        assert_eq!((jitter.count, jitter.min_ns, jitter.max_ns), (2, -10, 20));
        assert_eq!(facts.highest[0].index, 9);
        let first = facts.first.iter().map(|it| (it.index, it.value_ns));
        assert_eq!(first.collect::<Vec<_>>(), [(5, 10), (6, 30)]);
        assert_eq!(facts.lowest[0].index, 5);
        assert_eq!(meter.misses(), (2, 2));
    }

    #[test]
    fn lateness_on_no_beat_has_no_jitter() {
        let mut one_shot = samples(&[(0, 10), (1, 30), (2, 20)]);
        one_shot[2].intended_ns += 5_000;
        let mut meter = SampleMeter::new(&series(Kind::Lateness));
        meter.take_samples(&one_shot);
        meter.take_values(&[10, 20]);
        assert_eq!((meter.facts().count, meter.facts().jitter), (5, None));
    }

    #[test]
    fn kinds_have_the_jitter_that_suits_them() {
        let facts = |kind| {
            let mut meter = SampleMeter::new(&series(kind));
            meter.take_values(&[5, -5, 5]);
            meter.facts().jitter
        };
        assert_eq!(facts(Kind::Hiccup), None);
        assert_eq!(facts(Kind::Floor), None);
        let of_values = facts(Kind::Jitter).unwrap();
        assert_eq!((of_values.count, of_values.min_ns), (3, -5));
        let of_latency = facts(Kind::Latency).unwrap();
        assert_eq!((of_latency.count, of_latency.min_ns), (2, -10));
        assert_eq!(of_latency.frequency, None);
    }

    #[test]
    fn nothing_has_no_jitter() {
        let facts = SampleMeter::new(&series(Kind::Lateness)).facts();
        assert_eq!((facts.count, facts.jitter), (0, None));
    }
}
