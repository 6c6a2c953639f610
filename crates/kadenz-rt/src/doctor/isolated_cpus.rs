//! CPUs set apart for the real-time loop.

use crate::host::cpu_list;

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct IsolatedCpus;

const ID: &str = "isolated-cpus";
const PATH: &str = "/sys/devices/system/cpu/isolated";

impl Check for IsolatedCpus {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let isolated = machine.isolated_cpus();
    if !isolated.is_empty() {
        let list = cpu_list::format_list(&isolated);
        return Finding::fine(
            ID,
            format!("CPU {list} is set apart"),
            format!("{PATH}: {list}"),
        );
    }
    if let Err(why) = machine.root.read(PATH) {
        return Finding::unknown(ID, "isolated CPUs", &why);
    }
    let Some(cpu) = machine.loop_cpus() else {
        return Finding::new(ID, Severity::Note, "there is no CPU to set apart")
            .cost("the loop shares the only CPU with everything else")
            .evidence(format!(
                "{PATH}: empty; /sys/devices/system/cpu/online: one CPU"
            ));
    };
    let now = format!(
        "for s in system user; do sudo systemctl set-property --runtime $s.slice AllowedCPUs={}; \
         done; sudo systemd-run --scope --slice=kadenz -p AllowedCPUs={cpu} <program>",
        machine.other_cpus()
    );
    let parameter = format!("isolcpus=managed_irq,domain,{cpu}");
    Finding::new(ID, Severity::Costs, "no CPU is set apart for the loop")
        .cost(
            "other tasks and interrupts share the loop's CPU and its caches: with priority, locked \
             memory and a shielded CPU together the longest period of a 1 ms loop fell from 346 ms \
             to 1.1 ms under load (paper of H. Yoon et al., 3.4)",
        )
        .evidence(format!("{PATH}: empty"))
        .remedy(remedy::now_and_for_good(
            &now,
            &remedy::kernel_parameter(machine, &parameter),
        ))
}
