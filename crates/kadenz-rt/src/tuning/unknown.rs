//! Other operating systems: no setting is requested of them.

use super::portable::{absent, no_dma_latency, no_memory_lock};
use super::{Measure, Tuning};

/// No setting to restore.
#[derive(Debug, Default)]
pub(super) struct Restore;

pub(super) fn apply(tuning: &Tuning) -> (Vec<Measure>, Restore) {
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
