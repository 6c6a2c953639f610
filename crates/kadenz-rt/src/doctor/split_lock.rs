//! The penalty for atomic operations across cache lines.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct SplitLock;

const ID: &str = "split-lock";
const PATH: &str = "/proc/sys/kernel/split_lock_mitigate";

impl Check for SplitLock {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let value = match machine.root.read_number(PATH) {
        Ok(value) => value,
        Err(why) => return Finding::unknown(ID, "split lock penalty", &why),
    };
    let cpuinfo = machine.root.read("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo
        .lines()
        .find(|line| line.starts_with("flags"))
        .unwrap_or("");
    let detects = |flag: &str| flags.split_whitespace().any(|word| word == flag);
    let evidence = format!("{PATH}: {value}");
    if value == 0 || !(detects("split_lock_detect") || detects("bus_lock_detect")) {
        return Finding::fine(ID, "split locks are not punished", evidence);
    }
    Finding::new(ID, Severity::Note, "split locks are punished")
        .cost(
            "a thread whose atomic operation crosses a cache line is made to sleep 10 ms (kernel \
             arch/x86 split_lock_warn; sysctl/kernel, split_lock_mitigate); code with packed \
             structures may do so, Rust's atomics do not; the kernel log names who did",
        )
        .evidence(evidence)
        .remedy(remedy::sysctl("kernel.split_lock_mitigate", "0"))
}
