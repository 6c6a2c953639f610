//! Whether timers fire when they should or at the next tick.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct HighResolutionTimers;

const ID: &str = "high-resolution-timers";
const TIMER_LIST: &str = "/proc/timer_list";

impl Check for HighResolutionTimers {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    if machine
        .parameter("highres")
        .is_some_and(|value| value == "off")
    {
        return off(machine, "/proc/cmdline: highres=off");
    }
    let list = match machine.root.read(TIMER_LIST) {
        Ok(list) => list,
        Err(why) => return by_resolution(machine, &why.to_string()),
    };
    let active = list
        .lines()
        .find(|line| line.trim_start().starts_with(".hres_active"));
    let Some(active) = active else {
        return by_resolution(
            machine,
            &format!("not known here: {TIMER_LIST} has no hres_active"),
        );
    };
    let evidence = format!("{TIMER_LIST}: {}", active.trim());
    if crate::host::value_of(active) == Some("1") {
        return Finding::fine(ID, "timers have high resolution", evidence);
    }
    off(machine, &evidence)
}

/// What `clock_getres` says: 1 ns with high-resolution timers, else a tick (`clock_getres(2)`).
fn by_resolution(machine: &Machine<'_>, why_not: &str) -> Finding {
    let resolution = if machine.root.is_live() {
        resolution()
    } else {
        None
    };
    match resolution {
        Some((true, text)) => Finding::fine(ID, "timers have high resolution", text),
        Some((false, text)) => off(machine, &text),
        None => Finding::new(ID, Severity::Note, "high-resolution timers: not known")
            .cost("not known")
            .evidence(why_not),
    }
}

fn off(machine: &Machine<'_>, evidence: &str) -> Finding {
    Finding::new(ID, Severity::Spoils, "timers fire at ticks only")
        .cost(
            "every sleep ends at a tick: up to 1 to 10 ms late, by CONFIG_HZ (time(7), \
             high-resolution timers)",
        )
        .evidence(evidence)
        .remedy(format!(
            "a kernel with CONFIG_HIGH_RES_TIMERS=y, a clock source better than jiffies, and \
             without highres=off: {}",
            remedy::kernel_parameter(machine, "highres=on")
        ))
}

/// Whether it is one nanosecond, and the evidence.
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
