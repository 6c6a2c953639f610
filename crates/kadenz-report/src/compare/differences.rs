//! Differences between runs besides their figures: a ratio between two machines means something else than one between
//! two versions of a program.

use std::collections::{BTreeMap, BTreeSet};

use kadenz_record::run::model::{Host, Run};
use schemars::JsonSchema;
use serde::Serialize;

use crate::numbers;
use crate::summary::Summary;

/// Something in which the runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// The setting: `kernel`, `governor`, `wakeup: policy`, `parameter load`, ...
    pub what: String,
    /// The setting of each run, in their order; empty where it is unknown.
    pub values: Vec<String>,
}

impl Difference {
    /// "governor: powersave in a, performance in b".
    #[must_use]
    pub fn sentence(&self, runs: &[String]) -> String {
        let each = |(value, run): (&String, &String)| {
            let value = if value.is_empty() {
                "not recorded"
            } else {
                value
            };
            format!("{value} in {run}")
        };
        let values: Vec<String> = self.values.iter().zip(runs).map(each).collect();
        format!("{}: {}", self.what, values.join(", "))
    }
}

/// A short name for each run: the last part of its folder, or all of it where two are alike.
pub(super) fn names(runs: &[Summary]) -> Vec<String> {
    let short = |run: &Summary| {
        run.shown()
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    };
    let distinct: BTreeSet<String> = runs.iter().map(short).collect();
    if distinct.len() == runs.len() && !distinct.contains("") {
        runs.iter().map(short).collect()
    } else {
        runs.iter()
            .map(|run| run.shown().display().to_string())
            .collect()
    }
}

/// Everything in which the runs differ, in a fixed order.
pub(super) fn of(runs: &[Summary], names: &[String]) -> Vec<Difference> {
    let shared = |name: &str| {
        runs.iter()
            .all(|run| run.series.iter().any(|series| series.series.name == name))
    };
    let facts: Vec<BTreeMap<(usize, String), String>> =
        runs.iter().map(|run| facts(run, &shared)).collect();
    let keys: BTreeSet<&(usize, String)> = facts.iter().flat_map(BTreeMap::keys).collect();
    debug_assert_eq!(runs.len(), names.len());
    keys.into_iter()
        .map(|key| Difference {
            what: key.1.clone(),
            values: facts
                .iter()
                .map(|f| f.get(key).cloned().unwrap_or_default())
                .collect(),
        })
        .filter(|difference| difference.values.windows(2).any(|pair| pair[0] != pair[1]))
        .collect()
}

/// The machine and the settings of a run, by order of display and name. Only series that are `shared` by all runs are
/// included: the others are reported as standing alone.
fn facts(summary: &Summary, shared: &dyn Fn(&str) -> bool) -> BTreeMap<(usize, String), String> {
    let Run {
        host,
        clock,
        kadenz,
        experiment,
        parameters,
        found,
        ..
    } = &summary.run;
    let mut facts = BTreeMap::new();
    let mut order = 0;
    let mut add = |what: &str, value: &str| {
        facts.insert((order, what.to_owned()), value.to_owned());
        order += 1;
    };
    add("experiment", experiment);
    for (what, value) in machine(host) {
        add(what, &value);
    }
    add("clock", &clock.name);
    add("version of Kadenz", kadenz);
    let complete = if summary.run.complete { "yes" } else { "no" };
    add("complete", complete);
    // What was granted, as a series has it, says more than what was requested.
    let is_measured = |name: &str| {
        let measure = match name {
            "lock_memory" => "memory_lock",
            "cpus" => "affinity",
            other => other,
        };
        let compared = summary.series.iter().map(|it| &it.series);
        let mut measures = compared
            .filter(|it| shared(&it.name))
            .flat_map(|it| &it.tuning);
        measures.any(|it| it.name == measure)
    };
    let settings = parameters.iter().filter(|(name, _)| !found.contains(*name));
    for (name, value) in settings.filter(|(name, _)| !is_measured(name)) {
        facts.insert((100, format!("parameter {name}")), value.to_string());
    }
    let all = summary.series.iter().map(|series| &series.series);
    for series in all.filter(|series| shared(&series.name)) {
        let mut add = |what: &str, value: String| {
            facts.insert((101, format!("{}: {what}", series.name)), value);
        };
        for measure in &series.tuning {
            let value = match measure.ok {
                // How much is locked varies from run to run.
                true if measure.name == "memory_lock" => measure.requested.clone(),
                true => measure.granted.clone(),
                false => format!("{} ({} was refused)", measure.granted, measure.requested),
            };
            add(&measure.name, value);
        }
        if let Some(interval) = series.expected_interval_ns {
            add("expected interval", numbers::span(interval as f64));
        }
        if let Some(deadline) = series.deadline_ns {
            add("deadline", numbers::span(deadline as f64));
        }
    }
    facts
}

fn machine(host: &Host) -> [(&'static str, String); 8] {
    let or_empty = |value: &Option<String>| value.clone().unwrap_or_default();
    [
        ("CPU", or_empty(&host.cpu)),
        ("CPUs", host.cpus.to_string()),
        (
            "operating system",
            format!("{} {}", host.os, or_empty(&host.os_release))
                .trim()
                .to_owned(),
        ),
        ("kernel", or_empty(&host.kernel)),
        ("preemption", or_empty(&host.preemption)),
        ("clock source", or_empty(&host.clock_source)),
        ("governor", or_empty(&host.governor)),
        ("virtualisation", or_empty(&host.virtualisation)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{named, run_of, series_of};
    use kadenz_record::run::model::{Kind, TuningMeasure};

    fn run(folder: &str, governor: Option<&str>, policy: &str) -> Summary {
        let mut series = named("wakeup", Kind::Lateness);
        let measure = TuningMeasure::granted("policy", policy);
        series.tuning.push(measure);
        let mut run = run_of(folder, vec![series_of(series, &[(1, 1)])]);
        run.run.host.governor = governor.map(str::to_owned);
        run
    }

    #[test]
    fn machines_and_tunings_are_distinguished() {
        let runs = [
            run("x/a", Some("powersave"), "SCHED_OTHER"),
            run("x/b", None, "SCHED_FIFO 80"),
        ];
        let names = names(&runs);
        let sentences: Vec<String> = of(&runs, &names)
            .iter()
            .map(|difference| difference.sentence(&names))
            .collect();
        assert_eq!(
            sentences,
            [
                "governor: powersave in a, not recorded in b",
                "wakeup: policy: SCHED_OTHER in a, SCHED_FIFO 80 in b",
            ]
        );
    }

    #[test]
    fn what_always_differs_is_no_difference() {
        let run_with = |found: u64, asked: &str| {
            let mut run = run(asked, None, "");
            run.run.host.cgroup = Some(format!("/user.slice/session-{found}.scope"));
            run.run.insert_found("messages_received", found);
            run.run.parameters.insert("pace".into(), asked.into());
            run
        };
        let of = |runs: &[Summary]| -> Vec<String> {
            of(runs, &names(runs))
                .into_iter()
                .map(|it| it.what)
                .collect()
        };
        assert_eq!(
            of(&[run_with(1, "a"), run_with(2, "b")]),
            ["parameter pace"]
        );
    }

    #[test]
    fn the_size_of_locked_memory_is_no_difference() {
        let run_with = |locked: &str| {
            let mut run = run("x", None, "SCHED_OTHER");
            let granted = TuningMeasure::granted("memory_lock", locked);
            let measure = TuningMeasure {
                requested: "locked memory".to_owned(),
                ..granted
            };
            run.series[0].series.tuning.push(measure);
            run
        };
        let runs = [run_with("164820 kB locked"), run_with("164824 kB locked")];
        assert_eq!(of(&runs, &names(&runs)), []);
    }

    #[test]
    fn equal_runs_differ_in_nothing() {
        let runs = [run("a", None, "SCHED_OTHER"), run("b", None, "SCHED_OTHER")];
        assert_eq!(of(&runs, &names(&runs)), []);
    }

    #[test]
    fn runs_of_the_same_name_keep_their_path() {
        let runs = [run("x/a", None, ""), run("y/a", None, "")];
        assert_eq!(names(&runs), ["x/a", "y/a"]);
    }
}
