//! Automatic NUMA balancing.

use crate::host::cpu_list;

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct NumaBalancing;

const ID: &str = "numa-balancing";
const PATH: &str = "/proc/sys/kernel/numa_balancing";
const NODES: &str = "/sys/devices/system/node/online";

impl Check for NumaBalancing {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let nodes = machine
        .root
        .read(NODES)
        .ok()
        .map(|list| cpu_list::parse_list(&list).len());
    if let Some(nodes @ 0..=1) = nodes {
        let evidence = format!("{NODES}: {nodes} node");
        return Finding::fine(
            ID,
            "there is one memory node, so nothing is balanced",
            evidence,
        );
    }
    match machine.root.read_number(PATH) {
        Ok(0) => Finding::fine(
            ID,
            "memory is not moved between nodes",
            format!("{PATH}: 0"),
        ),
        Ok(value) => Finding::new(
            ID,
            Severity::Costs,
            "memory is moved between nodes on its own",
        )
        .cost(
            "the kernel unmaps pages now and then and moves them at the page fault that follows \
                 (kernel documentation sysctl/kernel, numa_balancing): faults in memory that was \
                 locked and touched",
        )
        .evidence(format!("{PATH}: {value}"))
        .remedy(remedy::sysctl("kernel.numa_balancing", "0")),
        Err(why) => Finding::unknown(ID, "NUMA balancing", &why),
    }
}
