//! Swap, huge pages, and how much memory is left.

use crate::host::{self, cpu_list};

use super::finding::{Unknown, costs, fine};
use super::settings::{self, chosen};
use super::{Finding, Machine, finding};

pub(super) fn swap(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const PATH: &str = "/proc/swaps";
    const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
    let text = machine.root.read(PATH)?;
    // After the heading one line each: file, type, size, used, priority.
    let lines = text.lines().skip(1).filter(|line| !line.is_empty());
    let names: Vec<&str> = lines
        .clone()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    if lines.clone().next().is_none() {
        return Ok(fine("there is no swap", format!("{PATH}: empty")));
    }
    let used = lines.filter_map(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok());
    let used = used.fold(0, u64::saturating_add);
    let wait = if names.iter().all(|name| name.contains("zram")) {
        "touching it again has to unpack it"
    } else {
        "touching it again waits for the disk"
    };
    let swappiness = machine.root.read(SWAPPINESS);
    let swappiness = swappiness.as_deref().unwrap_or("not readable");
    let names = names.join(", ");
    Ok(costs("memory can be swapped out")
        .cost(format!(
            "what is not locked may leave memory, and {wait} ([Sticha2014], 2.3.3; \
             [Enner2016] set vm.swappiness=0); locked memory (mlockall) is safe from it"
        ))
        .evidence(format!(
            "{PATH}: {names}, {used} KiB used; {SWAPPINESS}: {swappiness}"
        ))
        .remedy(finding::now_and_for_good(
            "sudo swapoff -a",
            "sudo swapoff -a && sudo sed -i '/[[:space:]]swap[[:space:]]/s/^/#/' /etc/fstab",
        )))
}

pub(super) fn huge_pages(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const PATH: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    const DEFRAG: &str = "/sys/kernel/mm/transparent_hugepage/defrag";
    let text = machine.root.read(PATH)?;
    let defrag = machine.root.read(DEFRAG).unwrap_or_default();
    let evidence = format!("{PATH}: {text}; {DEFRAG}: {defrag}");
    Ok(match chosen(&text) {
        Some("never") => fine("transparent huge pages are off", evidence),
        Some("madvise") => {
            fine("transparent huge pages only where a program requests them", evidence)
        }
        _ => costs("transparent huge pages are on everywhere")
            .cost(
                "khugepaged moves pages behind a program's back, and a page fault may stall to compact \
                 memory (kernel documentation transhuge: compact_stall in /proc/vmstat counts it); \
                 [Enner2016] booted with never",
            )
            .evidence(evidence)
            .remedy(finding::now_and_for_good(
                &format!("echo never | sudo tee {PATH}"),
                &finding::kernel_parameter(machine, "transparent_hugepage=never"),
            )),
    })
}

/// Below this share the kernel reclaims again and again.
const LITTLE: f64 = 0.1;

pub(super) fn free(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    let all = host::meminfo(machine.root, "MemTotal")?;
    let available = host::meminfo(machine.root, "MemAvailable")?;
    let evidence = format!(
        "/proc/meminfo: MemAvailable {} MiB of MemTotal {} MiB",
        available >> 20,
        all >> 20
    );
    if available as f64 >= LITTLE * all as f64 {
        return Ok(fine("there is memory left", evidence));
    }
    Ok(costs("little memory is left")
        .cost(
            "an allocation has to wait until the kernel has written or dropped other pages, which is \
             a wait for the disk, and the out-of-memory killer may end a process",
        )
        .evidence(evidence)
        .remedy("end what uses the memory (ps aux --sort=-rss | head), or add memory"))
}

pub(super) fn numa_balancing(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const NODES: &str = "/sys/devices/system/node/online";
    let nodes = machine.root.read(NODES);
    match nodes.map(|list| cpu_list::parse_list(&list).len()) {
        Ok(nodes @ 0..=1) => Ok(fine(
            "there is one memory node, so nothing is balanced",
            format!("{NODES}: {nodes} node"),
        )),
        _ => settings::NUMA_BALANCING.judge(machine),
    }
}
