//! The kernel's preemption model.

use crate::host::preemption::{self, DynamicMode, Preemption as Model};

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct Preemption;

const ID: &str = "preemption";

impl Check for Preemption {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let Some(seen) = preemption::read(machine.root) else {
        return Finding::new(ID, Severity::Note, "preemption model: not known")
            .cost("not known")
            .evidence("not known here: /sys/kernel/realtime and /proc/sys/kernel/version absent");
    };
    let (severity, title) = match seen.model {
        Model::RealTime => {
            return Finding::fine(
                ID,
                "the kernel is fully preemptible (PREEMPT_RT)",
                seen.evidence,
            );
        }
        Model::Full | Model::Dynamic(Some(DynamicMode::Full)) => (
            Severity::Costs,
            "the kernel is preemptible, but not PREEMPT_RT".to_owned(),
        ),
        Model::Dynamic(Some(DynamicMode::Lazy)) => (
            Severity::Costs,
            "the kernel is lazily preemptible, not PREEMPT_RT".to_owned(),
        ),
        Model::Dynamic(None) => {
            let title =
                "the kernel's preemption was chosen at boot, and the choice is not readable";
            (Severity::Costs, title.to_owned())
        }
        model @ (Model::Dynamic(_) | Model::NoneOrVoluntary) => (
            Severity::Spoils,
            format!("the kernel does not preempt itself ({model})"),
        ),
    };
    Finding::new(ID, severity, title)
        .cost(cost(seen.model))
        .evidence(seen.evidence)
        .remedy(remedy(machine, seen.model))
}

const FIGURES: &str = "(thesis of J. Sticha, figure 2.2: up to 15 ms without PREEMPT_RT against 30 \
                       us with it on one and the same board)";

fn cost(model: Model) -> String {
    let wait = match model {
        Model::RealTime => return "nothing".to_owned(),
        Model::Full | Model::Dynamic(Some(DynamicMode::Full | DynamicMode::Lazy)) => {
            "a wake-up waits while the kernel holds a spin lock or serves an interrupt"
        }
        Model::Dynamic(None) => {
            "a wake-up waits while the kernel holds a spin lock, or, where the choice was none or \
             voluntary, until another process's system call returns or yields"
        }
        Model::Dynamic(_) | Model::NoneOrVoluntary => {
            "a wake-up waits until another process's system call returns or yields"
        }
    };
    format!("{wait} {FIGURES}")
}

fn remedy(machine: &Machine<'_>, model: Model) -> String {
    let release = machine.facts.os_release.as_deref().unwrap_or("");
    let install = if release.contains("Debian") {
        "sudo apt install linux-image-rt-amd64 && sudo reboot (on ARM: linux-image-rt-arm64)"
    } else if release.contains("Ubuntu") {
        "sudo pro enable realtime-kernel && sudo reboot"
    } else if release.contains("Red Hat") {
        "sudo dnf install kernel-rt && sudo reboot"
    } else {
        "install a kernel built with CONFIG_PREEMPT_RT=y (in mainline since Linux 6.12) and reboot"
    };
    match model {
        Model::Dynamic(None) => format!(
            "best: {install}\nto see the choice: sudo mount -t debugfs debugfs /sys/kernel/debug; \
             sudo cat /sys/kernel/debug/sched/preempt"
        ),
        Model::Dynamic(Some(DynamicMode::None | DynamicMode::Voluntary)) => format!(
            "best: {install}\nnow: echo full | sudo tee /sys/kernel/debug/sched/preempt\nfor good: {}",
            remedy::kernel_parameter(machine, "preempt=full")
        ),
        _ => install.to_owned(),
    }
}
