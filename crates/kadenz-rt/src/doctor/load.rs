//! How busy the machine is.

use crate::host::ReadFactError;

use super::{Check, Finding, Machine, Severity};

pub(super) struct Load;

const ID: &str = "load-average";
const PATH: &str = "/proc/loadavg";

impl Check for Load {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let text = match machine.root.read(PATH) {
        Ok(text) => text,
        Err(why) => return Finding::unknown(ID, "load", &why),
    };
    let Some(load) = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<f64>().ok())
    else {
        let why = ReadFactError::strange(PATH, &text, "three load averages");
        return Finding::unknown(ID, "load", &why);
    };
    let cpus = machine.cpus.len().max(1);
    let evidence = format!("{PATH}: {text}; {cpus} CPUs");
    let share = load / cpus as f64;
    if share <= 0.5 {
        return Finding::fine(ID, "the machine is not busy", evidence);
    }
    Finding::new(
        ID,
        Severity::Costs,
        format!("the machine is busy: load {load:.1}, {cpus} CPUs"),
    )
    .cost(
        "an ordinary process waits for its turn, and a real-time one for caches, memory bus and \
             locks; load below 50 % is advised for a system in operation (paper of H. Yoon et al., \
             3.3)",
    )
    .evidence(evidence)
    .remedy("top -o %CPU, and end what is not needed; or measure so on purpose, and say so")
}
