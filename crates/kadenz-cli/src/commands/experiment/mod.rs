//! `kadenz experiment`: repeats published measurements of Kadenz's sources on this machine.

mod hiccups;
mod messages;
mod network;
mod ros;
mod steps;
mod timers;
mod tuning;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use kadenz::report::document::{Answer, Document, Table};
use kadenz::report::summary::{SeriesSummary, Summary};
use kadenz::report::{html, numbers};
use schemars::JsonSchema;
use serde::Serialize;
use steps::Step;

use super::interrupt::stop_on_interrupt;
use super::outcome;
use crate::options::{folder, folder_or_now};
use crate::output::{self, Outcome, Reply};

/// Repeat a published experiment here, and set the result beside the published one
///
/// Each experiment is a series of ordinary commands, which are printed as they run. The folder gets a run folder for
/// each, `table.md` and `report.html`.
#[derive(Debug, Subcommand)]
pub(crate) enum Experiment {
    Hiccups(hiccups::Options),
    Messages(messages::Options),
    Network(network::Options),
    Ros(ros::Options),
    Timers(timers::Options),
    Tuning(tuning::Options),
}

/// Options of every experiment.
#[derive(Debug, Args)]
struct Output {
    /// Folder to write [default: kadenz-<EXPERIMENT>-<TIME> in this folder]
    #[arg(long, value_name = "DIR", value_parser = folder(), help_heading = "Output")]
    out: Option<PathBuf>,
}

/// Makes tables of the runs.
type Tables = Box<dyn Fn(&[StepRun<'_>]) -> ExperimentSummary>;

/// A finished run, with what its step measures.
#[derive(Clone, Copy)]
struct StepRun<'a> {
    name: &'a str,
    run: &'a Summary,
}

/// A published experiment.
struct ExperimentPlan {
    name: &'static str,
    /// Groups of steps; the steps of a group run at the same time.
    groups: Vec<Vec<Step>>,
    /// Makes the tables of the finished runs.
    tables: Tables,
}

/// Tables and figures of an experiment.
struct ExperimentSummary {
    document: Document,
    /// Figures of the experiment `messages`.
    messages: Option<messages::MessageFigures>,
}

impl From<Document> for ExperimentSummary {
    fn from(document: Document) -> Self {
        Self {
            document,
            messages: None,
        }
    }
}

pub(crate) fn run(experiment: &Experiment) -> anyhow::Result<Reply> {
    match experiment {
        Experiment::Hiccups(options) => play(&hiccups::plan(options), &options.output),
        Experiment::Messages(options) => play(&messages::plan(options)?, &options.output),
        Experiment::Network(options) => network::run(options),
        Experiment::Ros(options) => play(&ros::plan(options)?, &options.output),
        Experiment::Timers(options) => play(&timers::plan(options), &options.output),
        Experiment::Tuning(options) => play(&tuning::plan(options), &options.output),
    }
}

fn play(plan: &ExperimentPlan, output: &Output) -> anyhow::Result<Reply> {
    let folder = folder_or_now(output.out.as_deref(), plan.name);
    prepare(&folder)?;
    let stop = stop_on_interrupt()?;
    let mut made = Vec::new();
    for (index, group) in plan.groups.iter().enumerate() {
        if stop.requested() {
            break;
        }
        output::note(&format!("step {} of {}", index + 1, plan.groups.len()));
        let ended = steps::run(group, &folder, &stop);
        let runs = group
            .iter()
            .map(|step| (step.name(), folder.join(step.folder())));
        made.extend(runs.filter(|(_, run)| run.join("run.json").exists()));
        if let Err(error) = ended {
            // The tables hold what was measured before.
            let before = report_runs(plan, &folder, &made);
            return Ok(before
                .unwrap_or_else(|more| Reply::from(Outcome::Kept).note(format!("{more:#}")))
                .and_error(error));
        }
    }
    let reply = report_runs(plan, &folder, &made)?;
    Ok(match stop.requested() {
        true => reply
            .note("ended before its last step: the tables hold what was measured until then")
            .with(Outcome::Incomplete),
        false => reply,
    })
}

fn prepare(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut inside = std::fs::read_dir(folder)
        .with_context(|| format!("cannot look into {}", folder.display()))?;
    anyhow::ensure!(
        inside.next().is_none(),
        "the folder {} is not empty: name another one with `--out`",
        folder.display()
    );
    Ok(())
}

fn report_runs(
    plan: &ExperimentPlan,
    folder: &Path,
    made: &[(&str, PathBuf)],
) -> anyhow::Result<Reply> {
    anyhow::ensure!(!made.is_empty(), "nothing was measured");
    let runs = outcome::read(made.iter().map(|(_, run)| run.as_path()))?;
    let named = made.iter().zip(&runs);
    let named = named.map(|((name, _), run)| StepRun { name, run });
    let (table, page) = (folder.join("table.md"), folder.join("report.html"));
    let tables = (plan.tables)(&named.collect::<Vec<_>>());
    let repeated = Repeated {
        folder: folder.to_owned(),
        table: table.clone(),
        report: page.clone(),
        messages: tables.messages,
        tables: tables.document,
        runs,
    };
    std::fs::write(&table, repeated.tables.markdown())
        .with_context(|| format!("cannot write a table into {}", folder.display()))?;
    html::write(&repeated.runs, &page)?;
    Ok(Reply::from(repeated).note(format!(
        "runs, table.md and report.html: {}",
        folder.display()
    )))
}

/// Result of a published experiment, repeated here.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Repeated {
    /// Run of each step.
    #[serde(flatten, serialize_with = "outcome::as_output")]
    #[schemars(with = "kadenz::report::json::Output<'static>")]
    runs: Vec<Summary>,
    /// Folder of all runs.
    folder: PathBuf,
    /// Measured values beside the published ones, as Markdown.
    table: PathBuf,
    /// Page of the result.
    report: PathBuf,
    /// Latencies of each middleware, for the experiment `messages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<messages::MessageFigures>,
    #[serde(skip)]
    tables: Document,
}

impl Answer for Repeated {
    fn document(&self) -> Document {
        self.tables.clone()
    }
}

/// The deadline of [Sticha2014], from the tests of PREEMPT_RT.
const DEADLINE_NS: i64 = 400_000;

/// The first series of a run with this value.
fn valued<'a>(run: &'a Summary, value: &str) -> Option<&'a SeriesSummary> {
    run.series.iter().find(|it| it.series.value() == value)
}

/// A row: each cell with the header of its column.
type Row = Vec<(&'static str, String)>;

/// A table of rows that have the same columns, names first.
fn table(rows: impl IntoIterator<Item = Row>) -> Table {
    let rows: Vec<Row> = rows.into_iter().collect();
    let first = rows.first().into_iter().flatten();
    let head: Vec<&str> = first.map(|(head, _)| *head).collect();
    let cells = |row: Row| row.into_iter().map(|(_, cell)| cell).collect();
    Table::new(&head, 1, rows.into_iter().map(cells).collect())
}

/// A row under these headers, which `|` separates.
fn row_of(head: &'static str, cells: impl IntoIterator<Item = String>) -> Row {
    head.split(" | ").zip(cells).collect()
}

/// A row as a source gives it, its cells separated by `|` as well.
fn published(head: &'static str, cells: &str) -> Row {
    row_of(head, cells.split('|').map(|it| it.trim().to_owned()))
}

/// The name of a row, with a note where its policy was refused.
fn named(name: &str, series: &SeriesSummary) -> String {
    let tuning = &series.series.tuning;
    let refused = tuning
        .iter()
        .find(|measure| measure.name == "policy" && !measure.ok);
    match refused {
        Some(policy) => format!("{name} (refused: {})", policy.granted),
        None => name.to_owned(),
    }
}

/// Nanoseconds; `-` for a value that the source omits, or that the sample does not support.
fn value(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), numbers::value)
}

/// As [`value`], of whole nanoseconds.
fn whole(ns: Option<i64>) -> String {
    value(ns.map(|ns| ns as f64))
}
