//! How often each CPU folds its memory statistics.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct VmStatistics;

const ID: &str = "vm-statistics";
const PATH: &str = "/proc/sys/vm/stat_interval";
/// As network and telecommunication profiles of tuned set it.
const SELDOM: i64 = 10;

impl Check for VmStatistics {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let finding = match machine.root.read_number(PATH) {
            Ok(seconds) if seconds >= SELDOM => {
                let title = "memory statistics are gathered seldom";
                Finding::fine(ID, title, format!("{PATH}: {seconds} s"))
            }
            Ok(seconds) => note(seconds),
            Err(why) => Finding::unknown(ID, "memory statistics", &why),
        };
        vec![finding]
    }
}

fn note(seconds: i64) -> Finding {
    Finding::new(ID, Severity::Note, "memory statistics are gathered often")
        .cost(format!(
            "every {seconds} s a kernel worker runs for a moment on each CPU that touched memory; it \
             preempts ordinary threads, real-time ones not (kernel documentation \
             kernel-per-CPU-kthreads, vmstat_update)"
        ))
        .evidence(format!("{PATH}: {seconds} s"))
        .remedy(remedy::sysctl("vm.stat_interval", "60"))
}
