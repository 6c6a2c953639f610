//! Frequency boost and the driver that sets the frequency.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct CpuBoost;

const ID: &str = "cpu-boost";
const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";

impl Check for CpuBoost {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let root = machine.root;
    // The two files say the opposite of each other.
    let (on, path, off) = match (root.read(NO_TURBO), root.read(BOOST)) {
        (Ok(text), _) => (text == "0", NO_TURBO, "1"),
        (_, Ok(text)) => (text == "1", BOOST, "0"),
        (Err(_), Err(why)) => {
            let why = format!("{why}, and {NO_TURBO} absent");
            return Finding::new(ID, Severity::Note, "frequency boost: not known")
                .cost("not known")
                .evidence(why);
        }
    };
    let status = root.read("/sys/devices/system/cpu/intel_pstate/status");
    let status = status.map_or(String::new(), |s| format!("; intel_pstate/status: {s}"));
    let range = range(machine).map_or(String::new(), |range| format!("; {range}"));
    let value = root.read(path).unwrap_or_default();
    let evidence = format!("{path}: {value}{status}{range}");
    if !on {
        return Finding::fine(ID, "frequency boost is off", evidence);
    }
    Finding::new(ID, Severity::Note, "frequency boost is on")
        .cost(
            "how fast the same code runs depends on how many cores are busy and how warm they are: \
             its time varies by the ratio of boost to base frequency, and falls back when heat or \
             power run out (kernel documentation intel_pstate, cpufreq)",
        )
        .evidence(evidence)
        .remedy(remedy::sysfs(path, off))
}

/// Base and highest frequency of the first CPU, where the driver tells both.
fn range(machine: &Machine<'_>) -> Option<String> {
    let folder = "/sys/devices/system/cpu/cpu0/cpufreq";
    let base = machine
        .root
        .read_number(&format!("{folder}/base_frequency"))
        .ok()?;
    let highest = machine
        .root
        .read_number(&format!("{folder}/cpuinfo_max_freq"))
        .ok()?;
    Some(format!(
        "base {} MHz, highest {} MHz",
        base / 1000,
        highest / 1000
    ))
}
