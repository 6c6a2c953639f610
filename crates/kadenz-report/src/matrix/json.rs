//! The stable form of a matrix.

use kadenz_record::run::model::TuningMeasure;
use serde::Serialize;

use super::cell::Cell;
use super::contribution::Contribution;
use super::doubt::{CONFIDENCE, Ratio};
use super::ranking::{PaperPair, Ranking, Reproduced};
use super::recommend::{Recommendation, Standing};
use super::{Load, Matrix, Periods, words};
use crate::json::{DeadlineOutput, Percentiles};

/// The version of the schema.
pub const VERSION: u32 = 1;

/// A matrix as JSON. Its schema is `docs/schema/matrix.schema.json`; within a version fields are
/// only added, and one that has nothing to say is `null`. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatrixOutput {
    version: u32,
    expected_interval_ns: Option<u64>,
    deadline_ns: Option<u64>,
    /// The share of wake-ups that is to keep the deadline, as a percentage.
    claim_percent: f64,
    samples_needed: u64,
    /// What the intervals of all ratios hold, 0 to 1.
    confidence: f64,
    loads: Vec<&'static str>,
    missing_loads: Vec<&'static str>,
    recommendation: RecommendationOutput,
    cells: Vec<CellOutput>,
    contributions: Vec<ContributionOutput>,
    ranking: Vec<RankingOutput>,
}

/// What `matrix` says, for scripts.
///
/// ```
/// use kadenz_report::matrix::{self, Matrix};
/// use kadenz_report::summary::Summary;
///
/// let mut summary = Summary::default();
/// summary.run.experiment = matrix::EXPERIMENT.to_owned();
/// let matrix = Matrix::of(&summary).expect("a matrix");
/// let text = serde_json::to_string(&matrix::json(&matrix))?;
/// assert!(text.starts_with("{\"version\":1,"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn json(matrix: &Matrix) -> MatrixOutput {
    let loads = |loads: &[Load]| loads.iter().map(|&load| name(load)).collect();
    MatrixOutput {
        version: VERSION,
        expected_interval_ns: matrix.interval_ns,
        deadline_ns: matrix.deadline_ns,
        claim_percent: matrix.claim.percent(),
        samples_needed: matrix.samples_needed,
        confidence: CONFIDENCE,
        loads: loads(&matrix.loads),
        missing_loads: loads(&matrix.missing_loads),
        recommendation: RecommendationOutput::new(&matrix.recommendation),
        cells: matrix.cells.iter().map(CellOutput::new).collect(),
        contributions: matrix
            .contributions
            .iter()
            .map(ContributionOutput::new)
            .collect(),
        ranking: matrix.rankings.iter().map(RankingOutput::new).collect(),
    }
}

fn name(load: Load) -> &'static str {
    match load {
        Load::Unloaded => "none",
        Load::Heavy => "heavy",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct RecommendationOutput {
    standing: &'static str,
    cell: Option<String>,
    keeps: bool,
    samples_missing: Option<u64>,
    sentence: String,
    command: Option<String>,
    unit: Option<String>,
    kernel_parameters: Option<String>,
    idle_states: Option<String>,
}

impl RecommendationOutput {
    fn new(recommendation: &Recommendation) -> Self {
        let (standing, samples_missing) = match recommendation.standing {
            Standing::Keeps => ("keeps", Some(0)),
            Standing::SoFar { more } => ("so_far", Some(more)),
            Standing::NoneKeeps => ("none_keeps", None),
            Standing::Unknown => ("unknown", None),
        };
        let permanent = recommendation.permanent.as_ref();
        Self {
            standing,
            cell: recommendation.combination.map(|cell| cell.to_string()),
            keeps: recommendation.standing == Standing::Keeps,
            samples_missing,
            sentence: recommendation.sentences.join(" "),
            command: permanent.map(|permanent| permanent.command.clone()),
            unit: permanent.map(|permanent| permanent.unit.clone()),
            kernel_parameters: permanent.and_then(|p| p.kernel_parameters.clone()),
            idle_states: permanent.and_then(|p| p.idle_states.clone()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct CellOutput {
    cell: String,
    load: &'static str,
    measures: Vec<String>,
    granted: bool,
    not_granted: Vec<RefusalOutput>,
    lateness: LatenessOutput,
    deadline: Option<DeadlineOutput>,
    periods: Option<PeriodsOutput>,
    excess_p99_9_ns: Option<i64>,
    excess_against_none: Option<RatioOutput>,
}

impl CellOutput {
    fn new(cell: &Cell) -> Self {
        let measures = cell.combination.measures();
        Self {
            cell: cell.combination.to_string(),
            load: name(cell.load),
            measures: measures.map(|m| m.letter().to_string()).collect(),
            granted: cell.granted(),
            not_granted: cell.refused.iter().map(RefusalOutput::new).collect(),
            lateness: LatenessOutput::new(cell),
            deadline: cell.verdict.as_ref().map(DeadlineOutput::new),
            periods: cell.periods.as_ref().map(PeriodsOutput::new),
            excess_p99_9_ns: cell.excess_ns,
            excess_against_none: cell.against_none.as_ref().map(RatioOutput::new),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct RefusalOutput {
    measure: String,
    requested: String,
    granted: String,
    reason: Option<String>,
    remedy: Option<String>,
}

impl RefusalOutput {
    fn new(measure: &TuningMeasure) -> Self {
        let TuningMeasure {
            name,
            requested,
            granted,
            reason,
            remedy,
            ..
        } = measure.clone();
        Self {
            measure: name,
            requested,
            granted,
            reason,
            remedy,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct LatenessOutput {
    count: u64,
    min_ns: Option<i64>,
    max_ns: Option<i64>,
    mean_ns: Option<f64>,
    stddev_ns: Option<f64>,
    percentiles: Percentiles,
}

impl LatenessOutput {
    fn new(cell: &Cell) -> Self {
        Self {
            count: cell.count,
            min_ns: cell.min_ns,
            max_ns: cell.max_ns,
            mean_ns: cell.mean_ns,
            stddev_ns: cell.stddev_ns,
            percentiles: Percentiles(cell.percentiles.clone()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct PeriodsOutput {
    min_ns: f64,
    rows: Vec<PeriodRowOutput>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct PeriodRowOutput {
    lowest_percent: f64,
    max_ns: f64,
    mean_ns: f64,
    stddev_ns: f64,
}

impl PeriodsOutput {
    fn new(periods: &Periods) -> Self {
        let rows = periods.rows.iter().map(|row| PeriodRowOutput {
            lowest_percent: row.share.map_or(100.0, |share| share.percent()),
            max_ns: row.max_ns,
            mean_ns: row.mean_ns,
            stddev_ns: row.stddev_ns,
        });
        Self {
            min_ns: periods.min_ns,
            rows: rows.collect(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct RatioOutput {
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    significant: Option<bool>,
    at_resolution: bool,
}

impl RatioOutput {
    fn new(ratio: &Ratio) -> Self {
        Self {
            ratio: ratio.ratio,
            low: ratio.interval.map(|(low, _)| low),
            high: ratio.interval.map(|(_, high)| high),
            significant: ratio.significant(),
            at_resolution: ratio.at_resolution,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ContributionOutput {
    measure: String,
    load: &'static str,
    figure: &'static str,
    effect: Option<RatioOutput>,
    pairs: Vec<[String; 2]>,
    sentence: String,
}

impl ContributionOutput {
    fn new(contribution: &Contribution) -> Self {
        let pairs = contribution.pairs.iter();
        Self {
            measure: contribution.measure.letter().to_string(),
            load: name(contribution.load),
            figure: contribution.figure.name(),
            effect: contribution.ratio.as_ref().map(RatioOutput::new),
            pairs: pairs
                .map(|(without, with)| [without.to_string(), with.to_string()])
                .collect(),
            sentence: words::contribution(contribution),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct RankingOutput {
    load: &'static str,
    best_first: Vec<RankedOutput>,
    paper: Vec<PaperPairOutput>,
    sentence: Option<String>,
    paper_sentence: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct RankedOutput {
    cell: String,
    p99_9_ns: i64,
    granted: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct PaperPairOutput {
    worse: String,
    better: String,
    equal: bool,
    reproduced: Option<bool>,
    ratio: RatioOutput,
    sentence: String,
}

impl RankingOutput {
    fn new(ranking: &Ranking) -> Self {
        let order = ranking.order.iter().map(|ranked| RankedOutput {
            cell: ranked.combination.to_string(),
            p99_9_ns: ranked.p99_9_ns,
            granted: ranked.granted,
        });
        Self {
            load: name(ranking.load),
            best_first: order.collect(),
            paper: ranking.paper.iter().map(PaperPairOutput::new).collect(),
            sentence: words::ranking(ranking),
            paper_sentence: words::paper(ranking),
        }
    }
}

impl PaperPairOutput {
    fn new(pair: &PaperPair) -> Self {
        Self {
            worse: pair.worse.to_string(),
            better: pair.better.to_string(),
            equal: pair.equal,
            reproduced: match pair.outcome {
                Reproduced::Yes => Some(true),
                Reproduced::No => Some(false),
                Reproduced::Open => None,
            },
            ratio: RatioOutput::new(&pair.ratio),
            sentence: words::paper_pair(pair),
        }
    }
}
