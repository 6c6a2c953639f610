//! The two timer suites of [Sticha2014], sections 4.1 and 4.2.

use clap::Args;
use kadenz::record::run::labels::SLEEPER;
use kadenz::report::numbers;
use kadenz::report::statistics::Percent;
use kadenz::report::summary::{SeriesSummary, Summary};

use super::steps::Step;
use super::{
    DEADLINE_NS, ExperimentPlan, Output, Row, StepRun, named, published, row_of, table, value,
    whole,
};
use kadenz::report::document::Document;

/// Measure whether a timer keeps a timeout and a rate, at every policy, idle and busy
///
/// The one-shot and the cyclic suite of [Sticha2014] (docs/bibliography.md), with its policies, loads, timeouts and
/// rates and its 400 us deadline, then with every sleeper, beside its figures for the timers of ROS.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz experiment timers                            six minutes
  kadenz experiment timers --count 2000000            as many as in the plots of [Sticha2014]: 17 hours")]
pub(crate) struct Options {
    /// Number of timeouts of 1 ms for each timer; at 10 ms a tenth of it
    #[arg(long = "count", value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(10..))]
    repetitions: u64,

    #[command(flatten)]
    pub(super) output: Output,
}

pub(super) fn plan(options: &Options) -> ExperimentPlan {
    let n = options.repetitions;
    let mut groups = Vec::new();
    let mut add = |suite: TimerSuite, wait: &str, policy: &str, load: &str, n: u64| {
        groups.push(vec![step(suite, wait, policy, load, n, "nanosleep")]);
    };
    for load in ["idle", "busy"] {
        for policy in ["other", "rr:95", "fifo:95"] {
            add(TimerSuite::OneShot, "1ms", policy, load, n);
            add(TimerSuite::Cyclic, "1kHz", policy, load, n);
        }
    }
    for (wait, n) in [("10ms", n / 10), ("800us", n), ("1us", n)] {
        add(TimerSuite::OneShot, wait, "rr:95", "idle", n);
    }
    for (wait, n) in [("100Hz", n / 10), ("4kHz", n)] {
        add(TimerSuite::Cyclic, wait, "rr:95", "idle", n);
    }
    for (suite, wait) in [(TimerSuite::OneShot, "1ms"), (TimerSuite::Cyclic, "1kHz")] {
        groups.push(vec![step(suite, wait, "rr:95", "idle", n, "all")]);
    }
    ExperimentPlan {
        name: "timers",
        groups,
        tables: Box::new(|runs| tables(runs).into()),
    }
}

/// The two timer suites of [Sticha2014].
#[derive(Clone, Copy)]
enum TimerSuite {
    OneShot,
    Cyclic,
}

fn step(suite: TimerSuite, wait: &str, policy: &str, load: &str, n: u64, sleeper: &str) -> Step {
    let (name, option) = match suite {
        TimerSuite::OneShot => ("oneshot", "--timeout"),
        TimerSuite::Cyclic => ("cyclic", "--rate"),
    };
    let measured = format!("{name}-{wait}-{}-{load}", policy.replace(':', ""));
    let folder = match sleeper {
        "all" => format!("{measured}-every-sleeper"),
        _ => measured.clone(),
    };
    let command = format!(
        "timer {name} {option} {wait} --count {n} --policy {policy} --load {load} \
         --sleeper {sleeper} --deadline 400us"
    );
    Step::new(folder, &command).named(measured)
}

const ONESHOT: &str = "one-shot timer | values | min | mean | p50 | p99.9 | max | above 400 us | difference to reported, mean | largest";

/// Section 4.1: the sample output; the text on 10 ms, on figure 4.1 and on deadlines. A timeout of
/// 800 us lasted 1 ms.
const ONESHOT_STICHA2014: [&str; 4] = [
    "ROS, 1ms rr, sample | 1,000 | 60 us | 101 us | - | - | 138 us | 0 | 9 us | 29 us",
    "ROS, 1ms rr, figure 4.1 | 2,000,000 | 55 us | 98 us | - | - | 177 us | 0 | - | -",
    "ROS, 10ms rr | - | - | 150 us | - | - | - | - | - | -",
    "ROS, every real-time run | 94,000,000 | - | - | - | - | 525 us | 1 | below 10 us | below 80 us",
];

const CYCLIC: &str = "cyclic timer, jitter | values | min | mean | SD | p99 | p99.9 | max | above 400 us | clusters of early wake-ups";

/// Section 4.2: the sample output, and the text on clusters and figure 5.3.
const CYCLIC_STICHA2014: [&str; 2] = [
    "ROS, 1kHz rr, sample | 1,000 | -961 us | 0 us | - | - | - | 170 us | 0 | -",
    "ROS, every real-time run | 32,000,000 | -1 ms | 0 us | - | - | - | 400 us | 0 | 12 % at -900 us",
];

pub(super) fn tables(runs: &[StepRun<'_>]) -> Document {
    let here = |suite: &'static str, row: fn(&RunSeries<'_>) -> Row| {
        let shown = runs.iter().flat_map(|run| RunSeries::of(run, suite));
        shown.map(|it| row(&it)).collect::<Vec<_>>()
    };
    let oneshot = ONESHOT_STICHA2014.iter().map(|it| published(ONESHOT, it));
    let cyclic = CYCLIC_STICHA2014.iter().map(|it| published(CYCLIC, it));
    Document::new()
        .table(table(oneshot.chain(here("measured", oneshot_row))))
        .table(table(cyclic.chain(here("jitter", cyclic_row))))
}

/// A series of a run, and the run.
struct RunSeries<'a> {
    /// Name of the run, with the sleeper where there are several.
    name: String,
    run: &'a Summary,
    series: &'a SeriesSummary,
}

impl<'a> RunSeries<'a> {
    /// The series of a run with the name `wanted`, one for each sleeper.
    fn of(StepRun { name, run }: &StepRun<'a>, wanted: &'static str) -> impl Iterator<Item = Self> {
        let (measured, run) = (*name, *run);
        run.series.iter().filter_map(move |series| {
            if series.series.value() != wanted {
                return None;
            }
            let sleeper = series.series.label(SLEEPER).unwrap_or_default();
            let name = format!("{measured} {sleeper}");
            Some(Self {
                name: named(name.trim_end(), series),
                run,
                series,
            })
        })
    }

    /// Another series of the same sleeper.
    fn beside(&self, value: &str) -> Option<&'a SeriesSummary> {
        let sleeper = self.series.series.label(SLEEPER);
        let mut all = self.run.series.iter();
        all.find(|it| it.series.value() == value && it.series.label(SLEEPER) == sleeper)
    }

    fn above_deadline(&self) -> String {
        numbers::thousands(self.series.count_above(DEADLINE_NS))
    }
}

fn oneshot_row(shown: &RunSeries<'_>) -> Row {
    let series = shown.series;
    let difference = shown.beside("difference");
    let cells = [
        shown.name.clone(),
        numbers::thousands(series.count),
        whole(series.min_ns),
        value(series.mean_ns),
        whole(series.percentile(Percent::P50)),
        whole(series.percentile(Percent::P99_9)),
        whole(series.max_ns),
        shown.above_deadline(),
        value(difference.and_then(|it| it.mean_ns)),
        whole(difference.and_then(|it| it.max_ns)),
    ];
    row_of(ONESHOT, cells)
}

fn cyclic_row(shown: &RunSeries<'_>) -> Row {
    let series = shown.series;
    let clusters = series.early_clusters.iter().map(|cluster| {
        let share = cluster.share * 100.0;
        format!(
            "{share:.1} % at {}",
            numbers::value(cluster.centre_ns as f64)
        )
    });
    let clusters: Vec<String> = clusters.collect();
    let cells = [
        shown.name.clone(),
        numbers::thousands(series.count),
        whole(series.min_ns),
        value(series.mean_ns),
        value(series.stddev_ns),
        whole(series.percentile(Percent::P99)),
        whole(series.percentile(Percent::P99_9)),
        whole(series.max_ns),
        shown.above_deadline(),
        if clusters.is_empty() {
            "none".to_owned()
        } else {
            clusters.join(", ")
        },
    ];
    row_of(CYCLIC, cells)
}
