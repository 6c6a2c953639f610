//! The clock source that the kernel reads when a program asks for the time, and the resolution of its timers.

use crate::host::{self, CLOCK_SOURCE};

use super::finding::{Unknown, costs, fine, note, spoils};
use super::{Finding, Machine, finding, processes};

pub(super) fn source(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const AVAILABLE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let name = machine.root.read(CLOCK_SOURCE)?;
    let available = machine.root.read(AVAILABLE).unwrap_or_default();
    let evidence = format!("{CLOCK_SOURCE}: {name}; available: {available}");
    let title = format!("the clock source is {name}");
    let finding = match name.as_str() {
        "tsc" | "arch_sys_counter" | "riscv_clocksource" => return Ok(fine(title, evidence)),
        "kvm-clock" | "hyperv_clocksource_tsc_page" | "xen" => {
            return Ok(note(title)
                .cost(
                    "the clock of a virtual machine: read without a system call on usual kernels, \
                     but the hypervisor may correct it",
                )
                .evidence(evidence));
        }
        "jiffies" | "refined-jiffies" => spoils(title).cost(
            "time moves in steps of a timer tick, 1 to 10 ms (CONFIG_HZ): nothing shorter can \
             be measured, and high-resolution timers are off",
        ),
        _ => costs(title).cost(
            "each reading goes to the chipset and through a system call: about 0.7 us with \
             acpi_pm against 0.04 us with tsc on one and the same machine (PostgreSQL manual, \
             pg_test_timing), and the CPUs wait for each other",
        ),
    };
    Ok(finding
        .evidence(evidence)
        .remedy(switch_source(machine, &available)))
}

fn switch_source(machine: &Machine<'_>, available: &str) -> String {
    if available.split_whitespace().any(|name| name == "tsc") {
        let parameter = finding::kernel_parameter(machine, "clocksource=tsc");
        let now = format!("echo tsc | sudo tee {CLOCK_SOURCE}");
        return finding::now_and_for_good(&now, &parameter);
    }
    format!(
        "find out why the kernel gave tsc up: sudo dmesg | grep -i -e tsc -e clocksource; where the \
         hardware is known to be good: {}",
        finding::kernel_parameter(machine, "tsc=reliable")
    )
}

/// x86 without an invariant time stamp counter.
pub(super) fn invariant(machine: &Machine<'_>) -> Option<Finding> {
    let flags = machine.cpu_flags()?;
    let mut missing = vec!["constant_tsc", "nonstop_tsc"];
    missing.retain(|flag| !flags.iter().any(|word| word == flag));
    if missing.is_empty() {
        return None;
    }
    let finding = note("the time stamp counter is not invariant")
        .cost("it changes its rate or stops in deep sleep: the clock TSC must not be used here")
        .evidence(format!(
            "/proc/cpuinfo: flags lack {}",
            missing.join(" and ")
        ));
    Some(finding)
}

/// Whether timers fire when they should or at the next tick.
pub(super) fn high_resolution(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    if machine.parameter("highres").as_deref() == Some("off") {
        return Ok(at_ticks_only(machine, "/proc/cmdline: highres=off"));
    }
    let (active, evidence) = timer_list(machine).or_else(|why| {
        let resolution = machine.root.is_live().then(resolution);
        resolution.flatten().ok_or(why)
    })?;
    if active {
        return Ok(fine("timers have high resolution", evidence));
    }
    Ok(at_ticks_only(machine, &evidence))
}

/// Whether timers have high resolution, and the evidence.
fn timer_list(machine: &Machine<'_>) -> Result<(bool, String), Unknown> {
    const PATH: &str = "/proc/timer_list";
    let list = machine.root.read(PATH)?;
    let mut lines = list.lines().map(str::trim);
    let line = lines.find(|line| line.starts_with(".hres_active"));
    let line = line.ok_or_else(|| Unknown::because(&format!("{PATH} has no hres_active")))?;
    Ok((host::value_of(line) == Some("1"), format!("{PATH}: {line}")))
}

/// The same from `clock_getres(2)`: 1 ns with high-resolution timers, else a tick.
#[cfg(target_os = "linux")]
fn resolution() -> Option<(bool, String)> {
    let resolution = crate::os::linux::clock::monotonic_resolution()?;
    let text = format!("clock_getres(CLOCK_MONOTONIC): {resolution:?}");
    Some((resolution == std::time::Duration::from_nanos(1), text))
}

#[cfg(not(target_os = "linux"))]
fn resolution() -> Option<(bool, String)> {
    None
}

fn at_ticks_only(machine: &Machine<'_>, evidence: &str) -> Finding {
    spoils("timers fire at ticks only")
        .cost(
            "every sleep ends at a tick: up to 1 to 10 ms late, by CONFIG_HZ (time(7), \
             high-resolution timers)",
        )
        .evidence(evidence)
        .remedy(format!(
            "a kernel with CONFIG_HIGH_RES_TIMERS=y, a clock source better than jiffies, and \
             without highres=off: {}",
            finding::kernel_parameter(machine, "highres=on")
        ))
}

/// Daemons that steer the clock.
const TIME_DAEMONS: [&str; 8] = [
    "chronyd",
    "ntpd",
    "ntpsec",
    "openntpd",
    "systemd-timesyn",
    "ptp4l",
    "phc2sys",
    "timemaster",
];

pub(super) fn synchronisation(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    let running = processes::seen(machine)?.iter();
    let running = running.map(|process| process.name.as_str());
    let found: Vec<&str> = running.filter(|name| TIME_DAEMONS.contains(name)).collect();
    if found.is_empty() {
        let evidence = "no time daemon among the processes";
        return Ok(fine("no daemon steers the clock", evidence));
    }
    Ok(note("a daemon steers the clock")
        .cost(
            "CLOCK_MONOTONIC never steps, but its rate is steered, by at most 500 ppm in the kernel's \
             adjtimex(2): half a microsecond in a millisecond; wall time may step, so Kadenz does not \
             measure with it",
        )
        .evidence(format!("/proc/<pid>/stat: {}", found.join(", ")))
        .remedy("measure with CLOCK_MONOTONIC_RAW where the clock's own rate matters"))
}
