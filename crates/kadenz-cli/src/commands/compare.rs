//! `kadenz compare`.

use std::borrow::Cow;
use std::path::PathBuf;

use clap::Args;
use kadenz::report::compare::fail_if::{self, FailIf};
use kadenz::report::compare::{CompareOptions, Comparison};
use kadenz::report::document::{Answer, Document};
use kadenz::report::html;
use kadenz::report::json::ComparisonOutput;
use kadenz::report::run_documents;
use kadenz::report::statistics::Percent;
use kadenz::report::summary::Summary;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::outcome::{self, Reading};
use crate::options::{Span, waiting};
use crate::output::{self, Outcome, Reply};

/// Compare runs with the first one, with confidence; fail where a limit is crossed.
///
/// Ratios come with 95 % intervals, computed from the differences between the intervals of each log, with their
/// correlation. Only differences that chance hardly explains, all figures together, are marked. Changes slower than
/// the length of a run are not in them. Series are matched by name.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz compare before after
  kadenz compare before after --fail-if 'p99.9 > 1.2x' --fail-if 'misses > 0'
  kadenz compare before after --fail-if 'lateness: p99 > 1.1x significantly' --report both.html
  kadenz compare run --fail-if 'max > 2ms'          one run against absolute limits
  kadenz compare a.hlog b.hlog --deadline 1ms --fail-if 'misses > 0'
  kadenz compare jhiccup.hlog night                 another program's file, and a run

Exit codes: 0 nothing crossed, 1 a limit was crossed, 2 an expression could not be decided.")]
pub(crate) struct Options {
    /// Run folders, or files that `kadenz import` takes; the first is the baseline
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// Fail (exit code 1) if this holds: [SERIES:] FIGURE OPERATOR LIMIT [significantly]
    #[arg(long, value_name = "EXPRESSION")]
    fail_if: Vec<FailIf>,

    /// The limit to count misses by, instead of the runs' own [default: the runs']
    #[arg(long, value_name = "SPAN")]
    deadline: Option<Span>,

    /// Print every series and figure, not only the main ones
    #[arg(long)]
    details: bool,

    /// Write a page with all runs in the same diagrams
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let reading = Reading {
        deadline: options.deadline,
        ..Reading::default()
    };
    let runs = outcome::read_with(options.runs.iter().map(PathBuf::as_path), reading)?;
    let wanted = CompareOptions {
        percentiles: asked_for(&options.fail_if),
        ..CompareOptions::default()
    };
    let comparison = waiting("comparing the runs", || Comparison::new(&runs, &wanted));
    let tested = fail_if::check(&options.fail_if, &runs, &comparison);
    let outcome = match tested.exit_code() {
        0 => Outcome::Kept,
        1 => Outcome::Missed,
        _ => Outcome::Incomplete,
    };
    let violations = tested.violations.iter().map(|it| format!("failed: {it}"));
    let undecided = tested.undecided.iter().map(ToString::to_string);
    let notes: Vec<String> = violations.chain(undecided).collect();
    let page = options.report.as_ref();
    let written = page.map(|page| html::write(&runs, page)).transpose();
    let compared = Compared {
        runs,
        comparison,
        tested,
        details: options.details,
    };
    let reply = Reply::from(compared).notes(notes);
    Ok(match written {
        Err(error) => reply.and_error(error.into()),
        Ok(_) => reply
            .notes(page.map(|it| format!("report: {}", it.display())))
            .with(outcome),
    })
}

/// Comparison of runs.
struct Compared {
    runs: Vec<Summary>,
    comparison: Comparison,
    tested: fail_if::Outcome,
    details: bool,
}

impl Serialize for Compared {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        ComparisonOutput::new(&self.runs, &self.comparison, &self.tested).serialize(to)
    }
}

impl JsonSchema for Compared {
    fn schema_name() -> Cow<'static, str> {
        ComparisonOutput::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        ComparisonOutput::json_schema(generator)
    }
}

impl Answer for Compared {
    fn document(&self) -> Document {
        let (comparison, runs) = (&self.comparison, self.runs.as_slice());
        match runs.len() {
            1 if output::is_quiet() => run_documents::headline(runs).into(),
            _ if output::is_quiet() => {
                let answer = comparison.answer(runs);
                run_documents::first_sentence(&answer).to_owned().into()
            }
            1 => run_documents::summaries(runs),
            _ if self.details => run_documents::comparison(comparison, runs),
            _ => run_documents::comparison_answer(comparison, runs),
        }
    }
}

/// Percentiles that an expression names; they are compared too.
fn asked_for(expressions: &[FailIf]) -> Vec<Percent> {
    expressions.iter().filter_map(FailIf::percentile).collect()
}
