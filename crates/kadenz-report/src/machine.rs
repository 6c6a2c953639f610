//! The facts of the machine on which a run was measured.

use kadenz_record::run::model::Run;

use crate::figures::{duration, significant};
use crate::numbers;

/// The value of a fact; a function writes its times.
type Value = fn(&Run, fn(f64) -> String) -> Option<String>;

/// A fact: its name on a page, its words on a terminal with `{}` for the value, or none where a terminal leaves it out,
/// and its value.
type Fact = (&'static str, &'static str, Value);

/// The fact that a terminal leaves out at this value.
const VIRTUALISATION: &str = "Virtualisation";
const NOT_VIRTUALISED: &str = "none";

/// The facts in the order of their weight.
const FACTS: [Fact; 13] = [
    ("Processor", "{}", |run, _| run.host.cpu.clone()),
    ("CPUs online", "", |run, _| known(run.host.cpus.to_string())),
    ("Memory", "", |run, _| run.host.memory_bytes.map(memory)),
    ("System", "{}", |run, _| {
        run.host.os_release.clone().or(known(&run.host.os))
    }),
    ("Kernel", "kernel {}", |run, _| run.host.kernel.clone()),
    ("Preemption", "{}", |run, _| run.host.preemption.clone()),
    ("Clock source", "", |run, _| run.host.clock_source.clone()),
    ("Frequency governor", "governor {}", |run, _| {
        run.host.governor.clone()
    }),
    (VIRTUALISATION, "virtualised: {}", |run, _| {
        run.host.virtualisation.clone()
    }),
    ("Control group", "", |run, _| run.host.cgroup.clone()),
    ("Clock read", "clock {}", |run, _| known(&run.clock.name)),
    ("Cost of reading it", "{} a reading", |run, time| {
        Some(run.clock.read_cost_ns)
            .filter(|ns| *ns > 0.0)
            .map(time)
    }),
    ("Cost of recording a value", "", |run, time| {
        let cost = run.clock.record_cost_ns;
        cost.filter(|ns| *ns > 0.0).map(time)
    }),
];

/// A value, unless it is empty or zero.
fn known(value: impl Into<String>) -> Option<String> {
    Some(value.into()).filter(|it| !it.is_empty() && it != "0")
}

fn memory(bytes: u64) -> String {
    format!("{} GiB", significant(bytes as f64 / f64::from(1 << 30), 3))
}

/// Every fact for a page: its name, and its value or a dash.
pub(crate) fn facts(run: &Run) -> Vec<(String, String)> {
    let value = |it: Option<String>| it.unwrap_or_else(|| String::from("— not known"));
    let facts = FACTS.iter();
    let facts = facts.map(|(name, _, of)| ((*name).to_owned(), value(of(run, duration))));
    facts.collect()
}

/// The known facts in a line of a terminal. A machine that is not virtualised needs no words.
pub(crate) fn line(run: &Run) -> String {
    let is_shown = |name: &str, value: &str| name != VIRTUALISATION || value != NOT_VIRTUALISED;
    let facts = FACTS.iter().filter(|(_, words, _)| !words.is_empty());
    let facts = facts.filter_map(|(name, words, of)| {
        let value = of(run, numbers::span).filter(|it| is_shown(name, it))?;
        Some(words.replace("{}", &value))
    });
    facts.collect::<Vec<_>>().join(", ")
}
