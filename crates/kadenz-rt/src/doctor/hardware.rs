//! Heat, power, the interrupts that only the firmware sees, and the CPU time that a hypervisor takes.

use super::finding::{Unknown, costs, fine, found, note, spoils};
use super::{Finding, Machine, Severity};
use crate::host::cpu_time::CpuTime;
use crate::host::virtualisation::{self, Layer};

/// Whether heat or weak power has slowed the CPU down.
pub(super) fn thermal(machine: &Machine<'_>) -> Result<Vec<Finding>, Unknown> {
    let by_counters = highest_throttle_count(machine).map(|(count, path)| {
        let evidence = format!("{path}: {count} since boot");
        if count <= 0 {
            return fine("heat has not slowed the CPU down", evidence);
        }
        costs("heat has slowed the CPU down")
            .cost(
                "while it is too hot the clock is cut: all code takes longer, by the ratio of the \
                 frequencies, for as long as the heat lasts (kernel ABI documentation thermal_throttle; \
                 total time in core_throttle_total_time_ms where the kernel counts it)",
            )
            .evidence(evidence)
            .remedy("cool the machine better, or set a lower fixed frequency: sudo cpupower frequency-set -u <frequency>")
    });
    let findings: Vec<Finding> = firmware(machine).into_iter().chain(by_counters).collect();
    if findings.is_empty() {
        return Err(Unknown::absent(
            "/sys/devices/system/cpu/cpu0/thermal_throttle",
        ));
    }
    Ok(findings)
}

/// The highest counter of all CPUs and its file.
fn highest_throttle_count(machine: &Machine<'_>) -> Option<(i64, String)> {
    let files = ["core_throttle_count", "package_throttle_count"];
    let paths = machine.cpus.iter().flat_map(|cpu| {
        files.map(|file| format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{file}"))
    });
    let counts = paths.filter_map(|path| Some((machine.root.read_number(&path).ok()?, path)));
    counts.max_by_key(|(count, _)| *count)
}

/// The throttling that the firmware of a Raspberry Pi reports.
fn firmware(machine: &Machine<'_>) -> Option<Finding> {
    const PATH: &str = "/sys/devices/platform/soc/soc:firmware/get_throttled";
    let text = machine.root.read(PATH).ok()?;
    let bits = u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()?;
    let evidence = format!("{PATH}: {text}");
    if bits == 0 {
        return Some(fine("the firmware has not slowed the CPU down", evidence));
    }
    let finding = costs("the firmware has slowed the CPU down")
        .cost(
            "the clock was cut for low voltage or heat since boot (Raspberry Pi documentation, \
             vcgencmd get_throttled): all code took longer meanwhile",
        )
        .evidence(evidence)
        .remedy("use the maker's power supply and a short cable, and cool the board");
    Some(finding)
}

pub(super) fn power_supply(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const FOLDER: &str = "/sys/class/power_supply";
    let is = |name: &str, file: &str, value: &str| {
        let text = machine.root.read(&format!("{FOLDER}/{name}/{file}"));
        text.is_ok_and(|text| text == value)
    };
    let mut names = machine.root.list(FOLDER)?.into_iter();
    // A mouse has a battery too; its scope says that it is a device's.
    let discharging = names.find(|n| is(n, "status", "Discharging") && !is(n, "scope", "Device"));
    let Some(name) = discharging else {
        let evidence = format!("{FOLDER}: no battery is discharging");
        return Ok(fine("the machine is not on battery", evidence));
    };
    Ok(costs("the machine runs on battery")
        .cost(
            "firmware and daemons lower clocks and deepen sleep on battery: wake-ups come later and \
             code takes longer, by an amount that only the maker knows",
        )
        .evidence(format!("{FOLDER}/{name}/status: Discharging"))
        .remedy("plug the machine in"))
}

/// `MSR_SMI_COUNT` of Intel's Software Developer's Manual, volume 4: SMIs since reset, low 32 bits.
const SMI_COUNT: u64 = 0x34;
/// This many in an hour are one a minute.
const MANY_AN_HOUR: f64 = 60.0;

/// System management interrupts: the firmware takes the CPU and the kernel does not see it.
pub(super) fn management_interrupts(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const COST: &str = "the firmware stops the CPUs and the kernel knows nothing of it, sometimes \
                        for milliseconds (kernel documentation hwlat_detector)";
    let what = "system management interrupts";
    let cpuinfo = machine.root.read("/proc/cpuinfo").unwrap_or_default();
    let not_counted = if !cpuinfo.contains("GenuineIntel") {
        Some("only Intel processors count them (MSR 0x34)")
    } else if machine.is_virtual() {
        Some("a virtual machine does not see its host's (MSR 0x34)")
    } else {
        None
    };
    if let Some(why) = not_counted {
        let finding = Unknown::because(why).finding(what).cost(COST);
        return Ok(finding.remedy("measure what the hardware takes: sudo rtla hwnoise -d 60s"));
    }
    let path = format!("/dev/cpu/{}/msr", machine.cpus.first().unwrap_or(&0));
    let count = match machine.root.read_at::<8>(&path, SMI_COUNT) {
        Ok(bytes) => u64::from_le_bytes(bytes) & 0xffff_ffff,
        Err(why) => {
            let finding = Unknown::from(why).finding(what).cost(COST);
            return Ok(finding.remedy(
                "sudo modprobe msr, then run this again as root; or measure: sudo rtla hwnoise -d 60s",
            ));
        }
    };
    let evidence = format!("{path} at 0x34: {count} since reset");
    if count == 0 {
        return Ok(fine("no system management interrupt since reset", evidence));
    }
    // Many come while booting, so the rate is an upper bound and says so.
    let rate = hours_since_boot(machine).map(|hours| count as f64 / hours);
    let severity = Severity::costs_if(rate.is_some_and(|rate| rate >= MANY_AN_HOUR));
    let rate = rate.map_or(String::new(), |rate| {
        format!(", at most {rate:.0} an hour if none came while booting")
    });
    Ok(found(severity, format!("{count} {what} since reset"))
        .cost(COST)
        .evidence(format!("{evidence}{rate}"))
        .remedy(
            "in the firmware's setup: switch off legacy USB, and power and thermal management by \
             firmware; then measure: sudo rtla hwnoise -d 60s",
        ))
}

fn hours_since_boot(machine: &Machine<'_>) -> Option<f64> {
    let text = machine.root.read("/proc/uptime").ok()?;
    let seconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    (seconds > 0.0).then_some(seconds / 3600.0)
}

// Hypervisor and container, and the CPU time that the hypervisor takes.

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
            "the host preempts this machine at any time, invisibly to the guest; measurements here do not \
             carry over to bare metal (a SCHED_FIFO thread spinning on a small shared virtual machine \
             met gaps of 2 to 8 ms several times in 5 s)",
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
            .cost("none seen; not every hypervisor reports what it takes")
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
        "while the hypervisor runs another guest this machine stands still (proc_stat(5), \
             steal); a small shared virtual machine showed gaps of 2 to 8 ms",
    )
    .evidence(evidence)
    .remedy("move the machine to a host that is not overcommitted, or pin its CPUs (vcpupin)"))
}
