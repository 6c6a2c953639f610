//! Two or more runs side by side: ratios with confidence, what differs between the machines, and
//! expressions that decide an exit code.

pub(crate) mod bootstrap;
pub(crate) mod cells;
mod differences;
pub mod fail_if;
mod metric;
pub mod network;
pub(crate) mod random;

pub use differences::Difference;
pub use metric::{Dimension, Metric};
pub use network::NetworkRow;

use std::fmt;

use bootstrap::{Draws, draw, interval};
use random::Random;

use crate::numbers;
use crate::statistics::Percent;
use crate::summary::{SeriesSummary, Summary};

/// With fewer samples than this beyond it, the bootstrap of a percentile shows hardly more than
/// which extremes happened to be drawn, so no interval is given.
pub(crate) const FEWEST_BEYOND: u64 = 10;

/// How to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareOptions {
    /// Runs drawn for each interval.
    pub draws: usize,
    /// What the intervals hold, 0 to 1.
    pub confidence: f64,
    /// Where the random numbers begin: the same seed gives the same intervals.
    pub seed: u64,
    /// Percentiles to compare besides those of the ladder.
    pub percentiles: Vec<Percent>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            draws: 1000,
            confidence: 0.95,
            seed: 0x4B61_6465_6E7A,
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
    /// What differs between the runs besides the figures.
    pub differences: Vec<Difference>,
    /// What the intervals of the ratios hold, 0 to 1.
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
    /// The figures that both can tell, in the order of [`Metric`].
    pub figures: Vec<FigureComparison>,
}

/// One figure in baseline and candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureComparison {
    /// Which.
    pub metric: Metric,
    /// The baseline's, in nanoseconds, as a number or as a share.
    pub baseline: f64,
    /// The candidate's.
    pub candidate: f64,
    /// Candidate by baseline; absent where the baseline is not above zero.
    pub ratio: Option<f64>,
    /// Interval of the ratio; absent where the sample cannot carry it.
    pub interval: Option<(f64, f64)>,
}

impl FigureComparison {
    /// Whether the interval leaves out 1, so that chance alone hardly explains the difference.
    /// Absent without an interval.
    #[must_use]
    pub fn significant(&self) -> Option<bool> {
        self.interval.map(|(low, high)| low > 1.0 || high < 1.0)
    }
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
            Some(ratio) => f.write_str(&show_ratio(ratio, self.interval)),
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

impl Comparison {
    /// Compares runs; the first is the baseline. The interval logs are read once more, for the
    /// bootstrap, from the folders that the summaries name.
    ///
    /// Series are matched by name; where every run has but one, by that.
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
        for (place, series) in baseline.series.iter().enumerate() {
            let partners: Vec<(usize, usize)> = others
                .iter()
                .enumerate()
                .filter_map(|(run, other)| Some((run + 1, partner(series, baseline, other)?)))
                .collect();
            comparison.add(runs, place, &partners, options);
        }
        comparison.note_alone(runs);
        comparison
    }

    fn add(
        &mut self,
        runs: &[Summary],
        place: usize,
        partners: &[(usize, usize)],
        options: &CompareOptions,
    ) {
        let series = &runs[0].series[place];
        let mut percents: Vec<Percent> = Percent::LADDER.to_vec();
        percents.extend(&options.percentiles);
        percents.sort_unstable();
        percents.dedup();
        let unread = &mut self.unread;
        let mut draws = |run: usize, place: usize| {
            let series = &runs[run].series[place];
            let cells = cells::read(
                &runs[run].folder,
                &series.series.name,
                series.intervals.len(),
                cells::MOST_CELLS,
            );
            let cells = cells.unwrap_or_else(|error| {
                unread.push(error);
                Vec::new()
            });
            let stream = (run as u64) << 32 | place as u64;
            draw(
                &cells,
                &percents,
                options.draws,
                Random::new(options.seed, stream),
            )
        };
        let ours = if partners.is_empty() {
            Draws::default()
        } else {
            draws(0, place)
        };
        let candidates = partners.iter().map(|&(run, partner)| {
            let theirs = draws(run, partner);
            let other = &runs[run].series[partner];
            let figures = figures(series, other, &percents, &ours, &theirs, options.confidence);
            Candidate {
                run,
                series: partner,
                figures,
            }
        });
        let candidates: Vec<Candidate> = candidates.collect();
        let name = series.series.name.clone();
        self.series.push(SeriesComparison {
            name,
            baseline: place,
            candidates,
        });
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

/// The figures that both series can tell, with intervals from their draws.
fn figures(
    baseline: &SeriesSummary,
    candidate: &SeriesSummary,
    percents: &[Percent],
    ours: &Draws,
    theirs: &Draws,
    confidence: f64,
) -> Vec<FigureComparison> {
    let mut metrics = vec![
        Metric::Min,
        Metric::Mean,
        Metric::Stddev,
        Metric::Max,
        Metric::Misses,
        Metric::MissRate,
    ];
    metrics.extend(percents.iter().map(|&percent| Metric::Percentile(percent)));
    metrics.sort_unstable();
    let compared = metrics.into_iter().filter_map(|metric| {
        let figure = (metric.of(baseline).ok()?, metric.of(candidate).ok()?);
        let drawn = match metric {
            Metric::Mean => Some((&ours.means, &theirs.means)),
            Metric::Percentile(percent) => {
                let carried =
                    |series: &SeriesSummary| percent.beyond(series.count) >= FEWEST_BEYOND;
                let place = percents.binary_search(&percent).ok();
                place
                    .filter(|_| carried(baseline) && carried(candidate))
                    .map(|place| (&ours.percentiles[place], &theirs.percentiles[place]))
            }
            _ => None,
        };
        Some(FigureComparison {
            metric,
            baseline: figure.0,
            candidate: figure.1,
            ratio: (figure.0 > 0.0).then(|| figure.1 / figure.0),
            interval: drawn.and_then(|(ours, theirs)| ratios(ours, theirs, confidence)),
        })
    });
    compared.collect()
}

/// The interval of the ratios of draws; absent where a baseline was drawn that is not above zero.
fn ratios(ours: &[f64], theirs: &[f64], confidence: f64) -> Option<(f64, f64)> {
    if ours.len() != theirs.len() || ours.iter().any(|&ns| ns <= 0.0) {
        return None;
    }
    interval(
        ours.iter()
            .zip(theirs)
            .map(|(ours, theirs)| theirs / ours)
            .collect(),
        confidence,
    )
}

#[cfg(test)]
mod tests;
