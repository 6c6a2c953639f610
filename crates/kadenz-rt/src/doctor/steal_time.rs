//! Time that the hypervisor took from this machine.

use crate::host::ReadFactError;

use super::{Check, Finding, Machine, Severity};

pub(super) struct StealTime;

const ID: &str = "steal-time";
const PATH: &str = "/proc/stat";

impl Check for StealTime {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let finding = match read(machine) {
            Ok((steal, all)) => judge(machine, steal, all),
            Err(why) => Finding::unknown(ID, "stolen time", &why),
        };
        vec![finding]
    }
}

/// Stolen ticks and all ticks since boot, `proc_stat(5)`.
fn read(machine: &Machine<'_>) -> Result<(u64, u64), ReadFactError> {
    let text = machine.root.read(PATH)?;
    let line = text.lines().next().unwrap_or("");
    let ticks: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    // user nice system idle iowait irq softirq steal; guest time is part of user time.
    match ticks.get(..8) {
        Some(ticks) => Ok((
            ticks[7],
            ticks.iter().fold(0, |sum, n| n.saturating_add(sum)),
        )),
        None => Err(ReadFactError::strange(
            PATH,
            line,
            "a line cpu with eight numbers",
        )),
    }
}

fn judge(machine: &Machine<'_>, steal: u64, all: u64) -> Finding {
    let evidence = format!("{PATH}: steal {steal} of {all} ticks since boot");
    if steal == 0 && machine.is_virtual() {
        return Finding::new(ID, Severity::Note, "the hypervisor reports no stolen time")
            .cost("nothing seen; not every hypervisor reports what it takes")
            .evidence(evidence);
    }
    if steal == 0 {
        return Finding::fine(ID, "no CPU time was stolen", evidence);
    }
    let percent = steal as f64 / all.max(1) as f64 * 100.0;
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
