//! Two hardware threads on one core.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct Smt;

const ID: &str = "smt";
const ACTIVE: &str = "/sys/devices/system/cpu/smt/active";
const CONTROL: &str = "/sys/devices/system/cpu/smt/control";

impl Check for Smt {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let active = match machine.root.read(ACTIVE) {
        Ok(active) => active,
        Err(why) => return Finding::unknown(ID, "simultaneous multithreading", &why),
    };
    if active == "0" {
        return Finding::fine(ID, "each CPU is a whole core", format!("{ACTIVE}: 0"));
    }
    let path = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list";
    let siblings = machine.root.read(path);
    let siblings = siblings.map_or(String::new(), |list| format!("; {path}: {list}"));
    let parameter = remedy::kernel_parameter(machine, "nosmt");
    Finding::new(ID, Severity::Costs, "two hardware threads share each core")
        .cost(
            "whatever runs on the sibling takes execution units and cache from the loop: its code \
             takes longer by an amount that depends on the neighbour, and to shield a CPU its \
             sibling must be shielded too",
        )
        .evidence(format!("{ACTIVE}: {active}{siblings}"))
        .remedy(remedy::now_and_for_good(
            &format!("echo off | sudo tee {CONTROL}"),
            &parameter,
        ))
}
