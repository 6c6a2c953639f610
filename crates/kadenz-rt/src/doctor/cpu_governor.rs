//! The CPU frequency governor.

use crate::host::governor_path;

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct CpuGovernor;

const ID: &str = "cpu-governor";

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
    let evidence = format!("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor: {governor}");
    if governor == "performance" {
        return Finding::fine(ID, "the CPU frequency governor is performance", evidence);
    }
    Finding::new(
        ID,
        Severity::Costs,
        format!("the CPU frequency governor is {governor}"),
    )
    .cost(
        "after idle the clock is low: the same code runs slower by the ratio of the frequencies \
             until the governor has raised it, and the change itself stops the core (tens to \
             hundreds of microseconds, see cpuinfo_transition_latency)",
    )
    .evidence(evidence)
    .remedy(remedy::sysfs(
        "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        "performance",
    ))
}
