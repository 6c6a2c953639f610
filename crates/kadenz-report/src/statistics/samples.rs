//! What only raw samples tell, taken from a stream in constant memory.

use kadenz_record::histogram::SignedHistogram;
use kadenz_record::run::model::{Kind, Series};
use kadenz_record::samples::Sample;

use super::clusters::early_clusters;
use super::distribution::{distribution, percentiles};
use super::{Extremes, FrequencyFacts, JitterFacts, Moments, SampleFacts};

/// The average frequency counts as kept within this many parts per million ...
const KEPT_PPM: f64 = 100.0;
/// ... or when no more than one sample came too many or too few.
const KEPT_SAMPLES: f64 = 1.0;

/// Reads the samples of one series as they stream by, and keeps what a report needs of them: a few
/// hundred kilobytes, however many samples there are.
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
    moments: Moments,
    extremes: Extremes,
    values: SignedHistogram,
    jitter: JitterOf,
    expected_interval_ns: Option<u64>,
    beat: bool,
    deadline_ns: Option<u64>,
    misses: u64,
    miss_run: u64,
    longest_miss_run: u64,
    last_value: Option<i64>,
    scratch: Vec<i64>,
}

/// Where the jitter of a series comes from.
#[derive(Clone, Debug)]
enum JitterOf {
    /// This kind of series has none.
    None,
    /// The values are jitter already.
    Values,
    /// From one value to the next: on a beat intended times are equally far apart, so lateness
    /// differs by as much as the interval does; for a latency this is its delay variation
    /// (RFC 3393).
    Differences(Box<Differences>),
}

#[derive(Clone, Debug, Default)]
struct Differences {
    moments: Moments,
    histogram: SignedHistogram,
    range: Option<(i64, i64)>,
}

impl SampleMeter {
    /// Reads samples of `series`, whose kind tells what their jitter is.
    #[must_use]
    pub fn new(series: &Series) -> Self {
        let jitter = match series.kind {
            Kind::Latency => JitterOf::Differences(Box::default()),
            Kind::Lateness if series.expected_interval_ns.is_some() => {
                JitterOf::Differences(Box::default())
            }
            Kind::Lateness => JitterOf::None,
            Kind::Jitter => JitterOf::Values,
            Kind::Hiccup | Kind::Floor => JitterOf::None,
        };
        Self {
            next_index: 0,
            moments: Moments::default(),
            extremes: Extremes::default(),
            values: SignedHistogram::new(),
            jitter,
            expected_interval_ns: series.expected_interval_ns,
            beat: matches!(series.kind, Kind::Lateness | Kind::Jitter),
            deadline_ns: series.deadline_ns,
            misses: 0,
            miss_run: 0,
            longest_miss_run: 0,
            last_value: None,
            scratch: Vec::new(),
        }
    }

    /// Takes values that follow each other without a gap. Lateness is taken to be on a beat.
    pub fn take_values(&mut self, values: &[i64]) {
        self.moments.extend(values);
        self.extremes.extend(self.next_index, values);
        values.iter().for_each(|&value| self.values.record(value));
        self.count_misses(values);
        if let JitterOf::Differences(differences) = &mut self.jitter {
            let before = self.last_value.into_iter().chain(values.iter().copied());
            let after = values.iter().skip(usize::from(self.last_value.is_none()));
            self.scratch.clear();
            self.scratch.extend(
                after
                    .zip(before)
                    .map(|(after, before)| after.wrapping_sub(before)),
            );
            differences.extend(&self.scratch);
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
            if self.beat && !self.keeps_beat(run) {
                self.beat = false;
                self.jitter = JitterOf::None;
            }
            values.clear();
            values.extend(run.iter().map(|sample| sample.value_ns));
            self.take_values(&values);
        }
    }

    /// Whether intended times are one expected interval apart, to the nanosecond that a rate which
    /// does not divide a second needs. Jitter needs no beat; it was taken against one.
    fn keeps_beat(&self, run: &[Sample]) -> bool {
        let JitterOf::Differences(_) = self.jitter else {
            return true;
        };
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
    pub fn histogram(&self) -> &SignedHistogram {
        &self.values
    }

    /// How many values were above the deadline, and how many at most in a row.
    #[must_use]
    pub fn misses(&self) -> (u64, u64) {
        (self.misses, self.longest_miss_run)
    }

    /// What the samples told.
    #[must_use]
    pub fn facts(&self) -> SampleFacts {
        SampleFacts {
            count: self.moments.count(),
            mean_ns: self.moments.mean().unwrap_or(0.0),
            stddev_ns: self.moments.stddev().unwrap_or(0.0),
            highest: self.extremes.highest().to_vec(),
            lowest: self.extremes.lowest().to_vec(),
            jitter: self.jitter_facts(),
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

    fn jitter_facts(&self) -> Option<JitterFacts> {
        let (moments, histogram, (min_ns, max_ns)) = match &self.jitter {
            JitterOf::None => return None,
            JitterOf::Values => (&self.moments, &self.values, self.range()?),
            JitterOf::Differences(d) => (&d.moments, &d.histogram, d.range?),
        };
        let distribution = distribution(histogram);
        let mean_ns = moments.mean()?;
        let interval = self.expected_interval_ns.filter(|_| self.beat);
        Some(JitterFacts {
            count: moments.count(),
            min_ns,
            max_ns,
            mean_ns,
            stddev_ns: moments.stddev()?,
            percentiles: percentiles(&distribution, max_ns),
            early_clusters: early_clusters(&distribution, self.expected_interval_ns),
            frequency: interval.map(|ns| frequency(ns, mean_ns, moments.count())),
            distribution,
        })
    }

    fn range(&self) -> Option<(i64, i64)> {
        let lowest = self.extremes.lowest().first()?;
        let highest = self.extremes.highest().first()?;
        Some((lowest.value_ns, highest.value_ns))
    }
}

impl Differences {
    fn extend(&mut self, values: &[i64]) {
        self.moments.extend(values);
        let (mut low, mut high) = self.range.unwrap_or((i64::MAX, i64::MIN));
        for &value in values {
            self.histogram.record(value);
            low = low.min(value);
            high = high.max(value);
        }
        self.range = (self.moments.count() > 0).then_some((low, high));
    }
}

/// The average frequency: jitter sums up to what was lost or gained over all intervals.
fn frequency(expected_interval_ns: u64, mean_jitter_ns: f64, intervals: u64) -> FrequencyFacts {
    let expected = expected_interval_ns as f64;
    let mean_interval_ns = expected + mean_jitter_ns;
    let error_ppm = 1e6 * (expected / mean_interval_ns - 1.0);
    let samples_off = mean_jitter_ns.abs() * intervals as f64 / expected;
    FrequencyFacts {
        expected_interval_ns,
        mean_interval_ns,
        error_ppm,
        kept: samples_off <= KEPT_SAMPLES || error_ppm.abs() <= KEPT_PPM,
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
        assert_eq!(facts.lowest[0].index, 5);
        assert_eq!(meter.misses(), (2, 2));
    }

    #[test]
    fn a_timer_that_drifts_does_not_keep_its_frequency() {
        let mut meter = SampleMeter::new(&series(Kind::Lateness));
        let drifting: Vec<i64> = (0..10_000).map(|beat| beat * 60_000).collect();
        meter.take_values(&drifting);
        let frequency = meter.facts().jitter.unwrap().frequency.unwrap();
        assert!(!frequency.kept);
        assert!(
            (frequency.error_ppm + 56_604.0).abs() < 1.0,
            "{frequency:?}"
        );
        assert!((frequency.mean_interval_ns - 1_060_000.0).abs() < 1e-6);
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
