//! The suites of [Sticha2014] on the real roscpp: one-shot timer, cyclic timer and communication.

mod findings;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use kadenz::lab::probes::{self, BuildError, ServerKind};
use kadenz::record::run::messages::ONE_WAY_FROM_SEND;
use kadenz::report::document::{Document, Table};
use kadenz::report::numbers;
use kadenz::report::statistics::{Extreme, Percent};
use kadenz::report::summary::SeriesSummary;

use self::findings::Findings;
use super::steps::Step;
use super::{
    ExperimentPlan, Output, Row, StepRun, named, published, row_of, table, timers, value, whole,
};
use crate::options::{folder, waiting};

/// Measure whether ROS keeps deadlines with its timers and its publish-subscribe, as [Sticha2014]
///
/// The three suites of [Sticha2014] (docs/bibliography.md) with roscpp itself, through probes of `kadenz msg probes`
/// and a master of their own on loopback: with and without real-time priority, idle and busy, with the timeouts,
/// rates, payload and numbers of subscribers of [Sticha2014]; then each of its findings: confirmed, changed or gone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz experiment ros                             some minutes
  kadenz experiment ros --count 142000              more than a million values of each suite: an hour
  kadenz experiment ros --import ros-logs           with a folder of log files of [Sticha2014] beside it

Needs roscpp: apt-get install g++ libroscpp-dev libstd-msgs-dev python3-rosmaster")]
pub(crate) struct Options {
    /// Number of values of each measurement at 1 kHz; at 100 Hz and 10 ms a tenth of it
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(100..))]
    count: u64,

    /// A folder with log files of the suites of [Sticha2014], to import and show beside the results
    #[arg(long, value_name = "DIR", value_parser = folder())]
    import: Option<PathBuf>,

    #[command(flatten)]
    pub(super) output: Output,
}

/// A measurement of the plan, and the folder that holds it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cell {
    pub(super) suite: RosSuite,
    /// Timeout or rate.
    pub(super) wait: &'static str,
    pub(super) policy: &'static str,
    pub(super) busy: bool,
    /// Number of subscribers, for communication.
    pub(super) subscribers: u16,
}

/// The suites of [Sticha2014] that roscpp runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RosSuite {
    OneShot,
    Cyclic,
    Communication,
}

impl Cell {
    /// What it measures, and its run folder.
    fn name(&self) -> String {
        let suite = match self.suite {
            RosSuite::OneShot => "oneshot",
            RosSuite::Cyclic => "cyclic",
            RosSuite::Communication => "communication",
        };
        let subscribers = match (self.suite, self.subscribers) {
            (RosSuite::Communication, n) => format!("-{n}"),
            _ => String::new(),
        };
        let load = if self.busy { "busy" } else { "idle" };
        let policy = self.policy.replace(':', "");
        format!("{suite}-{}{subscribers}-{policy}-{load}", self.wait)
    }

    /// The `kadenz` command that measures it, of `count` samples.
    fn step(&self, count: u64) -> Step {
        let Self { wait, policy, .. } = self;
        let load = if self.busy { "busy" } else { "idle" };
        let timer = |suite: &str, option: &str| {
            format!(
                "timer {suite} --with roscpp_timers --deadline 400us {option} {wait} --count {count} --policy {policy} \
                 --load {load}"
            )
        };
        let command = match self.suite {
            RosSuite::OneShot => timer("oneshot", "--timeout"),
            RosSuite::Cyclic => timer("cyclic", "--rate"),
            RosSuite::Communication => format!(
                "msg latency --untold --with roscpp --rate {wait} --size 200B --count {count} --warm-up 0 --policy {policy} \
                 --subscribers {} --load {load} --queue 1000",
                self.subscribers
            ),
        };
        Step::new(self.name(), &command)
    }
}

/// The measurements, in their order.
fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut add = |suite, wait, policy, busy, subscribers| {
        cells.push(Cell {
            suite,
            wait,
            policy,
            busy,
            subscribers,
        });
    };
    for busy in [false, true] {
        for policy in ["other", "rr:95", "fifo:95"] {
            add(RosSuite::OneShot, "1ms", policy, busy, 1);
            add(RosSuite::Cyclic, "1kHz", policy, busy, 1);
            add(RosSuite::Communication, "1kHz", policy, busy, 1);
        }
    }
    for wait in ["10ms", "800us", "100us"] {
        add(RosSuite::OneShot, wait, "rr:95", false, 1);
    }
    for wait in ["100Hz", "4kHz"] {
        add(RosSuite::Cyclic, wait, "rr:95", false, 1);
    }
    add(RosSuite::Communication, "100Hz", "rr:95", false, 1);
    for policy in ["other", "rr:95"] {
        add(RosSuite::Communication, "1kHz", policy, false, 5);
    }
    cells
}

pub(super) fn plan(options: &Options) -> anyhow::Result<ExperimentPlan> {
    waiting("building the probes of roscpp", build)?;
    anyhow::ensure!(
        ServerKind::RosMaster.is_here(),
        "ROS's master is not here: {}",
        ServerKind::RosMaster.remedy()
    );
    let cells = cells();
    // First, so that an unreadable folder fails before an hour of measuring.
    let mut groups = match &options.import {
        Some(folder) => imports(folder)?,
        None => Vec::new(),
    };
    for cell in &cells {
        let is_slow = ["100Hz", "10ms"].contains(&cell.wait);
        let count = if is_slow {
            options.count / 10
        } else {
            options.count
        };
        groups.push(vec![cell.step(count)]);
    }
    Ok(ExperimentPlan {
        name: "ros",
        groups,
        tables: Box::new(move |runs| tables(&cells, runs).into()),
    })
}

/// Prefix of the names of imported runs.
const IMPORTED: &str = "imported-";

/// A step for each file of the folder, in the order of their names.
fn imports(folder: &Path) -> anyhow::Result<Vec<Vec<Step>>> {
    let cannot = || format!("cannot read the folder {}", folder.display());
    let entries: Vec<_> = std::fs::read_dir(folder)
        .and_then(Iterator::collect)
        .with_context(cannot)?;
    let mut files: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
    files.retain(|it| it.is_file());
    files.sort();
    anyhow::ensure!(
        !files.is_empty(),
        "the folder {} holds no file: `--import` takes the log files of the suites of 2014",
        folder.display()
    );
    let step = |(at, file): (usize, &PathBuf)| {
        let path = file.to_str().with_context(|| {
            format!(
                "{}: the command that imports it needs a name in UTF-8; rename the file",
                file.display()
            )
        })?;
        let name = file.file_stem().unwrap_or_default().display();
        let run = format!("{IMPORTED}{}-{name}", at + 1);
        let step = Step::new(run, "import --format bmwcarit").and_word(path);
        Ok(vec![step.may_fail()])
    };
    files.iter().enumerate().map(step).collect()
}

fn build() -> Result<(), BuildError> {
    for probe in ["roscpp", "roscpp_timers"]
        .into_iter()
        .filter_map(probes::probe)
    {
        probes::build(probe, &probes::cache())?;
    }
    Ok(())
}

const COMMUNICATION: &str =
    "publish-subscribe | values | min | mean | p50 | p99.9 | max | first message | lost";

/// Section 4.3: the sample output, figure 4.3 and the text on 1 kHz, figure 4.4; figure 5.4.
const PUBLISHED: [&str; 5] = [
    "2014, sample | 1,000 | 200 us | 205 us | - | - | 517 us | 517 us | 0",
    "2014, 100 Hz rr, 1 | 4,000,000 | 206 us | 224 us | - | - | 538 us | 538 us | -",
    "2014, 1 kHz rr, 1 | - | 193 us | 203 us | - | - | 340 us | - | -",
    "2014, 100 Hz rr, 5 | 2,000,000 | - | - | - | - | below 1.4 ms | - | -",
    "2014, every real-time run | 184,000,000 | about 200 us | - | - | - | below 1.6 ms | - | -",
];

fn tables(cells: &[Cell], runs: &[StepRun<'_>]) -> Document {
    let rows = runs.iter().flat_map(communication_rows);
    let communication = PUBLISHED
        .iter()
        .map(|it| published(COMMUNICATION, it))
        .chain(rows);
    let document = timers::tables(runs)
        .table(table(communication))
        .table(extremes(runs));
    let findings = Findings::of(cells, runs);
    document
        .heading("The findings of 2014, here")
        .table(findings.table())
}

/// The values of messages, a row for each subscriber.
fn communication_rows(StepRun { name, run }: &StepRun<'_>) -> Vec<Row> {
    let series: Vec<&SeriesSummary> = run.series.iter().filter(is_of_messages).collect();
    let messages = run.run.messages.as_ref();
    let lost = |at: usize| messages.and_then(|it| Some(it.subscribers.get(at)?.lost));
    let row = |(at, series): (usize, &&SeriesSummary)| {
        let cells = [
            named(&format!("{name} {}", at + 1), series),
            numbers::thousands(series.count),
            whole(series.min_ns),
            value(series.mean_ns),
            whole(series.percentile(Percent::P50)),
            whole(series.percentile(Percent::P99_9)),
            whole(series.max_ns),
            whole(first(series, 0)),
            lost(at).map_or_else(|| "-".to_owned(), numbers::thousands),
        ];
        row_of(COMMUNICATION, cells)
    };
    series.iter().enumerate().map(row).collect()
}

/// Whether the series is the latency of messages; the suite of 2014 has another name for it.
fn is_of_messages(series: &&SeriesSummary) -> bool {
    [ONE_WAY_FROM_SEND, "latency"].contains(&series.series.value())
}

/// The value of the first sample or of the second.
fn first(series: &SeriesSummary, place: usize) -> Option<i64> {
    Some(series.samples.as_ref()?.first.get(place)?.value_ns)
}

/// The ten highest values of each measurement and when they came, and the ten lowest: `|value:index|` as the suites print it.
fn extremes(runs: &[StepRun<'_>]) -> Table {
    let head = ["series", "ten highest, us:index", "ten lowest, us:index"];
    let is_meant = |it: &&SeriesSummary| {
        is_of_messages(it) || ["measured", "jitter"].contains(&it.series.value())
    };
    let list = |all: &[Extreme]| {
        let one = |it: &Extreme| format!("{}:{}", it.value_ns / 1000, it.index);
        all.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    let rows = runs.iter().flat_map(|StepRun { name, run }| {
        let series = run.series.iter().filter(is_meant);
        series.filter_map(move |it| {
            let samples = it.samples.as_ref()?;
            let series = format!("{name} {}", it.series.name);
            Some(vec![series, list(&samples.highest), list(&samples.lowest)])
        })
    });
    Table::new(&head, 3, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measurement_has_a_folder_of_its_own() {
        let folders: std::collections::BTreeSet<String> = cells().iter().map(Cell::name).collect();
        assert_eq!(folders.len(), cells().len());
        assert!(
            folders.contains("communication-1kHz-5-rr95-idle"),
            "{folders:?}"
        );
    }

    #[test]
    fn each_file_of_a_folder_is_imported_in_the_order_of_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.log", "a.log"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let steps = imports(folder.path()).unwrap();
        let folders: Vec<&str> = steps.iter().map(|it| it[0].folder()).collect();
        assert_eq!(folders, ["imported-1-a", "imported-2-b"]);
        assert!(imports(&folder.path().join("absent")).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_a_name_in_utf_8_is_refused() {
        use std::os::unix::ffi::OsStrExt as _;

        let folder = tempfile::tempdir().unwrap();
        let name = std::ffi::OsStr::from_bytes(b"r\xffn.log");
        std::fs::write(folder.path().join(name), "").unwrap();
        let refused = imports(folder.path()).err().map(|it| it.to_string());
        let refused = refused.unwrap_or_default();
        assert!(refused.contains("UTF-8; rename the file"), "{refused}");
    }

    #[test]
    fn without_runs_the_tables_hold_what_was_published() {
        let tables = tables(&cells(), &[]).markdown();
        assert!(tables.contains("| 2014, sample"), "{tables}");
        assert!(tables.contains("not measured"), "{tables}");
    }
}
