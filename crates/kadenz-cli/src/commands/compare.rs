//! `kadenz compare`.

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
use schemars::JsonSchema;
use serde::Serialize;

use super::outcome::{self, Reading};
use crate::options::{Span, waiting};
use crate::output::{self, Outcome};

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

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
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
    output::answer(&Compared {
        output: ComparisonOutput::new(&runs, &comparison, &tested),
        runs: &runs,
        comparison: &comparison,
        details: options.details,
    })?;
    for violation in &tested.violations {
        output::note(&format!("failed: {violation}"));
    }
    for undecided in &tested.undecided {
        output::note(&format!("{undecided}"));
    }
    if let Some(page) = &options.report {
        html::write(&runs, page)?;
        output::note(&format!("report: {}", page.display()));
    }
    Ok(match tested.exit_code() {
        0 => Outcome::Kept,
        1 => Outcome::Missed,
        _ => Outcome::Incomplete,
    })
}

/// Comparison of runs.
#[derive(Serialize, JsonSchema)]
struct Compared<'a> {
    #[serde(flatten)]
    output: ComparisonOutput<'a>,
    #[serde(skip)]
    runs: &'a [Summary],
    #[serde(skip)]
    comparison: &'a Comparison,
    #[serde(skip)]
    details: bool,
}

impl Answer for Compared<'_> {
    fn document(&self) -> Document {
        let (comparison, runs) = (self.comparison, self.runs);
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
