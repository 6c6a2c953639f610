//! Whether heat or weak power has slowed the CPU down.

use super::{Check, Finding, Machine, Severity};

pub(super) struct Thermal;

const ID: &str = "thermal-throttling";
/// The firmware's word on a Raspberry Pi.
const FIRMWARE: &str = "/sys/devices/platform/soc/soc:firmware/get_throttled";

impl Check for Thermal {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let mut findings: Vec<Finding> = firmware(machine).into_iter().collect();
        match counters(machine) {
            Some((count, path)) => findings.push(judge(count, &path)),
            None if findings.is_empty() => findings.push(
                Finding::new(ID, Severity::Note, "thermal throttling: not known")
                    .cost("not known")
                    .evidence(
                        "not known here: /sys/devices/system/cpu/cpu0/thermal_throttle absent",
                    ),
            ),
            None => {}
        }
        findings
    }
}

/// The highest counter of all CPUs and its file.
fn counters(machine: &Machine<'_>) -> Option<(i64, String)> {
    let files = ["core_throttle_count", "package_throttle_count"];
    let paths = machine.cpus.iter().flat_map(|cpu| {
        files.map(|file| format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{file}"))
    });
    let counts = paths.filter_map(|path| Some((machine.root.read_number(&path).ok()?, path)));
    counts.max_by_key(|(count, _)| *count)
}

fn judge(count: i64, path: &str) -> Finding {
    let evidence = format!("{path}: {count} since boot");
    if count <= 0 {
        return Finding::fine(ID, "heat has not slowed the CPU down", evidence);
    }
    Finding::new(ID, Severity::Costs, "heat has slowed the CPU down")
        .cost(
            "while it is too hot the clock is cut: all code takes longer, by the ratio of the \
             frequencies, for as long as the heat lasts (kernel ABI documentation thermal_throttle; \
             total time in core_throttle_total_time_ms where the kernel counts it)",
        )
        .evidence(evidence)
        .remedy("cool the machine better, or set a lower fixed frequency: sudo cpupower frequency-set -u <frequency>")
}

fn firmware(machine: &Machine<'_>) -> Option<Finding> {
    let text = machine.root.read(FIRMWARE).ok()?;
    let bits = u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()?;
    let evidence = format!("{FIRMWARE}: {text}");
    if bits == 0 {
        return Some(Finding::fine(
            ID,
            "the firmware has not slowed the CPU down",
            evidence,
        ));
    }
    Some(
        Finding::new(ID, Severity::Costs, "the firmware has slowed the CPU down")
            .cost(
                "the clock was cut for low voltage or heat since boot (Raspberry Pi documentation, \
                 vcgencmd get_throttled): all code took longer meanwhile",
            )
            .evidence(evidence)
            .remedy("use the maker's power supply and a short cable, and cool the board"),
    )
}
