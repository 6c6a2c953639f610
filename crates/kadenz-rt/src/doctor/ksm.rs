//! Kernel same-page merging.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct Ksm;

const ID: &str = "same-page-merging";
const PATH: &str = "/sys/kernel/mm/ksm/run";

impl Check for Ksm {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let finding = match machine.root.read_number(PATH) {
            Ok(1) => on(machine),
            Ok(value) => {
                Finding::fine(ID, "equal pages are not merged", format!("{PATH}: {value}"))
            }
            Err(why) => Finding::unknown(ID, "same-page merging", &why),
        };
        vec![finding]
    }
}

fn on(machine: &Machine<'_>) -> Finding {
    let shared = machine.root.read("/sys/kernel/mm/ksm/pages_shared");
    let shared = shared.map_or(String::new(), |n| format!("; pages_shared: {n}"));
    Finding::new(ID, Severity::Costs, "the kernel merges equal pages")
        .cost(
            "ksmd uses CPU time to compare memory, and writing to a merged page costs a page fault \
             that copies it; only programs that ask for it are merged, virtual machines above all \
             (kernel documentation ksm)",
        )
        .evidence(format!("{PATH}: 1{shared}"))
        // 2 also takes apart what was merged; 0 keeps it.
        .remedy(remedy::now_and_for_good(
            &format!("echo 2 | sudo tee {PATH}"),
            "sudo systemctl disable --now ksm ksmtuned",
        ))
}
