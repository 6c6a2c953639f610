//! How far a ratio between two cells would change if the matrix were measured again.
//!
//! The draws are a block bootstrap over the intervals of each log. The cells take turns in short rounds, so a
//! disturbance of the machine affects all of them alike; they are nevertheless drawn independently, which can only make
//! an interval wider.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{self, available_parallelism};

use schemars::JsonSchema;
use serde::Serialize;

use super::bootstrap::{draw, interval};
use crate::compare::MIN_BEYOND;
use crate::compare::interval::{self, Cells};
use crate::statistics::Percent;
use crate::statistics::random::Random;
use crate::summary::{SeriesSummary, Summary};

/// Confidence of every interval of a matrix.
pub(super) const CONFIDENCE: f64 = 0.95;
/// Seed of the random numbers: the same run gives the same intervals.
const SEED: u64 = 0x4B61_6465_6E7A;
/// Runs drawn for each interval, and pieces into which a log is divided: a matrix has 36 series.
const DRAWS: usize = 400;
const MAX_CELLS: usize = 200;
/// The percentiles of the drawn runs.
const PERCENTS: [Percent; 2] = [Percent::P99, Percent::P99_9];

/// A ratio of two figures.
#[derive(Serialize, JsonSchema)]
struct RatioOutput {
    /// The first divided by the second.
    #[schemars(extend("exclusiveMinimum" = 0))]
    ratio: f64,
    /// Lower end of its interval; `null` where the sample does not support an interval.
    low: Option<f64>,
    /// Upper end of its interval.
    high: Option<f64>,
    /// Whether the interval excludes 1.
    significant: Option<bool>,
    /// Whether a figure was below the clock's resolution and was replaced by that.
    at_resolution: bool,
}

impl From<Ratio> for RatioOutput {
    fn from(ratio: Ratio) -> Self {
        Self {
            ratio: ratio.ratio,
            low: ratio.interval.map(|(low, _)| low),
            high: ratio.interval.map(|(_, high)| high),
            significant: ratio.significant(),
            at_resolution: ratio.at_resolution,
        }
    }
}

/// A ratio of two figures, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(into = "RatioOutput")]
#[schemars(from = "RatioOutput")]
pub struct Ratio {
    /// The first divided by the second.
    pub ratio: f64,
    /// The interval that holds it at 95 % confidence; absent where the sample does not support one.
    pub interval: Option<(f64, f64)>,
    /// Whether a figure was below the resolution of the clock and was replaced by that.
    pub at_resolution: bool,
}

impl Ratio {
    /// Whether the interval excludes 1, so that the difference is beyond chance. Absent without an interval.
    #[must_use]
    pub fn significant(&self) -> Option<bool> {
        self.interval.map(|(low, high)| low > 1.0 || high < 1.0)
    }
}

/// A figure of a cell, with its value in each drawn run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BootstrapFigure {
    pub(super) value_ns: f64,
    /// Empty where the sample does not support an interval.
    pub(super) draws: Vec<f64>,
}

/// The figures of one series that have draws.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) p99: Option<BootstrapFigure>,
    pub(super) p99_9: Option<BootstrapFigure>,
}

/// The geometric mean of the ratios `with / without` of pairs of figures; absent without pairs. Where some pairs have
/// draws, those without are left out, so that the ratio and its interval describe the same pairs. A figure below
/// `floor_ns` counts as that: zero has no ratio.
pub(super) fn ratio(
    pairs: &[(&BootstrapFigure, &BootstrapFigure)],
    floor_ns: f64,
) -> Option<Ratio> {
    let drawn = |figure: &BootstrapFigure| !figure.draws.is_empty();
    let (with_draws, others): (Vec<_>, Vec<_>) = pairs
        .iter()
        .partition(|(without, with)| drawn(without) && drawn(with));
    let used: Vec<(&BootstrapFigure, &BootstrapFigure)> = if with_draws.is_empty() {
        others
    } else {
        with_draws
    };
    if used.is_empty() {
        return None;
    }
    let number = used.len() as f64;
    let logarithm = |without: f64, with: f64| (with.max(floor_ns) / without.max(floor_ns)).ln();
    let mean = |at: &dyn Fn(&BootstrapFigure) -> f64| {
        let logs = used.iter().map(|(a, b)| logarithm(at(a), at(b)));
        (logs.sum::<f64>() / number).exp()
    };
    let figures = || used.iter().flat_map(|(a, b)| [a, b]);
    let draws = figures().map(|f| f.draws.len()).min().unwrap_or(0);
    Some(Ratio {
        ratio: mean(&|figure| figure.value_ns),
        interval: interval(
            (0..draws)
                .map(|n| mean(&|figure| figure.draws[n]))
                .collect(),
            CONFIDENCE,
        ),
        at_resolution: figures().any(|figure| figure.value_ns < floor_ns),
    })
}

impl Figures {
    /// The figures of a series with its log divided into `cells`.
    pub(super) fn new(series: &SeriesSummary, cells: &Cells, stream: u64) -> Self {
        let random = Random::new(SEED, stream);
        let mut draws = draw(cells, &PERCENTS, DRAWS, random).into_iter();
        let mut figure = |percent: Percent| {
            let draws = draws.next().unwrap_or_default();
            let carried = percent.beyond(series.count) >= MIN_BEYOND;
            series.percentile(percent).map(|value| BootstrapFigure {
                value_ns: value as f64,
                draws: if carried { draws } else { Vec::new() },
            })
        };
        Self {
            p99: figure(PERCENTS[0]),
            p99_9: figure(PERCENTS[1]),
        }
    }
}

/// The figures of the series at these places of a summary, computed on all CPUs of this machine. Their
/// logs are read once more, from the run's folder; where that fails there are no draws.
pub(super) fn figures(summary: &Summary, places: &[usize]) -> Vec<Figures> {
    let one = |place: usize| {
        let series = &summary.series[place];
        let name = &series.series.name;
        // The summary warns of a log that cannot be read.
        let cells = interval::read_cells(&summary.folder, name, series.intervals.len(), MAX_CELLS);
        Figures::new(series, &cells.unwrap_or_default(), place as u64)
    };
    let threads = available_parallelism().map_or(1, NonZero::get).min(8);
    let share = places.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let reading: Vec<_> = places
            .chunks(share)
            .map(|chunk| scope.spawn(|| chunk.iter().map(|&p| one(p)).collect::<Vec<_>>()))
            .collect();
        let parts = reading.into_iter().map(|part| part.join());
        parts
            .flat_map(|part| part.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value_ns: f64, draws: &[f64]) -> BootstrapFigure {
        BootstrapFigure {
            value_ns,
            draws: draws.to_vec(),
        }
    }

    #[test]
    fn the_mean_of_ratios_is_geometric() {
        let (one, two, eight) = (figure(1e4, &[]), figure(2e4, &[]), figure(8e4, &[]));
        let found = ratio(&[(&one, &two), (&one, &eight)], 1.0).unwrap();
        assert!((found.ratio - 4.0).abs() < 1e-12);
        assert_eq!((found.interval, found.significant()), (None, None));
        assert_eq!(ratio(&[], 1.0), None);
    }

    #[test]
    fn pairs_without_draws_step_aside_for_those_with() {
        let drawn = figure(1e4, &[1e4, 1.1e4]);
        let half = figure(5e3, &[5e3, 5.5e3]);
        let undrawn = figure(1e9, &[]);
        let found = ratio(&[(&drawn, &half), (&drawn, &undrawn)], 1.0).unwrap();
        assert!((found.ratio - 0.5).abs() < 1e-12);
        assert_eq!(found.significant(), Some(true));
    }

    #[test]
    fn nothing_and_less_than_nothing_count_as_the_resolution_of_the_clock() {
        let (late, early) = (figure(1e4, &[1e4, 1e4]), figure(-3e4, &[-3e4, 0.0]));
        let found = ratio(&[(&late, &early)], 100.0).unwrap();
        assert!(
            (found.ratio - 0.01).abs() < 1e-12 && found.at_resolution,
            "{found:?}"
        );
        assert_eq!(found.interval, Some((found.ratio, found.ratio)));
        let none = ratio(&[(&early, &early)], 100.0).unwrap();
        assert!((none.ratio - 1.0).abs() < 1e-12);
    }
}
