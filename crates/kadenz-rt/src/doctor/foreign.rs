//! Findings on systems other than Linux.

use super::{Finding, Severity, checks};

pub(super) fn examine() -> Vec<Finding> {
    let mut findings = vec![no_guarantee()];
    findings.extend(of_this_system());
    findings.push(linux_only());
    findings
}

/// The first finding: no desktop system guarantees a latency.
fn no_guarantee() -> Finding {
    let os = std::env::consts::OS;
    Finding::new(
        "preemption",
        Severity::Costs,
        format!("{os} gives no guarantee of real time"),
    )
    .cost(
        "idle machines over 24 hours, 1 ms sleeps: at most 17.17 ms late on Windows 10, 12.65 ms \
             on OS X 10.9.5, 3.03 ms on Ubuntu 16.04, 0.15 ms on a real-time Linux ([Enner2016], \
             table)",
    )
    .evidence(format!("this is {os}"))
    .remedy("Linux with PREEMPT_RT, where deadlines below some 20 ms must be kept")
}

fn linux_only() -> Finding {
    let names: Vec<&str> = checks().iter().map(|check| check.id).collect();
    Finding::new(
        "linux-only",
        Severity::Note,
        "most checks exist only on Linux",
    )
    .cost("unknown")
    .evidence(format!(
        "not known here: this is {}; on Linux the doctor looks at {}",
        std::env::consts::OS,
        names.join(", ")
    ))
}

#[cfg(windows)]
fn of_this_system() -> Vec<Finding> {
    use crate::os::windows;

    let interval = windows::timer_interval().map(|(_, finest, current)| {
        let (finest, current) = (f64::from(finest) / 1e4, f64::from(current) / 1e4);
        let evidence = format!("NtQueryTimerResolution: {current} ms, finest {finest} ms");
        if current <= 1.0 {
            return Finding::fine("system-timer", "the system timer ticks fast", evidence);
        }
        Finding::new(
            "system-timer",
            Severity::Spoils,
            "the system timer ticks slowly",
        )
        .cost(format!(
            "a sleep ends at a tick: up to {current} ms late, unless this program requests more \
                 (timeBeginPeriod; [Enner2016]: 0.5 to 15.6 ms)"
        ))
        .evidence(evidence)
        .remedy("in the measuring program: timeBeginPeriod(1), or a high-resolution timer")
    });
    let battery = windows::on_battery().map(|on_battery| {
        let evidence = format!("GetSystemPowerStatus: on battery {on_battery}");
        if !on_battery {
            return Finding::fine("power-supply", "the machine is not on battery", evidence);
        }
        Finding::new(
            "power-supply",
            Severity::Costs,
            "the machine runs on battery",
        )
        .cost("Windows lowers clocks and gathers timers on battery")
        .evidence(evidence)
        .remedy("plug the machine in; then: powercfg /setactive SCHEME_MIN")
    });
    interval.into_iter().chain(battery).collect()
}

#[cfg(target_os = "macos")]
fn of_this_system() -> Vec<Finding> {
    use crate::os::macos::sysctl_number as number;

    let path = "kern.timer.coalescing_enabled";
    let coalescing = number(path).map(|enabled| {
        let evidence = format!("sysctl {path}: {enabled}");
        if enabled == 0 {
            return Finding::fine("timer-coalescing", "timers are not gathered", evidence);
        }
        Finding::new(
            "timer-coalescing",
            Severity::Costs,
            "timers are gathered to save power",
        )
        .cost(
            "a sleep of an ordinary thread may end later, so that the processor wakes less \
                 often (Apple, Energy Efficiency Guide for Mac Apps, timers)",
        )
        .evidence(evidence)
        .remedy(format!("sudo sysctl -w {path}=0"))
    });
    let present = "kern.hv_vmm_present";
    let virtual_machine = number(present)
        .filter(|present| *present != 0)
        .map(|value| {
            Finding::new(
                "virtualisation",
                Severity::Spoils,
                "this is a virtual machine",
            )
            .cost(
                "the host preempts this machine at any time, for milliseconds and invisibly to the guest; \
                 measurements here do not carry over to bare metal",
            )
            .evidence(format!("sysctl {present}: {value}"))
            .remedy("measure on bare metal")
        });
    coalescing.into_iter().chain(virtual_machine).collect()
}

#[cfg(not(any(target_os = "macos", windows)))]
fn of_this_system() -> Vec<Finding> {
    Vec::new()
}
