//! Tuning on macOS: the time-constraint class.

use std::time::Duration;

use super::portable::{absent, no_dma_latency, no_memory_lock};
use super::{Measure, Policy, Tuning};
use crate::os::macos::{TimeConstraint, has_time_constraint, set_standard, set_time_constraint};

/// The settings to restore.
#[derive(Debug, Default)]
pub(super) struct Restore {
    _policy: Option<Ordinary>,
}

/// Puts the thread back into the ordinary class.
#[derive(Debug)]
struct Ordinary;

impl Drop for Ordinary {
    fn drop(&mut self) {
        set_standard();
    }
}

pub(super) fn apply(tuning: &Tuning) -> (Vec<Measure>, Restore) {
    let (measure, guard) = apply_policy(tuning.policy);
    let mut measures = vec![measure];
    if tuning.lock_memory {
        measures.push(no_memory_lock());
    }
    if let Some(cpus) = &tuning.cpus {
        let why = "macOS holds no thread to a CPU";
        measures.push(absent(
            "affinity",
            format!("CPUs {cpus}"),
            why,
            "leave the CPU list out",
        ));
    }
    if let Some(latency_us) = tuning.cpu_dma_latency_us {
        measures.push(no_dma_latency(latency_us));
    }
    if let Some(slack_ns) = tuning.timer_slack_ns {
        let why = "macOS has no timer slack to set; a real-time policy has none";
        let remedy = "take a real-time policy";
        measures.push(absent("timer_slack", format!("{slack_ns} ns"), why, remedy));
    }
    (measures, Restore { _policy: guard })
}

/// FIFO and RR have no counterpart: half a millisecond of computation within one stands for them.
fn constraint(policy: Policy) -> Option<TimeConstraint> {
    let ns = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    match policy {
        Policy::Other => None,
        Policy::Fifo(_) | Policy::RoundRobin(_) => Some(TimeConstraint {
            period_ns: 0,
            computation_ns: 500_000,
            constraint_ns: 1_000_000,
        }),
        Policy::Deadline {
            runtime,
            deadline,
            period,
        } => Some(TimeConstraint {
            period_ns: ns(period),
            computation_ns: ns(runtime),
            constraint_ns: ns(deadline),
        }),
    }
}

fn apply_policy(policy: Policy) -> (Measure, Option<Ordinary>) {
    let Some(wanted) = constraint(policy) else {
        return (
            policy_measure(policy, has_time_constraint(), true, None),
            None,
        );
    };
    match set_time_constraint(wanted) {
        Ok(()) => {
            let granted = has_time_constraint();
            let note = "macOS has no such policy; its time-constraint class is used instead";
            (
                policy_measure(policy, granted, granted, Some(note.to_owned())),
                Some(Ordinary),
            )
        }
        Err(code) => {
            let why = format!("Mach refused the time-constraint class with code {code}");
            (
                policy_measure(policy, has_time_constraint(), false, Some(why)),
                None,
            )
        }
    }
}

fn policy_measure(policy: Policy, constrained: bool, ok: bool, reason: Option<String>) -> Measure {
    let granted = match constrained {
        true => "THREAD_TIME_CONSTRAINT_POLICY",
        false => "THREAD_STANDARD_POLICY",
    };
    Measure {
        name: "policy",
        requested: policy.to_string(),
        granted: granted.to_owned(),
        ok,
        remedy: (!ok).then(|| "request runtime <= deadline <= period, each above 50us".to_owned()),
        reason,
    }
}
