//! One cell of the matrix: a combination of measures under a load.

use kadenz_record::run::model::TuningMeasure;

use super::period::Periods;
use super::ratio::Ratio;
use crate::statistics::{Percent, Percentile};
use crate::summary::Summary;
use crate::verdict::Verdict;
use kadenz_record::run::matrix::{Combination, Content, Load, Measure, of_series};

/// Figures of a cell. Values are in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The requested combination of measures.
    pub combination: Combination,
    /// The load during the measurement.
    pub load: Load,
    /// Wake-ups whose lateness was recorded.
    pub count: u64,
    /// Smallest lateness.
    pub min_ns: Option<i64>,
    /// Largest lateness.
    pub max_ns: Option<i64>,
    /// Mean lateness.
    pub mean_ns: Option<f64>,
    /// Standard deviation of the lateness.
    pub stddev_ns: Option<f64>,
    /// The percentiles of the lateness that the sample supports.
    pub percentiles: Vec<Percentile>,
    /// The verdict on the deadline; absent without one.
    pub verdict: Option<Verdict>,
    /// The column of Yoon's table; absent where no jitter was recorded.
    pub periods: Option<Periods>,
    /// The 99.9th percentile of the control period less the requested period.
    pub excess_ns: Option<i64>,
    /// The ratio of the excess to that of the cell `none` under the same load.
    pub against_none: Option<Ratio>,
    /// Measures of its combination that were not granted, or of which the run says nothing.
    pub lacking: Vec<Measure>,
    /// All measures that were requested of the machine and refused, with the reason.
    pub refused: Vec<TuningMeasure>,
    /// Place of its lateness among the series of the run.
    pub(crate) lateness: usize,
    /// Place of its jitter among the series of the run.
    pub(crate) jitter: Option<usize>,
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
        Self {
            combination,
            load,
            count: series.count,
            min_ns: series.min_ns,
            max_ns: series.max_ns,
            mean_ns: series.mean_ns,
            stddev_ns: series.stddev_ns,
            percentiles: series.percentiles.clone(),
            verdict: series.verdict,
            periods: periods.and_then(Periods::of),
            excess_ns: periods.and_then(|jitter| jitter.percentile(Percent::P99_9)),
            against_none: None,
            lacking: combination
                .measures()
                .filter(|&measure| !is_granted(measure, tuning))
                .collect(),
            refused: tuning.iter().filter(|m| !m.ok).cloned().collect(),
            lateness,
            jitter,
        }
    }

    /// Whether every measure of its combination was in force.
    #[must_use]
    pub fn granted(&self) -> bool {
        self.lacking.is_empty()
    }

    /// A percentile of the lateness; absent when the sample does not support it.
    #[must_use]
    pub fn percentile(&self, percent: Percent) -> Option<i64> {
        let row = self.percentiles.iter().find(|row| row.percent == percent);
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
