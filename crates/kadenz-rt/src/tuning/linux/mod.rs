//! Tuning on Linux, a file each measure; the timer slack is here.

pub(crate) mod affinity;
pub(crate) mod dma_latency;
pub(crate) mod memory;
pub(crate) mod rights;
pub(crate) mod scheduling;

use super::{Measure, Note, Tuning};
use crate::os::linux::sched::{set_timer_slack_ns, timer_slack_ns};
use rights::Rights;

/// The settings to restore. Fields are dropped in order: the policy before the affinity, after which it was set,
/// and so on.
#[derive(Debug, Default)]
pub(super) struct Restore {
    _timer_slack: Option<TimerSlackGuard>,
    _policy: Option<scheduling::SchedulingGuard>,
    _affinity: Option<affinity::AffinityGuard>,
    _dma_latency: Option<dma_latency::LatencyRequest>,
    _memory: Option<memory::LockedMemory>,
}

pub(super) fn apply(tuning: &Tuning) -> (Vec<Measure>, Restore) {
    let rights = Rights::read();
    let mut measures = Vec::new();
    let mut restore = Restore::default();
    // Memory first: locking takes long, and the thread must not do it at a high priority.
    if tuning.lock_memory {
        let (measure, guard) = memory::apply(&rights);
        measures.push(measure);
        restore._memory = guard;
    }
    if let Some(latency_us) = tuning.cpu_dma_latency_us {
        let (measure, guard) = dma_latency::apply(latency_us);
        measures.push(measure);
        restore._dma_latency = guard;
    }
    // Affinity before policy: a SCHED_DEADLINE thread may not change it any more.
    if let Some(cpus) = &tuning.cpus {
        let (measure, guard) = affinity::apply(cpus);
        measures.push(measure);
        restore._affinity = guard;
    }
    let (measure, guard) = scheduling::apply(tuning.policy, &rights);
    measures.insert(0, measure);
    restore._policy = guard;
    // Slack after policy: the kernel sets it to zero for a real-time policy.
    if let Some(slack_ns) = tuning.timer_slack_ns {
        let (measure, guard) = apply_timer_slack(slack_ns);
        measures.push(measure);
        restore._timer_slack = guard;
    }
    (measures, restore)
}

/// Restores the thread's timer slack when it is dropped.
#[derive(Debug)]
struct TimerSlackGuard(u64);

impl Drop for TimerSlackGuard {
    fn drop(&mut self) {
        // Zero stood for a real-time policy; the kernel restores the default together with that.
        if self.0 > 0 {
            let _ = set_timer_slack_ns(self.0);
        }
    }
}

/// By how much the kernel may delay the thread's timers to bundle them.
fn apply_timer_slack(slack_ns: u64) -> (Measure, Option<TimerSlackGuard>) {
    let before = timer_slack_ns();
    // The kernel takes zero for "the default", so the least that can be requested is one.
    let outcome = set_timer_slack_ns(slack_ns.max(1));
    let granted_ns = timer_slack_ns();
    let ok = granted_ns <= slack_ns.max(1);
    let reason = match outcome {
        Err(errno) => Some(format!("the kernel says: {}", kernel_says(errno))),
        Ok(()) => (!ok).then(|| "the kernel kept a larger slack".to_owned()),
    };
    let note = reason.map(|it| Note::new(it, "take a real-time policy: those have no slack"));
    let (requested, granted) = (format!("{slack_ns} ns"), format!("{granted_ns} ns"));
    let measure = Measure::noted("timer_slack", requested, granted, ok, note);
    (measure, Some(TimerSlackGuard(before)))
}

/// The kernel's text for an error number.
pub(crate) fn kernel_says(errno: i32) -> String {
    std::io::Error::from_raw_os_error(errno).to_string()
}

#[cfg(test)]
mod tests;
