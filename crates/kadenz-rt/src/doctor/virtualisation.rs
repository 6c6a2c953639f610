//! Hypervisor and container.

use crate::host::virtualisation;

use super::{Check, Finding, Machine, Severity};

pub(super) struct Virtualisation;

const ID: &str = "virtualisation";

impl Check for Virtualisation {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let seen = virtualisation::read(machine.root);
        let mut findings = Vec::new();
        if let Some(layer) = &seen.hypervisor {
            findings.push(hypervisor(layer));
        }
        if let Some(layer) = &seen.container {
            findings.push(container(layer));
        }
        if findings.is_empty() {
            findings.push(neither(seen.readable));
        }
        findings
    }
}

fn hypervisor(layer: &virtualisation::Layer) -> Finding {
    Finding::new(
        ID,
        Severity::Spoils,
        format!("this is a virtual machine ({})", layer.name),
    )
    .cost(
        "the host takes the CPU away whenever it likes and nothing inside sees why: no number \
             measured here holds for the bare machine, and a maximum says more of the host than of \
             this system (a SCHED_FIFO thread spinning on a small shared virtual machine met gaps \
             of 2 to 8 ms several times in 5 s)",
    )
    .evidence(layer.evidence.clone())
    .remedy(
        "measure on bare metal; else give the machine whole CPUs (virsh vcpupin, no \
             overcommitment) and on KVM real-time ones (<vcpusched vcpus='1' scheduler='fifo' \
             priority='1'/>)",
    )
}

fn container(layer: &virtualisation::Layer) -> Finding {
    Finding::new(
        ID,
        Severity::Note,
        format!("this is a container ({})", layer.name),
    )
    .cost(
        "nothing by itself, the kernel is the host's; but quotas and missing rights cost (see \
             cpu-quota and realtime-rights), and remedies under /proc and /sys must be applied on \
             the host",
    )
    .evidence(layer.evidence.clone())
    .remedy(
        "docker run --cap-add=SYS_NICE --cap-add=IPC_LOCK --ulimit rtprio=98 --ulimit \
             memlock=-1 --cpuset-cpus=<shielded CPU> ...",
    )
}

fn neither(readable: bool) -> Finding {
    if readable {
        let evidence =
            "no hypervisor flag in /proc/cpuinfo, no hypervisor in DMI or /sys/hypervisor";
        return Finding::fine(ID, "neither virtual machine nor container", evidence);
    }
    Finding::new(ID, Severity::Note, "virtual machine or not: not known")
        .cost("not known")
        .evidence("not known here: /proc/cpuinfo and /sys/devices/virtual/dmi/id absent")
}
