//! How deep an idle CPU sleeps, and how long it takes to wake.

use super::{Check, Finding, Machine, Severity, remedy};
use crate::host::idle::{self, IdleStates, LIMIT};

pub(super) struct CStates;

const ID: &str = "c-states";
/// Waking from here is not told apart from the rest of a wake-up.
const SHALLOW_US: i64 = 2;
/// From here on it is felt in a loop of a kilohertz.
const DEEP_US: i64 = 20;

impl Check for CStates {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let idle = IdleStates::read(machine.root);
    let Some(deepest) = idle.deepest() else {
        return without_states(machine);
    };
    let limit = idle::limit_us(machine.root);
    let limited = limit.is_some_and(|limit| limit <= SHALLOW_US);
    let held = limit.map_or(String::new(), |limit| format!("; {LIMIT}: {limit} us"));
    let (name, us) = (&deepest.name, deepest.latency_us);
    let evidence = format!(
        "exit latencies, cpuidle/state*/latency: {}; {}/latency: {us}{held}",
        idle.words(),
        deepest.path
    );
    if us <= SHALLOW_US && machine.is_virtual() && !limited {
        return of_the_host(evidence).remedy(mend(machine, &idle));
    }
    if us <= SHALLOW_US || limited {
        return Finding::fine(ID, "idle CPUs wake at once", evidence);
    }
    let severity = if us <= DEEP_US {
        Severity::Note
    } else {
        Severity::Costs
    };
    Finding::new(ID, severity, format!("idle CPUs sleep as deep as {name}"))
        .cost(format!(
            "waking from it takes up to {us} us, by the driver's own table (kernel documentation \
             cpuidle, exit latency), and more after it while caches are cold"
        ))
        .evidence(evidence)
        .remedy(mend(machine, &idle))
}

/// A virtual machine, whose own idle states tell nothing of what the host does with its CPUs.
fn of_the_host(evidence: impl Into<String>) -> Finding {
    let title = "the host decides how deep idle CPUs sleep";
    Finding::new(ID, Severity::Note, title)
        .cost(
            "an idle virtual CPU leaves the machine and the host must schedule it again: the \
             host's own wake-up latency is added to ours",
        )
        .evidence(evidence)
}

fn mend(machine: &Machine<'_>, idle: &IdleStates) -> String {
    let parameter = match idle.driver.as_deref() {
        Some("intel_idle") => "intel_idle.max_cstate=1",
        Some("acpi_idle") => "processor.max_cstate=1",
        _ if machine.is_virtual() => "idle=poll",
        _ => "cpuidle.off=1",
    };
    format!(
        "for a program: kadenz run --cpu-dma-latency 0us -- PROGRAM (`kadenz tune --cells PM,PMI` \
         says what that buys)\nnow: sudo cpupower idle-set -D {}\nfor good: {}",
        // The program disables states of this latency and above.
        if machine.is_virtual() {
            1
        } else {
            SHALLOW_US + 1
        },
        remedy::kernel_parameter(machine, parameter)
    )
}

fn without_states(machine: &Machine<'_>) -> Finding {
    if machine
        .parameter("idle")
        .is_some_and(|value| value == "poll")
    {
        return Finding::fine(ID, "idle CPUs do not sleep", "/proc/cmdline: idle=poll");
    }
    let driver = machine
        .root
        .read("/sys/devices/system/cpu/cpuidle/current_driver");
    if machine.is_virtual() && driver.as_deref().is_ok_and(|name| name == "none") {
        return of_the_host(
            "no idle states: /sys/devices/system/cpu/cpuidle/current_driver is none, in a virtual \
             machine",
        )
        .remedy(remedy::kernel_parameter(machine, "idle=poll"));
    }
    Finding::new(ID, Severity::Note, "idle states: not known")
        .cost("not known")
        .evidence("not known here: /sys/devices/system/cpu/cpu0/cpuidle/state0 absent")
}
