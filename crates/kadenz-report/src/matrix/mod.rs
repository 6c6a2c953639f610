//! A matrix of real-time measures: the effect of each on this machine.
//!
//! `kadenz tune` measures the same beat with combinations of five measures (P priority, M memory locked, C CPU
//! shielded, S spinning sleep, I idle states held off by PM QoS), without load and under heavy load, as \[Yoon2009\] did
//! with the first four for a humanoid robot ([`yoon2009`]). This module makes of the run a table like theirs, an answer
//! in words, and the basis of the answer.
//!
//! A series of the run is named after its cell: `heavy-PMC` is the lateness under heavy load with priority, locked
//! memory and a shielded CPU, `heavy-PMC-jitter` the control period less the requested interval.

mod beside;
mod bootstrap;
mod cell;
mod cheapest;
mod contribution;
pub(crate) mod document;
pub(crate) mod layout;
mod period;
mod permanent;
mod ranking;
mod ratio;
mod recommend;
mod words;
pub mod yoon2009;

use kadenz_record::run::model::Run;
use kadenz_record::run::tune::Tune;

pub use beside::granted;
pub(crate) use cell::combinations;
pub use cell::{Cell, Lateness};
pub use cheapest::{Cheapest, DeadlinesKept, NOTHING_NEEDED};
pub use contribution::{Contribution, EffectFigure};
pub use document::{beside_yoon2009, document};
pub use kadenz_record::run::matrix::{Combination, Load, Measure, NoCombination};
pub use kadenz_record::run::tune::EXPERIMENT;
pub use period::{PeriodRow, Periods};
pub use permanent::Permanent;
pub use ranking::{PublishedPair, Ranked, Ranking, Reproduced};
pub use ratio::Ratio;
pub use recommend::{Recommendation, RecommendationStanding};

use schemars::JsonSchema;
use serde::Serialize;

use crate::document::Version;
use crate::statistics::Percent;
use crate::summary::{SeriesSummary, Summary};
use contribution::Drawn;
use permanent::Means;
use ratio::{CONFIDENCE, Figures, figures};
use recommend::Question;

/// The result of `kadenz tune`: cells are combinations of P priority, M memory locked, C CPU shielded, S spinning sleep
/// and I idle states held off under a load. Times are in nanoseconds. Within a version fields are only added, and a
/// field without a value is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Matrix {
    /// Version of the form as JSON.
    version: Version<1>,
    /// The interval of the ideal signal.
    #[serde(rename = "expected_interval_ns")]
    pub interval_ns: Option<u64>,
    /// A lateness above it is a miss.
    pub deadline_ns: Option<u64>,
    /// The share of wake-ups that is to keep the deadline, as a percentage.
    #[serde(rename = "claim_percent")]
    #[schemars(with = "f64", extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 100))]
    pub claim: Percent,
    /// Samples without a miss that are needed under each load to claim that share at 95 % confidence.
    pub samples_needed: u64,
    /// Confidence of the interval of every ratio.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub confidence: f64,
    /// The loads with samples.
    pub loads: Vec<Load>,
    /// The requested loads without samples.
    pub missing_loads: Vec<Load>,
    /// What the matrix recommends, in words and as commands.
    pub recommendation: Recommendation,
    /// The cells, without load first.
    pub cells: Vec<Cell>,
    /// The effect of each measure.
    pub contributions: Vec<Contribution>,
    /// The ranking of the cells, by load.
    #[serde(rename = "ranking")]
    pub rankings: Vec<Ranking>,
}

impl Matrix {
    /// The matrix of a run; absent if it has none. The interval logs are read once more, for the
    /// bootstrap, from the folder that the summary names; where that fails, ratios have no
    /// intervals.
    ///
    /// ```
    /// use kadenz_report::matrix::Matrix;
    /// use kadenz_report::summary::Summary;
    ///
    /// let mut summary = Summary::default();
    /// assert!(Matrix::of(&summary).is_none());
    /// summary.run.experiment = "tune".to_owned();
    /// let matrix = Matrix::of(&summary).expect("a run of `kadenz tune`");
    /// assert!(matrix.cells.is_empty());
    /// assert!(serde_json::to_string(&matrix)?.starts_with("{\"version\":1,"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn of(summary: &Summary) -> Option<Self> {
        Self::is_in(summary).then(|| Self::with(summary, figures))
    }

    /// Whether a run is a matrix.
    pub(crate) fn is_in(summary: &Summary) -> bool {
        summary.run.experiment == EXPERIMENT
    }

    /// The recommendation of a run, without the ratios that take most of the time of [`Matrix::of`];
    /// absent if it has no matrix.
    #[must_use]
    pub fn recommendation_of(summary: &Summary) -> Option<Recommendation> {
        let no_figures = |_: &Summary, places: &[usize]| vec![Figures::default(); places.len()];
        Self::is_in(summary).then(|| Self::with(summary, no_figures).recommendation)
    }

    /// As [`Matrix::of`], for any run, with a function that makes the figures of series by their places.
    fn with(summary: &Summary, figures: impl Fn(&Summary, &[usize]) -> Vec<Figures>) -> Self {
        let mut cells = Cell::all(summary);
        let lateness: Vec<usize> = cells.iter().map(|cell| cell.lateness_series).collect();
        let jitter: Vec<usize> = cells.iter().filter_map(|cell| cell.jitter_series).collect();
        let floor_ns = floor(&summary.run);
        set_against_none(&mut cells, &jitter, &figures(summary, &jitter), floor_ns);
        let of_lateness = figures(summary, &lateness);
        let drawn: Vec<Drawn<'_>> = cells
            .iter()
            .zip(&of_lateness)
            .map(|(cell, figures)| Drawn { cell, figures })
            .collect();
        let loads: Vec<Load> = Load::ALL
            .into_iter()
            .filter(|load| {
                cells
                    .iter()
                    .any(|cell| cell.load == *load && cell.lateness.count > 0)
            })
            .collect();
        let asked = summary.run.tune.clone().unwrap_or_default();
        let missing_loads = missing(&loads, &asked);
        let first = cells
            .first()
            .map(|cell| &summary.series[cell.lateness_series]);
        let question = Question {
            cells: &cells,
            loads: &loads,
            missing_loads: &missing_loads,
            interval_ns: first.and_then(|series| series.series.expected_interval_ns),
            deadline_ns: first.and_then(|series| series.verdict).map(|v| v.limit_ns),
            claim: asked.claim_percent,
        };
        let means = Means::of(&asked, summary.run.host.cpus);
        Self {
            version: Version,
            confidence: CONFIDENCE,
            interval_ns: question.interval_ns,
            deadline_ns: question.deadline_ns,
            claim: question.claim,
            samples_needed: question.samples_needed(),
            contributions: loads
                .iter()
                .flat_map(|&load| contribution::contributions(load, &drawn, floor_ns))
                .collect(),
            rankings: loads
                .iter()
                .map(|&load| Ranking::new(load, &drawn, floor_ns))
                .collect(),
            recommendation: question.answer(|combination| means.permanent(combination)),
            loads,
            missing_loads,
            cells,
        }
    }

    /// A cell; absent if it was not measured.
    #[must_use]
    pub fn cell(&self, load: Load, combination: Combination) -> Option<&Cell> {
        self.of_load(load)
            .find(|cell| cell.combination == combination)
    }

    /// The cells of a load, in the order of Yoon's columns.
    pub fn of_load(&self, load: Load) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| cell.load == load)
    }

    /// The series of the run that are not the matrix's.
    pub(crate) fn others<'a>(
        &self,
        summary: &'a Summary,
    ) -> impl Iterator<Item = &'a SeriesSummary> {
        let cells = self.cells.iter();
        let own: Vec<usize> = cells
            .flat_map(|cell| [Some(cell.lateness_series), cell.jitter_series])
            .flatten()
            .collect();
        let series = summary.series.iter().enumerate();
        series
            .filter(move |(place, _)| !own.contains(place))
            .map(|(_, series)| series)
    }

    /// The ranking, and whether it is Yoon's order, in words.
    #[must_use]
    pub(crate) fn ranking_words(&self) -> Vec<String> {
        let sentences = self.rankings.iter();
        let sentences = sentences.flat_map(|it| [&it.sentence, &it.published_sentence]);
        sentences.flatten().cloned().collect()
    }
}

/// A lateness below this reflects the clock rather than the machine.
fn floor(run: &Run) -> f64 {
    let resolution = run.clock.resolution_ns;
    if resolution.is_finite() {
        resolution.max(1.0)
    } else {
        1.0
    }
}

/// The requested loads without samples in the run.
fn missing(measured: &[Load], asked: &Tune) -> Vec<Load> {
    let mut loads = asked.loads.clone();
    loads.retain(|load| !measured.contains(load));
    loads
}

/// Fills in the ratio of each cell's excess to that of the cell `none`.
fn set_against_none(cells: &mut [Cell], places: &[usize], figures: &[Figures], floor_ns: f64) {
    let figure = |cell: &Cell| {
        let place = places
            .iter()
            .position(|place| cell.jitter_series == Some(*place))?;
        figures.get(place)?.p99_9.as_ref()
    };
    for load in Load::ALL {
        let none = cells
            .iter()
            .find(|cell| cell.load == load && cell.combination == Combination::NONE)
            .and_then(figure);
        let Some(none) = none else { continue };
        for cell in cells.iter_mut().filter(|cell| cell.load == load) {
            let own = figure(cell).filter(|_| cell.combination != Combination::NONE);
            cell.against_none = own.and_then(|own| ratio::ratio(&[(none, own)], floor_ns));
        }
    }
}

#[cfg(test)]
mod tests;
