//! Two or more runs side by side: ratios with confidence, differences between the machines, and
//! expressions that decide an exit code.

mod differences;
pub mod fail_if;
pub(crate) mod interval;
mod metric;
pub mod network;
mod words;

pub use differences::Difference;
pub use interval::NoInterval;
pub use metric::{Dimension, Metric};
pub use network::NetworkRow;

use std::fmt;

use interval::{Cells, Estimate};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::numbers;
use crate::statistics::Percent;
use crate::summary::{SeriesSummary, Summary};

/// A percentile with fewer samples than this beyond it has no interval: a handful of extremes does not give its error.
pub(crate) const MIN_BEYOND: u64 = 10;

/// Options of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareOptions {
    /// Confidence of the intervals, 0 to 1.
    pub confidence: f64,
    /// Percentiles to compare besides [`Percent::REPORTED`].
    pub percentiles: Vec<Percent>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            confidence: 0.95,
            percentiles: Vec::new(),
        }
    }
}

/// Runs side by side. The first is the baseline, the others are candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// A name a run: its folder, short where that suffices.
    pub runs: Vec<String>,
    /// Series that the baseline shares with at least one candidate.
    pub series: Vec<SeriesComparison>,
    /// Series that stand alone, in words.
    pub alone: Vec<String>,
    /// Series without confidence intervals because their logs cannot be read, in words.
    pub unread: Vec<String>,
    /// Round trips of the runs that sent packets, the baseline's first; empty where it sent none.
    pub network: Vec<NetworkRow>,
    /// Differences between the runs besides the figures.
    pub differences: Vec<Difference>,
    /// Confidence of the intervals of the ratios, 0 to 1.
    pub confidence: f64,
}

/// A series in the baseline and in the candidates that have it.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesComparison {
    /// Its name in the baseline.
    pub name: String,
    /// Its place in the baseline's summary.
    pub baseline: usize,
    /// The candidates that have it.
    pub candidates: Vec<Candidate>,
}

/// A series of one candidate against the baseline's.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Which run; 1 is the first candidate.
    pub run: usize,
    /// The place of the series in that run's summary.
    pub series: usize,
    /// The figures that both have, in the order of [`Metric`].
    pub figures: Vec<FigureComparison>,
}

impl Candidate {
    /// One of its figures.
    pub(crate) fn figure(&self, metric: Metric) -> Option<&FigureComparison> {
        self.figures.iter().find(|figure| figure.metric == metric)
    }
}

/// One figure in baseline and candidate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FigureComparison {
    /// The figure that is compared.
    #[serde(rename = "figure", serialize_with = "as_text")]
    #[schemars(
        with = "String",
        regex(pattern = r"^(p[0-9]+(\.[0-9]+)?|min|mean|stddev|max|misses|miss-rate)$")
    )]
    pub metric: Metric,
    /// The baseline's: times in nanoseconds, `misses` as a number, `miss-rate` as a share.
    pub baseline: f64,
    /// The candidate's, in the same unit.
    pub candidate: f64,
    /// Candidate by baseline; `None` where the baseline is not above zero.
    pub ratio: Option<f64>,
    /// Interval of the ratio, for this figure alone, or why there is none.
    #[serde(flatten, serialize_with = "bounds")]
    #[schemars(with = "Bounds")]
    pub interval: Result<(f64, f64), NoInterval>,
    /// Whether chance hardly explains the difference: whether 1 lies outside of an interval that is wide enough that,
    /// with this confidence, chance marks no figure of the comparison (C. E. Bonferroni). `None` without an interval,
    /// or where the runs are too short for one that is so wide.
    pub significant: Option<bool>,
}

/// An interval in JSON.
#[derive(Serialize, JsonSchema)]
struct Bounds {
    /// Lower end of the ratio's interval; `None` where the sample does not support one.
    low: Option<f64>,
    /// Upper end of the ratio's interval.
    high: Option<f64>,
}

fn bounds<S: Serializer>(
    interval: &Result<(f64, f64), NoInterval>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let (low, high) = interval.ok().unzip();
    Bounds { low, high }.serialize(to)
}

fn as_text<S: Serializer>(metric: &Metric, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(metric)
}

/// "p99.9 1.32x (95 %: 1.21 to 1.45)".
impl fmt::Display for FigureComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.metric)?;
        match self.ratio {
            None => write!(
                f,
                "{} against {}",
                self.metric.show(self.candidate),
                self.metric.show(self.baseline)
            ),
            Some(ratio) => f.write_str(&show_ratio(ratio, self.interval.ok())),
        }
    }
}

/// "1.32x (95 %: 1.21 to 1.45)", "1.32x" without an interval.
fn show_ratio(ratio: f64, interval: Option<(f64, f64)>) -> String {
    let ratio = times(ratio);
    match interval {
        Some((low, high)) => format!("{ratio}x (95 %: {} to {})", times(low), times(high)),
        None => format!("{ratio}x"),
    }
}

/// A ratio with two digits after the point, or three digits in all.
pub(crate) fn times(ratio: f64) -> String {
    if ratio < 9.995 {
        format!("{ratio:.2}")
    } else {
        numbers::three_digits(ratio)
    }
}

/// A figure of a candidate that differs from the baseline's beyond chance. Displays as a sentence:
/// "lateness of after is 12 % slower at p99.9 (95 %: 8.0 to 15 %)".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change<'a> {
    /// Name of the series.
    pub series: &'a str,
    /// The candidate, by its name in [`Comparison::runs`].
    pub run: &'a str,
    /// The figure in both runs.
    pub figure: &'a FigureComparison,
    /// Confidence of the interval of the ratio, 0 to 1.
    confidence: f64,
}

impl Comparison {
    /// Compares runs; the first is the baseline. The interval logs are read once more, for
    /// the intervals of ratios, from the folders that the summaries name.
    ///
    /// Series are matched by name; where every run has a single series, these are matched.
    #[must_use]
    pub fn new(runs: &[Summary], options: &CompareOptions) -> Self {
        let names = differences::names(runs);
        let mut comparison = Self {
            network: network::rows(runs),
            differences: differences::of(runs, &names),
            runs: names,
            series: Vec::new(),
            alone: Vec::new(),
            unread: Vec::new(),
            confidence: options.confidence,
        };
        let Some((baseline, others)) = runs.split_first() else {
            return comparison;
        };
        let mut percents: Vec<Percent> = Percent::REPORTED.to_vec();
        percents.extend(&options.percentiles);
        let metrics = metrics(percents);
        let matched: Vec<Matched> = (0..baseline.series.len())
            .map(|place| Matched::new(runs, others, place, &metrics))
            .collect();
        let figures = matched.iter().map(Matched::carried).sum::<usize>().max(1);
        let levels = ConfidenceLevels {
            interval: options.confidence,
            all: 1.0 - (1.0 - options.confidence) / figures as f64,
        };
        for side in matched
            .iter()
            .flat_map(|m| m.theirs.iter().chain([&m.ours]))
        {
            comparison.unread.extend(side.unread.clone());
        }
        let compared = matched
            .iter()
            .map(|matched| matched.compare(&metrics, levels));
        comparison.series = compared.collect();
        comparison.note_alone(runs);
        comparison
    }

    /// The figures that differ beyond chance (see [`FigureComparison::significant`]), series by series.
    /// Each displays as one sentence.
    pub fn significant(&self) -> impl Iterator<Item = Change<'_>> {
        let candidates = self.series.iter().flat_map(|series| {
            let candidates = series.candidates.iter();
            candidates.map(move |candidate| (series, candidate))
        });
        candidates.flat_map(move |(series, candidate)| {
            let figures = candidate.figures.iter();
            let changed = figures.filter(|figure| figure.significant == Some(true));
            changed.map(move |figure| Change {
                series: &series.name,
                run: self.runs.get(candidate.run).map_or("", String::as_str),
                figure,
                confidence: self.confidence,
            })
        })
    }

    /// Names the series of either side that have no partner.
    fn note_alone(&mut self, runs: &[Summary]) {
        let lonely: Vec<String> = self
            .series
            .iter()
            .filter(|series| series.candidates.is_empty())
            .map(|series| format!("{} is only in {}", series.name, self.runs[0]))
            .collect();
        if runs.len() > 1 {
            self.alone.extend(lonely);
        }
        for (run, summary) in runs.iter().enumerate().skip(1) {
            for (place, series) in summary.series.iter().enumerate() {
                let mut candidates = self.series.iter().flat_map(|s| &s.candidates);
                if !candidates.any(|c| c.run == run && c.series == place) {
                    self.alone.push(format!(
                        "{} is only in {}",
                        series.series.name, self.runs[run]
                    ));
                }
            }
        }
        self.series.retain(|series| !series.candidates.is_empty());
    }
}

/// The place of the series in `other` that is to be compared with `series` of `baseline`.
fn partner(series: &SeriesSummary, baseline: &Summary, other: &Summary) -> Option<usize> {
    let same_name = |candidate: &SeriesSummary| candidate.series.name == series.series.name;
    let only = || (baseline.series.len() == 1 && other.series.len() == 1).then_some(0);
    other.series.iter().position(same_name).or_else(only)
}

/// Every metric that is compared, in order.
fn metrics(percents: Vec<Percent>) -> Vec<Metric> {
    let mut metrics = vec![
        Metric::Min,
        Metric::Mean,
        Metric::Stddev,
        Metric::Max,
        Metric::Misses,
        Metric::MissRate,
    ];
    metrics.extend(percents.into_iter().map(Metric::Percentile));
    metrics.sort_unstable();
    metrics.dedup();
    metrics
}

/// Confidence of an interval: for one figure, and for all figures together.
#[derive(Clone, Copy)]
struct ConfidenceLevels {
    interval: f64,
    all: f64,
}

/// A series of one run, with the data for each metric's error.
struct Side<'a> {
    run: usize,
    place: usize,
    series: &'a SeriesSummary,
    estimates: Vec<Result<Estimate<'a>, NoInterval>>,
    /// Why its log could not be read.
    unread: Option<String>,
}

impl<'a> Side<'a> {
    fn new(runs: &'a [Summary], run: usize, place: usize, metrics: &[Metric]) -> Self {
        let series = &runs[run].series[place];
        let name = &series.series.name;
        let intervals = series.intervals.len();
        // A series that stands alone has no figures that need the log; the summary has warned of a log without
        // intervals.
        let (cells, unread) = if metrics.is_empty() || intervals == 0 {
            (Cells::new(), None)
        } else {
            match interval::read_cells(&runs[run].folder, name, intervals, interval::MAX_CELLS) {
                Ok(cells) => (cells, None),
                Err(error) => (Cells::new(), Some(error)),
            }
        };
        let estimate = |&metric: &Metric| Estimate::new(series, &cells, metric);
        Self {
            run,
            place,
            series,
            estimates: metrics.iter().map(estimate).collect(),
            unread,
        }
    }
}

/// A series of the baseline and its partners.
struct Matched<'a> {
    ours: Side<'a>,
    theirs: Vec<Side<'a>>,
}

impl<'a> Matched<'a> {
    fn new(runs: &'a [Summary], others: &[Summary], place: usize, metrics: &[Metric]) -> Self {
        let baseline = &runs[0];
        let series = &baseline.series[place];
        let partners = others
            .iter()
            .enumerate()
            .filter_map(|(run, other)| Some((run + 1, partner(series, baseline, other)?)));
        let theirs: Vec<Side<'_>> = partners
            .map(|(run, partner)| Side::new(runs, run, partner, metrics))
            .collect();
        let metrics = if theirs.is_empty() { &[] } else { metrics };
        Self {
            ours: Side::new(runs, 0, place, metrics),
            theirs,
        }
    }

    /// How many ratios have an interval.
    fn carried(&self) -> usize {
        let both = |theirs: &Side<'_>| {
            let pairs = self.ours.estimates.iter().zip(&theirs.estimates);
            pairs.filter(|(a, b)| a.is_ok() && b.is_ok()).count()
        };
        self.theirs.iter().map(both).sum()
    }

    fn compare(&self, metrics: &[Metric], levels: ConfidenceLevels) -> SeriesComparison {
        let candidate = |theirs: &Side<'_>| {
            let estimates = self.ours.estimates.iter().zip(&theirs.estimates);
            let compared = metrics.iter().zip(estimates);
            Candidate {
                run: theirs.run,
                series: theirs.place,
                figures: compared
                    .filter_map(|(&metric, estimates)| {
                        self.figure(theirs, metric, estimates, levels)
                    })
                    .collect(),
            }
        };
        SeriesComparison {
            name: self.ours.series.series.name.clone(),
            baseline: self.ours.place,
            candidates: self.theirs.iter().map(candidate).collect(),
        }
    }

    /// A figure of both; absent where one of them lacks it.
    fn figure(
        &self,
        theirs: &Side<'_>,
        metric: Metric,
        (before, after): (
            &Result<Estimate<'_>, NoInterval>,
            &Result<Estimate<'_>, NoInterval>,
        ),
        levels: ConfidenceLevels,
    ) -> Option<FigureComparison> {
        let baseline = metric.of(self.ours.series).ok()?;
        let candidate = metric.of(theirs.series).ok()?;
        let within = |confidence| match (before, after) {
            (Ok(before), Ok(after)) => interval::ratio(before, after, confidence),
            (Err(reason), _) | (_, Err(reason)) => Err(*reason),
        };
        // Beyond a bound that the sample does not reach, nothing is known.
        let bounded = |(low, high): (f64, f64)| {
            let is_bounded = low > 0.0 && high.is_finite();
            is_bounded
                .then_some((low, high))
                .ok_or(NoInterval::FewBeyond)
        };
        let interval = within(levels.interval).and_then(bounded);
        let apart = |(low, high): (f64, f64)| low > 1.0 || high < 1.0;
        let significant = within(levels.all).and_then(|wide| match apart(wide) {
            true => Ok(true),
            false => bounded(wide).map(|_| false),
        });
        Some(FigureComparison {
            metric,
            baseline,
            candidate,
            ratio: (baseline > 0.0).then(|| candidate / baseline),
            interval,
            significant: interval.and(significant).ok(),
        })
    }
}

#[cfg(test)]
mod tests;
