//! The stable form of a comparison.

use serde::Serialize;

use super::{Output, RoundTripsOutput, VERSION};
use crate::compare::fail_if::Outcome;
use crate::compare::{Comparison, FigureComparison};
use crate::summary::Summary;

/// What `compare` prints with `--json`: the series of all runs as every command prints them, and
/// what their comparison says.
///
/// Its schema is `docs/schema/compare.schema.json`.
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonOutput {
    /// The runs themselves: `version`, `runs`, `series` and `warnings`.
    #[serde(flatten)]
    pub output: Output,
    /// One entry for each pair of a baseline's series and a candidate's.
    pub comparisons: Vec<PairOutput>,
    /// Round trips of the runs that sent packets, the baseline's first; empty where it sent none, or
    /// no other did.
    pub round_trips: Vec<RoundTripsOutput>,
    /// What differs between the runs besides their figures.
    pub differences: Vec<DifferenceOutput>,
    /// Expressions that failed.
    pub violations: Vec<ViolationOutput>,
    /// Expressions that could not be decided.
    pub undecided: Vec<UndecidedOutput>,
}

/// A baseline's series and a candidate's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairOutput {
    /// Folder of the baseline.
    pub baseline: String,
    /// Folder of the candidate.
    pub candidate: String,
    /// The series, as the baseline names it.
    pub series: String,
    /// What the intervals hold, 0 to 1.
    pub confidence: f64,
    /// The figures that both can tell.
    pub figures: Vec<FigureOutput>,
}

/// A figure of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureOutput {
    /// `p99.9`, `mean`, ...; times in nanoseconds.
    pub figure: String,
    /// The baseline's.
    pub baseline: f64,
    /// The candidate's.
    pub candidate: f64,
    /// Candidate by baseline; `null` where the baseline is not above zero.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval; `null` where the sample cannot carry one.
    pub low: Option<f64>,
    /// Upper end of the ratio's interval.
    pub high: Option<f64>,
    /// Whether chance hardly explains the difference, corrected for the number of figures; `null`
    /// without an interval.
    pub significant: Option<bool>,
}

/// Something in which the runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DifferenceOutput {
    /// What.
    pub what: String,
    /// What each run has, in the order of `runs`; empty where it was not told.
    pub values: Vec<String>,
}

/// An expression that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ViolationOutput {
    /// The expression.
    pub expression: String,
    /// The run.
    pub run: String,
    /// The series.
    pub series: String,
    /// What was found.
    pub found: String,
}

/// An expression that could not be decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UndecidedOutput {
    /// The expression.
    pub expression: String,
    /// Why not.
    pub reason: String,
}

impl ComparisonOutput {
    /// What comparing `runs` gave.
    #[must_use]
    pub fn new(runs: &[Summary], comparison: &Comparison, outcome: &Outcome) -> Self {
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
                    series: series.name.clone(),
                    confidence: comparison.confidence,
                    figures: candidate.figures.iter().map(FigureOutput::new).collect(),
                });
            }
        }
        let differences = comparison.differences.iter();
        Self {
            output: Output::new(runs),
            comparisons,
            round_trips: comparison
                .network
                .iter()
                .map(|row| RoundTripsOutput::new(row, folder(row.run)))
                .collect(),
            differences: differences
                .map(|d| DifferenceOutput {
                    what: d.what.clone(),
                    values: d.values.clone(),
                })
                .collect(),
            violations: outcome
                .violations
                .iter()
                .map(ViolationOutput::new)
                .collect(),
            undecided: outcome.undecided.iter().map(UndecidedOutput::new).collect(),
        }
    }
}

/// The text to print: indented, no line break at the end.
impl std::fmt::Display for ComparisonOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        debug_assert_eq!(self.output.version, VERSION);
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

impl ViolationOutput {
    fn new(violation: &crate::compare::fail_if::Violation) -> Self {
        let crate::compare::fail_if::Violation {
            expression,
            run,
            series,
            found,
        } = violation.clone();
        Self {
            expression,
            run,
            series,
            found,
        }
    }
}

impl UndecidedOutput {
    fn new(undecided: &crate::compare::fail_if::Undecided) -> Self {
        let crate::compare::fail_if::Undecided { expression, reason } = undecided.clone();
        Self { expression, reason }
    }
}
