//! Read-copy-update: where the kernel frees memory behind the readers' back.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct Rcu;

const ID: &str = "rcu-callbacks";
const EXPEDITED: &str = "/sys/kernel/rcu_expedited";

impl Check for Rcu {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let mut findings = vec![callbacks(machine)];
        findings.extend(expedited(machine));
        findings
    }
}

fn callbacks(machine: &Machine<'_>) -> Finding {
    if let Err(why) = machine.root.read("/proc/cmdline") {
        return Finding::unknown(ID, "RCU callbacks", &why);
    }
    // nohz_full implies rcu_nocbs for its CPUs.
    for name in ["rcu_nocbs", "nohz_full"] {
        if let Some(list) = machine.parameter(name) {
            let evidence = format!("/proc/cmdline: {name}={list}");
            return Finding::fine(ID, "RCU callbacks run on other CPUs", evidence);
        }
    }
    let isolated = !machine.isolated_cpus().is_empty();
    let severity = if isolated {
        Severity::Costs
    } else {
        Severity::Note
    };
    let finding = Finding::new(ID, severity, "RCU callbacks run on the loop's CPU too")
        .cost(
            "the kernel frees memory there in soft interrupts or rcuc threads, in batches that grow \
             with file and network work (kernel documentation kernel-per-CPU-kthreads)",
        )
        .evidence("/proc/cmdline: neither rcu_nocbs= nor nohz_full=");
    match machine.loop_cpus() {
        Some(cpu) => finding.remedy(remedy::kernel_parameter(
            machine,
            &format!("rcu_nocbs={cpu}"),
        )),
        None => finding,
    }
}

fn expedited(machine: &Machine<'_>) -> Option<Finding> {
    let value = machine.root.read_number(EXPEDITED).ok()?;
    if value == 0 {
        return None;
    }
    Some(
        Finding::new(ID, Severity::Costs, "RCU grace periods are expedited")
            .cost(
                "each of them interrupts other CPUs, which degrades real-time latency (kernel parameter \
                 rcupdate.rcu_expedited)",
            )
            .evidence(format!("{EXPEDITED}: {value}"))
            .remedy(remedy::sysfs(EXPEDITED, "0")),
    )
}
