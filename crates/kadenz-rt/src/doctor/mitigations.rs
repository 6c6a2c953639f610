//! Defences against flaws of the processor.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct Mitigations;

const ID: &str = "mitigations";
const FOLDER: &str = "/sys/devices/system/cpu/vulnerabilities";

impl Check for Mitigations {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let names = match machine.root.list(FOLDER) {
        Ok(names) => names,
        Err(why) => return Finding::unknown(ID, "mitigations", &why),
    };
    let active: Vec<&str> = names
        .iter()
        .filter(|name| {
            let text = machine.root.read(&format!("{FOLDER}/{name}"));
            text.is_ok_and(|text| text.starts_with("Mitigation"))
        })
        .map(String::as_str)
        .collect();
    if active.is_empty() {
        return Finding::fine(
            ID,
            "no mitigation is active",
            format!("{FOLDER}/*: no Mitigation"),
        );
    }
    let parameter = remedy::kernel_parameter(machine, "mitigations=off");
    Finding::new(
        ID,
        Severity::Note,
        format!("{} mitigations are active", active.len()),
    )
    .cost(
        "every entry into the kernel and every switch between processes takes longer, by an \
             amount that depends on the processor and its flaws: measure it with `kadenz timer \
             cyclic`, booted with and without",
    )
    .evidence(format!("{FOLDER}: {}", active.join(", ")))
    .remedy(format!(
        "only on a machine that runs nothing foreign: {parameter}"
    ))
}
