//! The stable form of a comparison.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Output, PathOutput};
use crate::compare::fail_if::{Outcome, Undecided, Violation};
use crate::compare::network::NetworkHost;
use crate::compare::{Comparison, Difference, FigureComparison, NetworkRow};
use crate::summary::Summary;
use crate::verdict::wire::RoundTrip;

/// The measured runs as every measuring command prints them, and their comparison. The first run is the baseline.
///
/// ```
/// use kadenz_report::compare::{CompareOptions, Comparison, fail_if};
/// use kadenz_report::json::ComparisonOutput;
///
/// let runs = [];
/// let comparison = Comparison::new(&runs, &CompareOptions::default());
/// let outcome = fail_if::check(&[], &runs, &comparison);
/// let output = ComparisonOutput::new(&runs, &comparison, &outcome);
/// assert!(output.to_string().contains("\"comparisons\": []"));
/// ```
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ComparisonOutput<'a> {
    /// The runs that are compared, each as in a report of its own.
    #[serde(flatten)]
    pub output: Output<'a>,
    /// One entry for each pair of a baseline's series and a candidate's.
    pub comparisons: Vec<PairOutput<'a>>,
    /// A row for each run that sent packets, the baseline's first; empty where it sent none, or no other did.
    pub round_trips: Vec<RoundTripsOutput<'a>>,
    /// Differences between the runs besides their figures: machine, tuning, parameters.
    pub differences: &'a [Difference],
    /// Expressions of `--fail-if` that hold: exit code 1.
    pub violations: &'a [Violation],
    /// Expressions of `--fail-if` that could not be decided: exit code 2, unless one failed.
    pub undecided: &'a [Undecided],
}

/// A baseline's series and a candidate's.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PairOutput<'a> {
    /// Folder of the baseline.
    pub baseline: String,
    /// Folder of the candidate.
    pub candidate: String,
    /// The series, as the baseline names it.
    pub series: &'a str,
    /// Confidence of the intervals.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub confidence: f64,
    /// The figures that both have.
    pub figures: Vec<FigureOutput>,
}

/// A figure of both.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FigureOutput {
    /// Its name; times are in nanoseconds, the miss rate is a share.
    #[schemars(regex(pattern = r"^(p[0-9]+(\.[0-9]+)?|min|mean|stddev|max|misses|miss-rate)$"))]
    pub figure: String,
    /// The baseline's.
    pub baseline: f64,
    /// The candidate's.
    pub candidate: f64,
    /// Candidate by baseline; `null` where the baseline is not above zero.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval; `null` where the sample does not support one.
    pub low: Option<f64>,
    /// Upper end of the ratio's interval.
    pub high: Option<f64>,
    /// Whether chance hardly explains the difference, corrected for the number of figures compared; `null` without an
    /// interval.
    pub significant: Option<bool>,
}

/// One run's round trips in a comparison: 90 %, the wire part, and the rest.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RoundTripsOutput<'a> {
    /// Folder of the run.
    pub run: String,
    /// The links to the devices; `null` where they are unknown.
    pub path: Option<PathOutput<'a>>,
    /// The round trip that 90 % of the answered packets keep.
    pub p90: RoundTrip,
    /// The same less the baseline's; `null` for the baseline itself.
    pub beyond_baseline: Option<RoundTrip>,
    /// Packets sent, answered or not.
    pub sent: u64,
    /// Packets without an answer in time.
    pub lost: u64,
    /// Answers that came after the answer to a later packet.
    pub reordered: u64,
    /// The controller's machine.
    pub host: &'a NetworkHost,
}

impl<'a> ComparisonOutput<'a> {
    /// Makes the output of a comparison of `runs`.
    #[must_use]
    pub fn new(runs: &'a [Summary], comparison: &'a Comparison, outcome: &'a Outcome) -> Self {
        let folder = |run: usize| {
            runs.get(run)
                .map_or_else(String::new, |r| r.shown().display().to_string())
        };
        let mut comparisons = Vec::new();
        for series in &comparison.series {
            for candidate in &series.candidates {
                comparisons.push(PairOutput {
                    baseline: folder(0),
                    candidate: folder(candidate.run),
                    series: &series.name,
                    confidence: comparison.confidence,
                    figures: candidate.figures.iter().map(FigureOutput::new).collect(),
                });
            }
        }
        let round_trips = comparison.network.iter();
        Self {
            output: Output::new(runs),
            comparisons,
            round_trips: round_trips
                .map(|row| RoundTripsOutput::new(row, folder(row.run)))
                .collect(),
            differences: &comparison.differences,
            violations: &outcome.violations,
            undecided: &outcome.undecided,
        }
    }
}

/// The text to print: indented, no line break at the end.
impl std::fmt::Display for ComparisonOutput<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = serde_json::to_string_pretty(self).map_err(|_| std::fmt::Error)?;
        f.write_str(&text)
    }
}

impl FigureOutput {
    fn new(figure: &FigureComparison) -> Self {
        Self {
            figure: figure.metric.to_string(),
            baseline: figure.baseline,
            candidate: figure.candidate,
            ratio: figure.ratio,
            low: figure.interval.ok().map(|(low, _)| low),
            high: figure.interval.ok().map(|(_, high)| high),
            significant: figure.significant,
        }
    }
}

impl<'a> RoundTripsOutput<'a> {
    fn new(row: &'a NetworkRow, run: String) -> Self {
        Self {
            run,
            path: row.path.as_ref().map(PathOutput::new),
            p90: row.round_trip,
            beyond_baseline: row.beyond_baseline,
            sent: row.packets,
            lost: row.lost,
            reordered: row.reordered,
            host: &row.host,
        }
    }
}
