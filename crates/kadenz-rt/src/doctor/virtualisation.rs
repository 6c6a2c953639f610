//! Hypervisor and container, and what the hypervisor takes.

use crate::host::cpu_time::CpuTime;
use crate::host::virtualisation::{self, Layer};

use super::finding::{Unknown, costs, fine, note, spoils};
use super::{Finding, Machine};

pub(super) fn layers(machine: &Machine<'_>) -> Result<Vec<Finding>, Unknown> {
    let seen = virtualisation::read(machine.root);
    let hypervisor = seen.hypervisor.map(hypervisor);
    let findings = hypervisor.into_iter().chain(seen.container.map(container));
    let findings: Vec<Finding> = findings.collect();
    if !findings.is_empty() {
        return Ok(findings);
    }
    if !seen.readable {
        return Err(Unknown::absent(
            "/proc/cpuinfo and /sys/devices/virtual/dmi/id",
        ));
    }
    Ok(vec![fine(
        "neither virtual machine nor container",
        "no hypervisor flag in /proc/cpuinfo, no hypervisor in DMI or /sys/hypervisor",
    )])
}

fn hypervisor(layer: Layer) -> Finding {
    spoils(format!("this is a virtual machine ({})", layer.name))
        .cost(
            "the host takes the CPU away whenever it likes and nothing inside sees why: no number \
             measured here holds for the bare machine, and a maximum says more of the host than of \
             this system (a SCHED_FIFO thread spinning on a small shared virtual machine met gaps \
             of 2 to 8 ms several times in 5 s)",
        )
        .evidence(layer.evidence)
        .remedy(
            "measure on bare metal; else give the machine whole CPUs (virsh vcpupin, no \
             overcommitment) and on KVM real-time ones (<vcpusched vcpus='1' scheduler='fifo' \
             priority='1'/>)",
        )
}

fn container(layer: Layer) -> Finding {
    note(format!("this is a container ({})", layer.name))
        .cost(
            "nothing by itself, the kernel is the host's; but quotas and missing rights cost (see \
             cpu-quota and realtime-rights), and remedies under /proc and /sys must be applied on \
             the host",
        )
        .evidence(layer.evidence)
        .remedy(
            "docker run --cap-add=SYS_NICE --cap-add=IPC_LOCK --ulimit rtprio=98 --ulimit \
             memlock=-1 --cpuset-cpus=<shielded CPU> ...",
        )
}

pub(super) fn steal_time(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    let time = CpuTime::read(machine.root)?;
    let CpuTime { stolen, all } = time;
    let evidence = format!("/proc/stat: steal {stolen} of {all} ticks since boot");
    if stolen == 0 && machine.is_virtual() {
        return Ok(note("the hypervisor reports no stolen time")
            .cost("nothing seen; not every hypervisor reports what it takes")
            .evidence(evidence));
    }
    if stolen == 0 {
        return Ok(fine("no CPU time was stolen", evidence));
    }
    let percent = time.stolen_percent();
    let judge = if percent >= 1.0 { spoils } else { costs };
    Ok(judge(format!(
        "the hypervisor took {percent:.2} % of the CPU time"
    ))
    .cost(
        "while the hypervisor runs somebody else this machine stands still (proc_stat(5), \
             steal); a small shared virtual machine showed gaps of 2 to 8 ms",
    )
    .evidence(evidence)
    .remedy("move the machine to a host that is not overcommitted, or pin its CPUs (vcpupin)"))
}
