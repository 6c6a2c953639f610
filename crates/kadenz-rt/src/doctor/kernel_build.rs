//! Debugging aids built into the kernel.

use super::{Check, Finding, Machine, Severity};

pub(super) struct KernelBuild;

const ID: &str = "kernel-debugging";

/// Options that slow every path of the kernel.
const HEAVY: [&str; 8] = [
    "CONFIG_PROVE_LOCKING=y",
    "CONFIG_DEBUG_LOCK_ALLOC=y",
    "CONFIG_LOCK_STAT=y",
    "CONFIG_KASAN=y",
    "CONFIG_KCSAN=y",
    "CONFIG_DEBUG_OBJECTS=y",
    "CONFIG_DEBUG_KMEMLEAK=y",
    "CONFIG_SLUB_DEBUG_ON=y",
];

impl Check for KernelBuild {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let Some(build) = machine.build() else {
        return Finding::new(ID, Severity::Note, "debugging in the kernel: not known")
            .cost("not known")
            .evidence("not known here: /boot/config-<release> absent");
    };
    let found: Vec<&str> = HEAVY
        .into_iter()
        .filter(|option| build.has(option))
        .collect();
    if found.is_empty() {
        let evidence = format!("{}: none of {}", build.path, HEAVY.join(", "));
        return Finding::fine(ID, "the kernel has no heavy debugging built in", evidence);
    }
    Finding::new(
        ID,
        Severity::Spoils,
        "the kernel has heavy debugging built in",
    )
    .cost(
        "every lock and every allocation in the kernel is checked: hundreds of microseconds with \
             interrupts off in the lock validator are not uncommon (EVL project, core/caveat), and \
             all system calls take longer",
    )
    .evidence(format!("{}: {}", build.path, found.join(", ")))
    .remedy("boot the distribution's kernel without debugging")
}
