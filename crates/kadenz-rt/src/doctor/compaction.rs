//! Memory compaction in the background.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct Compaction;

const ID: &str = "memory-compaction";
const PATH: &str = "/proc/sys/vm/compaction_proactiveness";
const UNEVICTABLE: &str = "/proc/sys/vm/compact_unevictable_allowed";

impl Check for Compaction {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let mut findings = vec![match machine.root.read_number(PATH) {
            Ok(0) => Finding::fine(
                ID,
                "memory is not compacted in advance",
                format!("{PATH}: 0"),
            ),
            Ok(value) => proactive(value),
            Err(why) => Finding::unknown(ID, "memory compaction", &why),
        }];
        findings.extend(locked_pages(machine));
        findings
    }
}

fn proactive(value: i64) -> Finding {
    Finding::new(ID, Severity::Note, "memory is compacted in the background")
        .cost(
            "pages of all processes are moved around, which the kernel's documentation says can lead \
             to latency spikes in unsuspecting applications (sysctl/vm, compaction_proactiveness)",
        )
        .evidence(format!("{PATH}: {value}"))
        .remedy(remedy::sysctl("vm.compaction_proactiveness", "0"))
}

/// Whether locked pages may be moved too.
fn locked_pages(machine: &Machine<'_>) -> Option<Finding> {
    let value = machine.root.read_number(UNEVICTABLE).ok()?;
    let evidence = format!("{UNEVICTABLE}: {value}");
    if value == 0 {
        return Some(Finding::fine(
            ID,
            "compaction leaves locked pages alone",
            evidence,
        ));
    }
    Some(
        Finding::new(ID, Severity::Note, "compaction may move locked pages")
            .cost(
                "a locked page that is being moved costs a minor page fault when it is touched, and the \
                 task is held up meanwhile (kernel documentation sysctl/vm, \
                 compact_unevictable_allowed; PREEMPT_RT kernels have 0 for that reason)",
            )
            .evidence(evidence)
            .remedy(remedy::sysctl("vm.compact_unevictable_allowed", "0")),
    )
}
