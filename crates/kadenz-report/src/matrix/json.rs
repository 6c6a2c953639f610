//! The stable form of a matrix.

use kadenz_record::run::model::TuningMeasure;
use schemars::JsonSchema;
use serde::Serialize;

use super::cell::Cell;
use super::contribution::Contribution;
use super::ranking::{PaperPair, Ranked, Ranking};
use super::ratio::{CONFIDENCE, Ratio};
use super::recommend::{Recommendation, RecommendationStanding};
use super::{Combination, Load, Matrix, Measure, Periods, words};
use crate::document::Version;
use crate::statistics::Percentile;
use crate::statistics::{Percentiles, by_name};
use crate::verdict::Verdict;

/// The result of `kadenz tune`: cells are combinations of P priority, M memory locked, C CPU shielded, S spinning sleep
/// and I idle states held off under a load. Times are in nanoseconds. Within a version fields are only added, and a
/// field without a value is `null`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MatrixOutput<'a> {
    version: Version<1>,
    /// The interval of the ideal signal.
    expected_interval_ns: Option<u64>,
    /// A lateness above it is a miss.
    deadline_ns: Option<u64>,
    /// The share of wake-ups that is to keep the deadline, as a percentage.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 100))]
    claim_percent: f64,
    /// Samples without a miss that are needed under each load to claim that share at 95 % confidence.
    samples_needed: u64,
    /// Confidence of the interval of every ratio.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    confidence: f64,
    /// The loads with samples.
    loads: &'a [Load],
    /// The requested loads without samples.
    missing_loads: &'a [Load],
    /// What the matrix recommends, in words and as commands.
    recommendation: RecommendationOutput<'a>,
    /// The cells, without load first.
    cells: Vec<CellOutput<'a>>,
    /// The effect of each measure.
    contributions: Vec<ContributionOutput<'a>>,
    /// The ranking of the cells, by load.
    ranking: Vec<RankingOutput<'a>>,
}

/// A matrix for scripts.
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
pub fn json(matrix: &Matrix) -> MatrixOutput<'_> {
    let contribution = |contribution| ContributionOutput {
        contribution,
        sentence: words::contribution(contribution),
    };
    MatrixOutput {
        version: Version,
        expected_interval_ns: matrix.interval_ns,
        deadline_ns: matrix.deadline_ns,
        claim_percent: matrix.claim.percent(),
        samples_needed: matrix.samples_needed,
        confidence: CONFIDENCE,
        loads: &matrix.loads,
        missing_loads: &matrix.missing_loads,
        recommendation: RecommendationOutput::new(&matrix.recommendation),
        cells: matrix.cells.iter().map(CellOutput::new).collect(),
        contributions: matrix.contributions.iter().map(contribution).collect(),
        ranking: matrix.rankings.iter().map(RankingOutput::new).collect(),
    }
}

/// What the matrix recommends.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct RecommendationOutput<'a> {
    /// keeps: the cheapest cell without a miss in enough samples. so_far: without a miss, but in too few.
    /// none_keeps: the cell that comes closest.
    #[schemars(extend("enum" = ["keeps", "so_far", "none_keeps", "unknown"]))]
    standing: &'static str,
    /// The cell that it names.
    cell: Option<Combination>,
    /// Whether the cell keeps the deadline.
    keeps: bool,
    /// Under the load with the most missing; `null` where more samples would not help.
    samples_missing: Option<u64>,
    /// The recommendation in words.
    sentence: String,
    /// How to run with it; `null` where nothing is needed, or nothing can be recommended.
    command: Option<&'a str>,
    /// A systemd unit that runs a program with the combination; `null` where there is none to give.
    unit: Option<&'a str>,
    /// Kernel parameters for cells with C.
    kernel_parameters: Option<&'a str>,
    /// For cells with I: how to turn idle states off without `kadenz run`.
    idle_states: Option<&'a str>,
}

impl<'a> RecommendationOutput<'a> {
    fn new(recommendation: &'a Recommendation) -> Self {
        let (standing, samples_missing) = match recommendation.standing {
            RecommendationStanding::Keeps => ("keeps", Some(0)),
            RecommendationStanding::SoFar { more } => ("so_far", Some(more)),
            RecommendationStanding::NoneKeeps => ("none_keeps", None),
            RecommendationStanding::Unknown => ("unknown", None),
        };
        let permanent = recommendation.permanent.as_ref();
        Self {
            standing,
            cell: recommendation.combination,
            keeps: recommendation.standing == RecommendationStanding::Keeps,
            samples_missing,
            sentence: recommendation.sentences.join(" "),
            command: permanent.map(|it| it.command.as_str()),
            unit: permanent.map(|it| it.unit.as_str()),
            kernel_parameters: permanent.and_then(|it| it.kernel_parameters.as_deref()),
            idle_states: permanent.and_then(|it| it.idle_states.as_deref()),
        }
    }
}

/// A combination of measures under a load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct CellOutput<'a> {
    /// The combination of measures, for example `PM`.
    cell: Combination,
    /// The load during the measurement.
    load: Load,
    /// The measures of the combination, one by one.
    measures: Vec<Measure>,
    /// Whether the run says that every measure of the cell was in force.
    granted: bool,
    /// The measures that were requested of the machine and refused.
    not_granted: Vec<RefusalOutput<'a>>,
    /// Lateness of its wake-ups.
    lateness: LatenessOutput<'a>,
    /// The deadline; `null` without one.
    deadline: Option<Verdict>,
    /// The cell's column in figures 7 and 8 of [Yoon2009]; `null` where no jitter was recorded.
    periods: Option<&'a Periods>,
    /// 99.9th percentile of the control period less the interval.
    excess_p99_9_ns: Option<i64>,
    /// The ratio of the excess to that of the cell none under the same load.
    excess_against_none: Option<Ratio>,
}

impl<'a> CellOutput<'a> {
    fn new(cell: &'a Cell) -> Self {
        Self {
            cell: cell.combination,
            load: cell.load,
            measures: cell.combination.measures().collect(),
            granted: cell.granted(),
            not_granted: cell.refused.iter().map(RefusalOutput::new).collect(),
            lateness: LatenessOutput {
                count: cell.count,
                min_ns: cell.min_ns,
                max_ns: cell.max_ns,
                mean_ns: cell.mean_ns,
                stddev_ns: cell.stddev_ns,
                percentiles: &cell.percentiles,
            },
            deadline: cell.verdict,
            periods: cell.periods.as_ref(),
            excess_p99_9_ns: cell.excess_ns,
            excess_against_none: cell.against_none,
        }
    }
}

/// A measure that was not granted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct RefusalOutput<'a> {
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

impl<'a> RefusalOutput<'a> {
    fn new(measure: &'a TuningMeasure) -> Self {
        Self {
            measure: &measure.name,
            requested: &measure.requested,
            granted: &measure.granted,
            reason: measure.reason.as_deref(),
            remedy: measure.remedy.as_deref(),
        }
    }
}

/// Lateness of a cell's wake-ups.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct LatenessOutput<'a> {
    /// Wake-ups.
    count: u64,
    /// Smallest lateness in nanoseconds.
    min_ns: Option<i64>,
    /// Largest lateness in nanoseconds.
    max_ns: Option<i64>,
    /// Mean lateness in nanoseconds.
    mean_ns: Option<f64>,
    /// Standard deviation of the lateness in nanoseconds.
    stddev_ns: Option<f64>,
    /// Percentiles of the lateness in nanoseconds, by name.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "Percentiles")]
    percentiles: &'a [Percentile],
}

/// A ratio of two figures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct RatioOutput {
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

/// The effect of a measure under a load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct ContributionOutput<'a> {
    #[serde(flatten)]
    contribution: &'a Contribution,
    /// The effect in words.
    sentence: String,
}

/// The cells of a load in their order.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct RankingOutput<'a> {
    /// The load under which the cells were measured.
    load: Load,
    /// By p99.9 lateness.
    best_first: &'a [Ranked],
    /// The published order under heavy load, pair by pair; pairs that were not measured are left out.
    paper: Vec<PaperPairOutput<'a>>,
    /// The order in words.
    sentence: Option<String>,
    /// The published order in words.
    paper_sentence: Option<String>,
}

/// A pair of the published order.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct PaperPairOutput<'a> {
    #[serde(flatten)]
    pair: &'a PaperPair,
    /// The pair and its result in words.
    sentence: String,
}

impl<'a> RankingOutput<'a> {
    fn new(ranking: &'a Ranking) -> Self {
        let pairs = ranking.paper.iter().map(|pair| PaperPairOutput {
            pair,
            sentence: words::paper_pair(pair),
        });
        Self {
            load: ranking.load,
            best_first: &ranking.order,
            paper: pairs.collect(),
            sentence: words::ranking(ranking),
            paper_sentence: words::paper(ranking),
        }
    }
}
