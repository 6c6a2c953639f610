//! A campaign's record of a run: figures, and the frequency of values of each size.

use crate::document::Finding;
use crate::statistics::Percent;
use crate::summary::{SeriesSummary, Summary};

/// One completed run of a campaign, with its figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CampaignRun {
    /// From 1, in the order in which they were measured.
    pub number: usize,
    /// The round that it belongs to, from 1.
    pub round: u32,
    /// The place of its combination, from 0.
    pub combination: usize,
    /// The relevant series: those with a deadline, or the first where none has one.
    pub series: Vec<CampaignSeries>,
}

/// The figures of a series of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CampaignSeries {
    /// The measured quantity, by which series of different runs are compared.
    pub value: String,
    /// How many values there are.
    pub count: u64,
    /// The median, where the sample can carry it.
    pub p50_ns: Option<i64>,
    /// The 99th percentile, where the sample can carry it.
    pub p99_ns: Option<i64>,
    /// The 99.9th percentile, where the sample can carry it.
    pub p99_9_ns: Option<i64>,
    /// The largest value, in nanoseconds.
    pub max_ns: Option<i64>,
    /// How many values were beyond the deadline, where there is one.
    pub misses: Option<u64>,
    /// Each measure that was not granted, in words.
    pub refused: Vec<String>,
    /// How many values are in each bin that has some, ascending; eight bins are as wide as a factor of two.
    pub(crate) bins: Vec<(u16, u64)>,
}

/// Bins in a factor of two.
const BINS_PER_OCTAVE: f64 = 8.0;

impl CampaignRun {
    /// Makes the record from a run's summary.
    #[must_use]
    pub fn of(number: usize, round: u32, combination: usize, summary: &Summary) -> Self {
        let judged: Vec<&SeriesSummary> = summary
            .series
            .iter()
            .filter(|it| it.verdict.is_some())
            .collect();
        let chosen = match judged.is_empty() {
            true => summary.series.iter().take(1).collect(),
            false => judged,
        };
        let value = |series: &SeriesSummary| {
            let value = series.series.value();
            let same = chosen.iter().filter(|it| it.series.value() == value);
            match same.count() {
                1 => value.to_owned(),
                _ => series.series.name.clone(),
            }
        };
        let series = chosen.iter().map(|it| CampaignSeries::of(value(it), it));
        Self {
            number,
            round,
            combination,
            series: series.collect(),
        }
    }
}

impl CampaignRun {
    /// Its series of this value.
    pub(crate) fn of_value(&self, value: &str) -> Option<&CampaignSeries> {
        self.series.iter().find(|it| it.value == value)
    }
}

impl CampaignSeries {
    fn of(value: String, series: &SeriesSummary) -> Self {
        let mut bins: Vec<(u16, u64)> = Vec::new();
        for bucket in &series.distribution {
            let bin = bin_of(bucket.high_ns);
            match bins.last_mut() {
                Some((last, count)) if *last == bin => *count = count.saturating_add(bucket.count),
                _ => bins.push((bin, bucket.count)),
            }
        }
        let refused = series.series.tuning.iter().filter(|it| !it.ok);
        let refused = refused.filter_map(Finding::of_measure);
        Self {
            value,
            count: series.count,
            p50_ns: series.percentile(Percent::P50),
            p99_ns: series.percentile(Percent::P99),
            p99_9_ns: series.percentile(Percent::P99_9),
            max_ns: series.max_ns,
            misses: series.verdict.map(|it| it.misses),
            refused: refused.map(|it| it.title).collect(),
            bins,
        }
    }
}

/// The bin of a value; early ones are in the first.
fn bin_of(ns: i64) -> u16 {
    let bin = (ns.max(1) as f64).log2() * BINS_PER_OCTAVE;
    bin as u16
}

/// Where a bin begins, in nanoseconds.
pub(crate) fn bin_edge_ns(bin: u16) -> f64 {
    (f64::from(bin) / BINS_PER_OCTAVE).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::SignedBucket;

    #[test]
    fn every_value_is_in_the_bin_that_holds_it() {
        for ns in [1, 2, 3, 1000, 1_048_576, i64::MAX] {
            let bin = bin_of(ns);
            let (low, high) = (bin_edge_ns(bin), bin_edge_ns(bin + 1));
            let ns = ns as f64;
            assert!(low <= ns * 1.000_001 && ns <= high, "{low} {ns} {high}");
        }
        assert_eq!((bin_of(-5), bin_of(0)), (0, 0));
    }

    #[test]
    fn neighbours_share_a_bin_and_no_value_is_lost() {
        let bucket = |ns, count| SignedBucket {
            low_ns: ns,
            high_ns: ns,
            count,
        };
        let series = SeriesSummary {
            distribution: vec![
                bucket(-9, 1),
                bucket(1000, 2),
                bucket(1001, 3),
                bucket(9000, 4),
            ],
            ..SeriesSummary::default()
        };
        let kept = CampaignSeries::of("lateness".to_owned(), &series);
        let counts: Vec<u64> = kept.bins.iter().map(|it| it.1).collect();
        assert_eq!(counts, [1, 5, 4]);
    }
}
