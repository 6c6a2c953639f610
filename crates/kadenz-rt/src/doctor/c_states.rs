//! How deep an idle CPU sleeps, and how long it takes to wake.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct CStates;

const ID: &str = "c-states";
const CPUS: &str = "/sys/devices/system/cpu";
const LIMIT: &str = "/dev/cpu_dma_latency";
/// Waking from here is not told apart from the rest of a wake-up.
const SHALLOW_US: i64 = 2;
/// From here on it is felt in a loop of a kilohertz.
const DEEP_US: i64 = 20;
/// More states than any driver has.
const MOST_STATES: u32 = 16;

/// One idle state of one CPU.
struct State {
    name: String,
    latency_us: i64,
    path: String,
}

impl Check for CStates {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let mut states: Vec<State> = machine
        .cpus
        .iter()
        .flat_map(|cpu| states(machine, *cpu))
        .collect();
    states.sort_by_key(|state| state.latency_us);
    let Some(deepest) = states.last() else {
        return without_states(machine);
    };
    let limit = limit_us(machine);
    let limited = limit.is_some_and(|limit| limit <= SHALLOW_US);
    let held = limit.map_or(String::new(), |limit| format!("; {LIMIT}: {limit} us"));
    let (name, us) = (&deepest.name, deepest.latency_us);
    let evidence = format!("{}/latency: {us} ({name}){held}", deepest.path);
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
        .remedy(mend(machine))
}

fn mend(machine: &Machine<'_>) -> String {
    let driver = machine
        .root
        .read("/sys/devices/system/cpu/cpuidle/current_driver");
    let parameter = match driver.as_deref() {
        Ok("intel_idle") => "intel_idle.max_cstate=1",
        Ok("acpi_idle") => "processor.max_cstate=1",
        _ => "cpuidle.off=1",
    };
    format!(
        "in the measuring program: hold {LIMIT} at 0 (tuning cpu_dma_latency)\nnow: sudo cpupower \
         idle-set -D {}\nfor good: {}",
        // The program disables states of this latency and above.
        SHALLOW_US + 1,
        remedy::kernel_parameter(machine, parameter)
    )
}

fn states(machine: &Machine<'_>, cpu: u32) -> Vec<State> {
    let numbers = 0..MOST_STATES;
    let states = numbers.map_while(|number| {
        let path = format!("{CPUS}/cpu{cpu}/cpuidle/state{number}");
        let latency_us = machine.root.read_number(&format!("{path}/latency")).ok()?;
        let disabled = machine
            .root
            .read(&format!("{path}/disable"))
            .is_ok_and(|text| text != "0");
        let name = machine.root.read(&format!("{path}/name"));
        let name = name.unwrap_or_else(|_| format!("state{number}"));
        Some((!disabled).then_some(State {
            name,
            latency_us,
            path,
        }))
    });
    states.flatten().collect()
}

/// The limit in force, from all programs that hold one. Reading it asks for no limit.
fn limit_us(machine: &Machine<'_>) -> Option<i64> {
    let bytes = machine.root.read_at::<4>(LIMIT, 0).ok()?;
    Some(i64::from(i32::from_ne_bytes(bytes)))
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
        return Finding::new(
            ID,
            Severity::Note,
            "the host decides how deep idle CPUs sleep",
        )
        .cost(
            "an idle virtual CPU leaves the machine and the host must schedule it again: the \
                 host's own wake-up latency is added to ours",
        )
        .evidence("/sys/devices/system/cpu/cpuidle/current_driver: none, in a virtual machine")
        .remedy(remedy::kernel_parameter(machine, "idle=poll"));
    }
    Finding::new(ID, Severity::Note, "idle states: not known")
        .cost("not known")
        .evidence(format!("not known here: {CPUS}/cpu0/cpuidle/state0 absent"))
}
