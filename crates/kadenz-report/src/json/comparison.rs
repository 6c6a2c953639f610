//! The stable form of a comparison.

use schemars::JsonSchema;
use serde::Serialize;

use super::Output;
use crate::compare::fail_if::{Outcome, Undecided, Violation};
use crate::compare::{Comparison, Difference, FigureComparison, NetworkRow};
use crate::summary::Summary;

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
    output: Output<'a>,
    /// One entry for each pair of a baseline's series and a candidate's.
    comparisons: Vec<PairOutput<'a>>,
    /// A row for each run that sent packets, the baseline's first; empty where it sent none, or no other did.
    round_trips: &'a [NetworkRow],
    /// Differences between the runs besides their figures: machine, tuning, parameters.
    differences: &'a [Difference],
    /// Expressions of `--fail-if` that hold: exit code 1.
    violations: &'a [Violation],
    /// Expressions of `--fail-if` that could not be decided: exit code 2, unless one failed.
    undecided: &'a [Undecided],
}

/// A baseline's series and a candidate's.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct PairOutput<'a> {
    /// Folder of the baseline.
    baseline: String,
    /// Folder of the candidate.
    candidate: String,
    /// The series, as the baseline names it.
    series: &'a str,
    /// Confidence of the intervals.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    confidence: f64,
    /// The figures that both have.
    figures: &'a [FigureComparison],
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
                    figures: &candidate.figures,
                });
            }
        }
        Self {
            output: Output::new(runs),
            comparisons,
            round_trips: &comparison.network,
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
