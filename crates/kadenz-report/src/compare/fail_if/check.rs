//! Expressions against runs.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::{FailIf, Limit, Operator};
use crate::compare::{Comparison, FigureComparison, NoInterval, show_ratio};
use crate::summary::{SeriesSummary, Summary};

/// Result of testing all expressions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Expressions that failed: exit code 1.
    pub violations: Vec<Violation>,
    /// Expressions that could not be decided: exit code 2, unless another failed.
    pub undecided: Vec<Undecided>,
}

/// An expression that holds, so that the comparison fails.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Violation {
    /// The expression, for example `p99.9 > 1.2x`.
    pub expression: String,
    /// The candidate in which it holds, by its name in the comparison.
    pub run: String,
    /// The series in which it holds.
    pub series: String,
    /// The finding: "p99.9 is 132.0 us, 1.32x (95 %: 1.21 to 1.45) of the baseline's 100.0 us".
    pub found: String,
}

/// An expression that could not be decided.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Undecided {
    /// The expression, for example `p99.9 > 1.2x`.
    pub expression: String,
    /// Why not, and what to do about it.
    pub reason: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} of {}: {}",
            self.expression, self.series, self.run, self.found
        )
    }
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: cannot be decided: {}", self.expression, self.reason)
    }
}

impl Outcome {
    /// The exit code of the program: 0 kept, 1 a limit was missed, 2 not decided.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match (self.violations.is_empty(), self.undecided.is_empty()) {
            (false, _) => 1,
            (true, false) => 2,
            (true, true) => 0,
        }
    }
}

/// Tests expressions on the candidates of `comparison`, or on the only run there is. `runs` are
/// those that were compared.
///
/// ```
/// use kadenz_report::compare::fail_if::check;
/// use kadenz_report::compare::{CompareOptions, Comparison};
///
/// # let runs = [];
/// let expressions = ["p99.9 > 1.2x".parse()?, "misses > 0".parse()?];
/// let options = CompareOptions::default();
/// let outcome = check(&expressions, &runs, &Comparison::new(&runs, &options));
/// assert_eq!(outcome.exit_code(), 2); // nothing was compared
/// # Ok::<(), kadenz_report::compare::fail_if::ParseFailIfError>(())
/// ```
#[must_use]
pub fn check(expressions: &[FailIf], runs: &[Summary], comparison: &Comparison) -> Outcome {
    let mut outcome = Outcome::default();
    for expression in expressions {
        let mut test = FailIfCheck {
            expression,
            runs,
            comparison,
            outcome: &mut outcome,
            tested: false,
        };
        if expression.is_relative() {
            test.relative();
        } else {
            test.absolute();
        }
        if !test.tested {
            let reason = nothing_tested(expression, runs);
            outcome.undecided.push(Undecided {
                expression: expression.to_string(),
                reason,
            });
        }
    }
    outcome
}

fn nothing_tested(expression: &FailIf, runs: &[Summary]) -> String {
    match &expression.series {
        _ if runs.is_empty() => "there is no run".to_owned(),
        _ if expression.is_relative() && runs.len() < 2 => {
            "there is no baseline; name two runs, the baseline first".to_owned()
        }
        Some(series) => {
            let known: BTreeSet<&str> = runs
                .iter()
                .flat_map(|run| run.series.iter().map(|s| s.series.name.as_str()))
                .collect();
            let known: Vec<&str> = known.into_iter().collect();
            format!(
                "no series `{series}` was compared; there are {}",
                known.join(", ")
            )
        }
        None if is_about_deadlines(expression.metric) => {
            "no deadline was stated; state one with --deadline".to_owned()
        }
        None => "no series was compared".to_owned(),
    }
}

/// One expression under test.
struct FailIfCheck<'a> {
    expression: &'a FailIf,
    runs: &'a [Summary],
    comparison: &'a Comparison,
    outcome: &'a mut Outcome,
    tested: bool,
}

impl FailIfCheck<'_> {
    fn is_meant(&self, name: &str) -> bool {
        self.expression
            .series
            .as_deref()
            .is_none_or(|meant| meant == name)
    }

    fn violated(&mut self, run: usize, series: &str, found: String) {
        let run = self.comparison.runs.get(run).cloned().unwrap_or_default();
        let expression = self.expression.to_string();
        let series = series.to_owned();
        self.outcome.violations.push(Violation {
            expression,
            run,
            series,
            found,
        });
    }

    /// Notes a reason of a series, or without its name of a whole run.
    fn undecided(&mut self, run: usize, series: &str, reason: &str) {
        let run = self.comparison.runs.get(run).map_or("", String::as_str);
        let reason = match series {
            "" => format!("{run}: {reason}"),
            series => format!("{series} of {run}: {reason}"),
        };
        let expression = self.expression.to_string();
        self.outcome
            .undecided
            .push(Undecided { expression, reason });
    }

    /// Whether a series without a deadline is skipped, because the expression is about deadlines and does not name it.
    fn is_skipped(&self, series: &SeriesSummary) -> bool {
        let asked = self.expression.series.is_some();
        !asked && is_about_deadlines(self.expression.metric) && series.verdict.is_none()
    }

    fn absolute(&mut self) {
        let Limit::Absolute(limit) = self.expression.limit else {
            return;
        };
        let runs = self.runs;
        let candidates = usize::from(runs.len() > 1);
        let mut lacking = Vec::new();
        for (run, summary) in runs.iter().enumerate().skip(candidates) {
            let mut is_tested = false;
            for series in &summary.series {
                if self.is_meant(&series.series.name) && !self.is_skipped(series) {
                    is_tested = true;
                    self.figure(run, series, limit);
                }
            }
            self.tested |= is_tested;
            lacking.extend((!is_tested).then_some(run));
        }
        // Where no run has the series, one reason suffices.
        lacking.retain(|_| self.tested);
        for run in lacking {
            let reason = nothing_tested(self.expression, &runs[run..=run]);
            self.undecided(run, "", &reason);
        }
    }

    fn figure(&mut self, run: usize, series: &SeriesSummary, limit: f64) {
        let metric = self.expression.metric;
        let name = &series.series.name;
        let operator = self.expression.operator;
        match metric.of(series) {
            Ok(figure) => {
                let holds = operator.holds(figure, limit);
                // The values that were lost may have missed, too.
                let is_certain = holds && operator.is_lower_bound();
                let lost = self.lost(run, series).filter(|_| !is_certain);
                if let Some(lost) = lost {
                    self.undecided(run, name, &lost);
                } else if holds {
                    let found = format!("{metric} is {}", metric.show(figure));
                    self.violated(run, name, found);
                }
            }
            Err(reason) => self.undecided(run, name, &reason),
        }
    }

    fn relative(&mut self) {
        let Some((baseline, candidates)) = self.runs.split_first() else {
            return;
        };
        let mut lacking = Vec::new();
        for (place, ours) in baseline.series.iter().enumerate() {
            if self.is_skipped(ours) {
                continue;
            }
            let name = &ours.series.name;
            let compared = self.comparison.series.iter();
            let mut partners = compared.filter(|it| it.baseline == place);
            let partners = partners.next().map_or(&[][..], |it| &it.candidates);
            for (run, summary) in (1..).zip(candidates) {
                let found = partners.iter().find(|it| it.run == run);
                let theirs = found.and_then(|it| Some((it, summary.series.get(it.series)?)));
                let Some((found, theirs)) = theirs else {
                    lacking.extend(self.is_meant(name).then_some((run, name)));
                    continue;
                };
                if self.is_meant(name) || self.is_meant(&theirs.series.name) {
                    let figure = found.figure(self.expression.metric).copied();
                    self.ratio(run, ours, theirs, figure);
                }
            }
        }
        lacking.retain(|_| self.tested);
        for (run, name) in lacking {
            self.undecided(run, name, "there is no such series; the baseline has it");
        }
    }

    fn ratio(
        &mut self,
        run: usize,
        baseline: &SeriesSummary,
        candidate: &SeriesSummary,
        figure: Option<FigureComparison>,
    ) {
        let metric = self.expression.metric;
        let name = &candidate.series.name;
        let figures = metric
            .of(baseline)
            .and_then(|b| Ok((b, metric.of(candidate)?)));
        self.tested = true;
        let (before, after) = match figures {
            Ok(figures) => figures,
            Err(reason) => return self.undecided(run, name, &reason),
        };
        let Some(ratio) = ratio(before, after) else {
            let reason = format!(
                "the baseline is {}, of which there is no ratio; use an absolute limit",
                metric.show(before)
            );
            return self.undecided(run, name, &reason);
        };
        let interval = figure.map_or(Err(NoInterval::Figure), |figure| figure.interval);
        // Values that were lost may have missed, too: those of the baseline make the ratio smaller.
        let of_baseline = self.lost(0, baseline);
        let of_candidate = self.lost(run, candidate);
        let holds = self.ratio_holds(ratio, interval);
        let lost = match (&holds, self.expression.operator.is_lower_bound()) {
            (Ok(true), true) => of_baseline,
            (Ok(true), false) => of_candidate,
            _ => of_baseline.or(of_candidate),
        };
        match (holds, lost) {
            (Ok(_), Some(lost)) => self.undecided(run, name, &lost),
            (Ok(true), None) => {
                let found = format!(
                    "{metric} is {}, {} of the baseline's {}",
                    metric.show(after),
                    show_ratio(ratio, interval.ok()),
                    metric.show(before)
                );
                self.violated(run, name, found);
            }
            (Ok(false), None) => {}
            (Err(reason), _) => self.undecided(run, name, &reason.to_string()),
        }
    }

    /// Whether the expression holds for a ratio, with its interval where it must be significant.
    fn ratio_holds(
        &self,
        ratio: f64,
        interval: Result<(f64, f64), NoInterval>,
    ) -> Result<bool, NoInterval> {
        let limit = match self.expression.limit {
            Limit::Times(times) => times,
            Limit::Change(change) => 1.0 + change,
            Limit::Absolute(_) => return Ok(false),
        };
        let operator = self.expression.operator;
        if !self.expression.significantly {
            return Ok(operator.holds(ratio, limit));
        }
        let (low, high) = interval?;
        let nearest = match operator {
            Operator::Above | Operator::AtLeast => low,
            Operator::Below | Operator::AtMost => high,
        };
        Ok(operator.holds(nearest, limit))
    }

    /// Why an expression about deadlines is not decided: values of a series have no time.
    fn lost(&self, run: usize, series: &SeriesSummary) -> Option<String> {
        if !is_about_deadlines(self.expression.metric) {
            return None;
        }
        let summary = &self.runs[run];
        let of_import = summary.loss_of_import().map(|it| it.words().to_owned());
        let lost = of_import.or_else(|| summary.never_arrived(&series.series))?;
        Some(format!("{lost}, and each may have missed the deadline"))
    }
}

/// Whether a figure exists only where a deadline was stated.
fn is_about_deadlines(metric: crate::compare::Metric) -> bool {
    use crate::compare::Metric::{LongestRun, MissRate, Misses, MissesPerHour};
    matches!(metric, Misses | MissRate | MissesPerHour | LongestRun)
}

/// Candidate divided by baseline. Zero against zero is 1, something against zero is beyond every ratio; below
/// zero there is no ratio.
fn ratio(before: f64, after: f64) -> Option<f64> {
    if before > 0.0 {
        Some(after / before)
    } else if before == 0.0 && after >= 0.0 {
        Some(if after == 0.0 { 1.0 } else { f64::INFINITY })
    } else {
        None
    }
}
