//! Power saving on PCI Express links.

use super::{Check, Finding, Machine, Severity, remedy, transparent_hugepages::chosen};

pub(super) struct PciePower;

const ID: &str = "pcie-power";
const PATH: &str = "/sys/module/pcie_aspm/parameters/policy";

impl Check for PciePower {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let finding = match machine.root.read(PATH) {
            Ok(text) => judge(machine, &text),
            Err(why) => Finding::unknown(ID, "PCI Express power saving", &why),
        };
        vec![finding]
    }
}

fn judge(machine: &Machine<'_>, text: &str) -> Finding {
    let evidence = format!("{PATH}: {text}");
    let policy = chosen(text).unwrap_or(text);
    if policy == "performance" {
        return Finding::fine(ID, "PCI Express links do not save power", evidence);
    }
    let severity = if policy == "default" {
        Severity::Note
    } else {
        Severity::Costs
    };
    Finding::new(
        ID,
        severity,
        format!("PCI Express links save power by the policy {policy}"),
    )
    .cost(
        "a link that sleeps must wake before a network or field bus card answers: each card \
             states how long in lspci -vv, `Exit Latency L1` (PCI Express, Link Capabilities: from \
             below 1 us to more than 64 us)",
    )
    .evidence(evidence)
    .remedy(remedy::now_and_for_good(
        &format!("echo performance | sudo tee {PATH}"),
        &remedy::kernel_parameter(machine, "pcie_aspm.policy=performance"),
    ))
}
