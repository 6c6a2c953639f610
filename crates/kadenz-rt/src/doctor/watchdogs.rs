//! The kernel's lockup detectors.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct Watchdogs;

const ID: &str = "kernel-watchdogs";
const NMI: &str = "/proc/sys/kernel/nmi_watchdog";
const SOFT: &str = "/proc/sys/kernel/soft_watchdog";
const THRESHOLD: &str = "/proc/sys/kernel/watchdog_thresh";

impl Check for Watchdogs {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        // The kernel's documentation names 10 s as the default.
        let threshold = machine.root.read_number(THRESHOLD).unwrap_or(10);
        vec![hard(machine, threshold), soft(machine, threshold)]
    }
}

fn hard(machine: &Machine<'_>, threshold: i64) -> Finding {
    match machine.root.read_number(NMI) {
        Ok(0) => Finding::fine(ID, "the hard lockup detector is off", format!("{NMI}: 0")),
        Ok(value) => Finding::new(ID, Severity::Note, "the hard lockup detector is on")
            .cost(format!(
                "a short non-maskable interrupt about every {threshold} s on each busy CPU, which no \
                 priority holds off (kernel documentation lockup-watchdogs)"
            ))
            .evidence(format!("{NMI}: {value}; {THRESHOLD}: {threshold}"))
            .remedy(remedy::sysctl("kernel.nmi_watchdog", "0")),
        Err(why) => Finding::unknown(ID, "hard lockup detector", &why),
    }
}

fn soft(machine: &Machine<'_>, threshold: i64) -> Finding {
    match machine.root.read_number(SOFT) {
        Ok(0) => Finding::fine(ID, "the soft lockup detector is off", format!("{SOFT}: 0")),
        Ok(value) => Finding::new(ID, Severity::Note, "the soft lockup detector is on")
            .cost(format!(
                "every {:.1} s a timer wakes, for a moment, a thread that stands above SCHED_FIFO 99 on \
                 each CPU (kernel documentation lockup-watchdogs)",
                threshold as f64 * 2.0 / 5.0
            ))
            .evidence(format!("{SOFT}: {value}; {THRESHOLD}: {threshold}"))
            .remedy(remedy::sysctl("kernel.soft_watchdog", "0")),
        Err(why) => Finding::unknown(ID, "soft lockup detector", &why),
    }
}
