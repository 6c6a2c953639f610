//! The experiment of [Enner2016], on latency and operating systems: jHiccup on an
//! idle machine for a day, with ordinary and with real-time priority.

use clap::Args;
use kadenz::report::numbers;
use kadenz::report::statistics::Percent;
use kadenz::report::summary::SeriesSummary;

use super::steps::Step;
use super::{ExperimentPlan, Output, Row, StepRun, named, published, row_of, table, value, whole};
use crate::options::Span;
use kadenz::report::document::Document;

/// Measure how long a sleeping thread is held back, ordinary and at real-time priority
///
/// jHiccup's measurement on an idle machine, as an ordinary process and at SCHED_FIFO 98 at the same
/// time, beside the table of [Enner2016] (docs/bibliography.md). `report.html` draws the distribution
/// against the Gaussian of the same mean and deviation, as figure 6 of [Enner2016].
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz experiment hiccups                    ten minutes
  kadenz experiment hiccups --duration 24h     as long as [Enner2016]")]
pub(crate) struct Options {
    /// How long to measure
    #[arg(long, value_name = "SPAN", default_value = "10min")]
    duration: Span,

    #[command(flatten)]
    pub(super) output: Output,
}

const HEAD: &str = "system | samples | mean | SD | p50 | p99.9 | p99.99 | max | (max-mean)/SD";

/// The table of [Enner2016]; its percentiles are in figures only.
const POST: [&str; 4] = [
    "Enner2016, Windows 10 | 80,304,595 | 0.55 ms | 0.37 ms | - | - | - | 17.17 ms | 44.9",
    "Enner2016, OSX 10.9.5 | 65,282,969 | 0.32 ms | 0.03 ms | - | - | - | 12.65 ms | 411",
    "Enner2016, Ubuntu 16.04 | 78,039,162 | 0.10 ms | 0.01 ms | - | - | - | 3.03 ms | 293",
    "Enner2016, Scientific Linux 6.6-rt | 79,753,643 | 0.08 ms | 0.01 ms | - | - | - | 0.15 ms | 7",
];

pub(super) fn plan(options: &Options) -> ExperimentPlan {
    let command = format!(
        "hiccup --resolution 1ms --interval 1s --duration {}",
        options.duration
    );
    ExperimentPlan {
        name: "hiccups",
        groups: vec![vec![
            Step::new("ordinary", &command),
            Step::new("realtime", &format!("{command} --policy fifo:98")),
        ]],
        tables: Box::new(|runs| tables(runs).into()),
    }
}

fn tables(runs: &[StepRun<'_>]) -> Document {
    let post = POST.iter().map(|cells| published(HEAD, cells));
    let here = runs.iter().flat_map(|StepRun { name, run }| {
        run.named("hiccup")
            .map(|hiccups| row(&format!("here, {name}"), hiccups))
    });
    Document::new().table(table(post.chain(here)))
}

fn row(system: &str, hiccups: &SeriesSummary) -> Row {
    let in_sd = hiccups.max_in_stddevs;
    let cells = [
        named(system, hiccups),
        numbers::thousands(hiccups.count),
        value(hiccups.mean_ns),
        value(hiccups.stddev_ns),
        whole(hiccups.percentile(Percent::P50)),
        whole(hiccups.percentile(Percent::P99_9)),
        whole(hiccups.percentile(Percent::P99_99)),
        whole(hiccups.max_ns),
        in_sd.map_or_else(|| "-".to_owned(), |it| format!("{it:.1}")),
    ];
    row_of(HEAD, cells)
}
