//! Tuning on systems other than Linux, which lack most of it; on other systems than macOS and Windows, all of it.

use super::{Measure, Note};

/// A measure that this operating system cannot take.
pub(super) fn absent(name: &'static str, requested: String, why: &str, remedy: &str) -> Measure {
    Measure::noted(
        name,
        requested,
        "nothing",
        false,
        Some(Note::new(why, remedy)),
    )
}

/// Locked memory, where the operating system cannot lock all of a process.
pub(super) fn no_memory_lock() -> Measure {
    super::prefault::touch();
    absent(
        "memory_lock",
        super::ALL_PAGES.to_owned(),
        "this operating system cannot lock all memory of a process; stack and heap have been touched",
        "keep enough memory free, or measure on Linux",
    )
}

/// The latency of idle processors, which only Linux lets a process bound.
pub(super) fn no_dma_latency(latency_us: u32) -> Measure {
    absent(
        "cpu_dma_latency",
        format!("{latency_us} us"),
        "only Linux lets a process bound the wake-up latency of idle processors",
        "choose the power plan for highest performance",
    )
}

/// No setting to restore: an unknown operating system is requested none.
#[cfg(not(any(target_os = "macos", windows)))]
#[derive(Debug, Default)]
pub(super) struct Restore;

#[cfg(not(any(target_os = "macos", windows)))]
pub(super) fn apply(tuning: &super::Tuning) -> (Vec<Measure>, Restore) {
    let why = "Kadenz cannot tune threads on this operating system";
    let remedy = "measure on Linux";
    let mut policy = absent("policy", tuning.policy.to_string(), why, remedy);
    policy.ok = !tuning.policy.is_real_time();
    let mut measures = vec![policy];
    if tuning.lock_memory {
        measures.push(no_memory_lock());
    }
    if let Some(cpus) = &tuning.cpus {
        measures.push(absent("affinity", format!("CPUs {cpus}"), why, remedy));
    }
    if let Some(latency_us) = tuning.cpu_dma_latency_us {
        measures.push(no_dma_latency(latency_us));
    }
    if let Some(slack_ns) = tuning.timer_slack_ns {
        measures.push(absent("timer_slack", format!("{slack_ns} ns"), why, remedy));
    }
    (measures, Restore)
}
