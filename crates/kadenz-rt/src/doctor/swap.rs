//! Swap space.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct Swap;

const ID: &str = "swap";
const PATH: &str = "/proc/swaps";
const SWAPPINESS: &str = "/proc/sys/vm/swappiness";

impl Check for Swap {
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
        Err(why) => return Finding::unknown(ID, "swap", &why),
    };
    let swappiness = machine
        .root
        .read(SWAPPINESS)
        .unwrap_or_else(|_| "not readable".to_owned());
    // After the heading one line each: file, type, size, used, priority.
    let spaces: Vec<&str> = text
        .lines()
        .skip(1)
        .filter(|line| !line.is_empty())
        .collect();
    if spaces.is_empty() {
        return Finding::fine(ID, "there is no swap", format!("{PATH}: empty"));
    }
    let used: u64 = spaces
        .iter()
        .filter_map(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok())
        .fold(0, u64::saturating_add);
    let names: Vec<&str> = spaces
        .iter()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let compressed = names.iter().all(|name| name.contains("zram"));
    let wait = if compressed {
        "touching it again has to unpack it"
    } else {
        "touching it again waits for the disk"
    };
    let fstab = "sudo swapoff -a && sudo sed -i '/[[:space:]]swap[[:space:]]/s/^/#/' /etc/fstab";
    Finding::new(ID, Severity::Costs, "memory can be swapped out")
        .cost(format!(
            "what is not locked may leave memory, and {wait} (thesis of J. Sticha, 2.3.3; F. \
             Enner's blog post on latency in robotics set vm.swappiness=0); locked memory \
             (mlockall) is safe from it"
        ))
        .evidence(format!(
            "{PATH}: {}, {used} KiB used; {SWAPPINESS}: {swappiness}",
            names.join(", ")
        ))
        .remedy(remedy::now_and_for_good("sudo swapoff -a", fstab))
}
