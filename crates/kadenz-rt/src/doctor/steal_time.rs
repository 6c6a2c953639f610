//! Time that the hypervisor took from this machine.

use crate::host::cpu_time::CpuTime;

use super::{Check, Finding, Machine, Severity};

pub(super) struct StealTime;

const ID: &str = "steal-time";

impl Check for StealTime {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let finding = match CpuTime::read(machine.root) {
            Ok(time) => judge(machine, time),
            Err(why) => Finding::unknown(ID, "stolen time", &why),
        };
        vec![finding]
    }
}

fn judge(machine: &Machine<'_>, time: CpuTime) -> Finding {
    let CpuTime { stolen, all } = time;
    let evidence = format!("/proc/stat: steal {stolen} of {all} ticks since boot");
    if stolen == 0 && machine.is_virtual() {
        return Finding::new(ID, Severity::Note, "the hypervisor reports no stolen time")
            .cost("nothing seen; not every hypervisor reports what it takes")
            .evidence(evidence);
    }
    if stolen == 0 {
        return Finding::fine(ID, "no CPU time was stolen", evidence);
    }
    let percent = time.stolen_percent();
    let severity = if percent >= 1.0 {
        Severity::Spoils
    } else {
        Severity::Costs
    };
    Finding::new(
        ID,
        severity,
        format!("the hypervisor took {percent:.2} % of the CPU time"),
    )
    .cost(
        "while the hypervisor runs somebody else this machine stands still (proc_stat(5), \
             steal); a small shared virtual machine showed gaps of 2 to 8 ms",
    )
    .evidence(evidence)
    .remedy("move the machine to a host that is not overcommitted, or pin its CPUs (vcpupin)")
}
