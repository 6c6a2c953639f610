//! The CPU frequency governor.

use crate::host::governor_path;

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct CpuGovernor;

const ID: &str = "cpu-governor";
const ALL: &str = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";

impl Check for CpuGovernor {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let Some(governor) = machine.facts.governor.as_deref() else {
        return Finding::new(ID, Severity::Note, "CPU frequency governor: not known")
            .cost("not known; a virtual machine leaves the frequency to its host")
            .evidence(format!("not known here: {} absent", governor_path(0)));
    };
    let folder = "/sys/devices/system/cpu/cpu0/cpufreq";
    let latency = machine
        .root
        .read_number(&format!("{folder}/cpuinfo_transition_latency"));
    let change = match latency {
        // Drivers that do not know report the highest number there is.
        Ok(ns) if (1..10_000_000).contains(&ns) => {
            format!("; cpuinfo_transition_latency: {} us a change", ns / 1000)
        }
        _ => String::new(),
    };
    let evidence = format!("{ALL}: {governor}{change}");
    if governor == "performance" {
        return Finding::fine(ID, "the CPU frequency governor is performance", evidence);
    }
    Finding::new(
        ID,
        Severity::Costs,
        format!("the CPU frequency governor is {governor}"),
    )
    .cost(
        "after idle the clock is low, so the same code takes longer by the ratio of the \
             frequencies until the governor has raised it, and each change takes the driver's \
             transition latency (kernel documentation cpufreq; F. Enner's blog post on latency in \
             robotics switched it off, `cpuspeed off`)",
    )
    .evidence(evidence)
    .remedy(remedy::sysfs(ALL, "performance"))
}
