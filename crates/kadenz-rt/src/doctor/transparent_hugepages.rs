//! Transparent huge pages.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct TransparentHugepages;

const ID: &str = "transparent-hugepages";
const PATH: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const DEFRAG: &str = "/sys/kernel/mm/transparent_hugepage/defrag";

impl Check for TransparentHugepages {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

/// The word in brackets: `always [madvise] never`.
pub(super) fn chosen(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

fn judge(machine: &Machine<'_>) -> Finding {
    let text = match machine.root.read(PATH) {
        Ok(text) => text,
        Err(why) => return Finding::unknown(ID, "transparent huge pages", &why),
    };
    let defrag = machine.root.read(DEFRAG).unwrap_or_default();
    let evidence = format!("{PATH}: {text}; {DEFRAG}: {defrag}");
    match chosen(&text) {
        Some("never") => Finding::fine(ID, "transparent huge pages are off", evidence),
        Some("madvise") => {
            let title = "transparent huge pages only where a program asks for them";
            Finding::fine(ID, title, evidence)
        }
        _ => Finding::new(
            ID,
            Severity::Costs,
            "transparent huge pages are on everywhere",
        )
        .cost(
            "khugepaged moves pages behind a program's back, and a page fault may stall to compact \
                 memory (kernel documentation transhuge: compact_stall in /proc/vmstat counts it); \
                 F. Enner's blog post on latency in robotics booted with never",
        )
        .evidence(evidence)
        .remedy(remedy::now_and_for_good(
            &format!("echo never | sudo tee {PATH}"),
            &remedy::kernel_parameter(machine, "transparent_hugepage=never"),
        )),
    }
}
