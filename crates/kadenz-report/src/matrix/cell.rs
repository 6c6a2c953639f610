//! One cell of the matrix: a combination of measures under a load.

use kadenz_record::run::matrix::{Combination, Content, Load, Measure, of_series};
use kadenz_record::run::model::TuningMeasure;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::period::Periods;
use super::ratio::Ratio;
use crate::statistics::{Percent, Percentile, Percentiles, by_name};
use crate::summary::Summary;
use crate::verdict::Verdict;

/// A combination of measures under a load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// The combination of measures, for example `PM`.
    #[serde(rename = "cell")]
    pub combination: Combination,
    /// The load during the measurement.
    pub load: Load,
    /// The measures of the combination, one by one.
    pub measures: Vec<Measure>,
    /// Whether the run says that every measure of the cell was in force.
    pub granted: bool,
    /// The measures that were requested of the machine and refused.
    #[serde(rename = "not_granted", serialize_with = "refusals")]
    #[schemars(with = "Vec<Refusal<'_>>")]
    pub refused: Vec<TuningMeasure>,
    /// Lateness of its wake-ups.
    pub lateness: Lateness,
    /// The deadline; `null` without one.
    #[serde(rename = "deadline")]
    pub verdict: Option<Verdict>,
    /// The cell's column in figures 7 and 8 of \[Yoon2009\]; `null` where no jitter was recorded.
    pub periods: Option<Periods>,
    /// 99.9th percentile of the control period less the interval.
    #[serde(rename = "excess_p99_9_ns")]
    pub excess_ns: Option<i64>,
    /// The ratio of the excess to that of the cell none under the same load.
    #[serde(rename = "excess_against_none")]
    pub against_none: Option<Ratio>,
    /// Measures of its combination that were not granted, or of which the run says nothing.
    #[serde(skip)]
    pub lacking: Vec<Measure>,
    /// Place of its lateness among the series of the run.
    #[serde(skip)]
    pub(crate) lateness_series: usize,
    /// Place of its jitter among the series of the run.
    #[serde(skip)]
    pub(crate) jitter_series: Option<usize>,
}

/// Lateness of a cell's wake-ups.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Lateness {
    /// Number of wake-ups.
    pub count: u64,
    /// Smallest lateness in nanoseconds.
    pub min_ns: Option<i64>,
    /// Largest lateness in nanoseconds.
    pub max_ns: Option<i64>,
    /// Mean lateness in nanoseconds.
    pub mean_ns: Option<f64>,
    /// Standard deviation of the lateness in nanoseconds.
    pub stddev_ns: Option<f64>,
    /// Percentiles of the lateness in nanoseconds, by name.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "Percentiles")]
    pub percentiles: Vec<Percentile>,
}

/// A measure that was not granted.
#[derive(Serialize, JsonSchema)]
struct Refusal<'a> {
    /// Name of the measure.
    measure: &'a str,
    /// The setting that was requested.
    requested: &'a str,
    /// The setting in force.
    granted: &'a str,
    /// Why it was refused.
    reason: Option<&'a str>,
    /// The command that grants it.
    remedy: Option<&'a str>,
}

/// Measures as `run.json` has them, with `null` for what is unknown.
fn refusals<S: Serializer>(all: &[TuningMeasure], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().map(|it| Refusal {
        measure: &it.name,
        requested: &it.requested,
        granted: &it.granted,
        reason: it.reason.as_deref(),
        remedy: it.remedy.as_deref(),
    }))
}

/// The combinations of some cells, the cheapest first.
pub(crate) fn combinations(cells: &[Cell]) -> Vec<Combination> {
    let mut all: Vec<Combination> = Combination::all()
        .filter(|it| cells.iter().any(|cell| cell.combination == *it))
        .collect();
    all.sort_by_key(|it| it.cost());
    all
}

impl Cell {
    /// All cells of a run: without load first, in the order of Yoon's columns. Of two series with the same name the
    /// first counts.
    pub(super) fn all(summary: &Summary) -> Vec<Self> {
        let places: Vec<_> = summary
            .series
            .iter()
            .map(|series| of_series(&series.series))
            .collect();
        let mut cells = Vec::new();
        for load in Load::ALL {
            for combination in Combination::all() {
                let place = |content| {
                    let wanted = Some((load, combination, content));
                    places.iter().position(|&place| place == wanted)
                };
                let Some(lateness) = place(Content::Lateness) else {
                    continue;
                };
                let jitter = place(Content::Jitter);
                cells.push(Self::new(summary, combination, load, (lateness, jitter)));
            }
        }
        cells
    }

    fn new(
        summary: &Summary,
        combination: Combination,
        load: Load,
        (lateness, jitter): (usize, Option<usize>),
    ) -> Self {
        let series = &summary.series[lateness];
        let periods = jitter.map(|place| &summary.series[place]);
        let tuning = &series.series.tuning;
        let lacking = combination.measures().filter(|&it| !is_granted(it, tuning));
        let lacking: Vec<Measure> = lacking.collect();
        Self {
            combination,
            load,
            measures: combination.measures().collect(),
            granted: lacking.is_empty(),
            refused: tuning.iter().filter(|m| !m.ok).cloned().collect(),
            lateness: Lateness {
                count: series.count,
                min_ns: series.min_ns,
                max_ns: series.max_ns,
                mean_ns: series.mean_ns,
                stddev_ns: series.stddev_ns,
                percentiles: series.percentiles.clone(),
            },
            verdict: series.verdict,
            periods: periods.and_then(Periods::of),
            excess_ns: periods.and_then(|jitter| jitter.percentile(Percent::P99_9)),
            against_none: None,
            lacking,
            lateness_series: lateness,
            jitter_series: jitter,
        }
    }

    /// A percentile of the lateness; absent when the sample does not support it.
    #[must_use]
    pub fn percentile(&self, percent: Percent) -> Option<i64> {
        let mut rows = self.lateness.percentiles.iter();
        let row = rows.find(|row| row.percent == percent);
        row.map(|row| row.value_ns)
    }
}

/// Whether a run says that a measure was in force, and no part of it was refused.
fn is_granted(measure: Measure, tuning: &[TuningMeasure]) -> bool {
    let mut parts = tuning
        .iter()
        .filter(|it| measure.is_recorded_as(&it.name))
        .peekable();
    parts.peek().is_some() && parts.all(|it| it.ok)
}
