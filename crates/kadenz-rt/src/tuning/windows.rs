//! Tuning on Windows: thread priority, affinity, timer resolution.

use windows_sys::Win32::System::Threading::{
    THREAD_PRIORITY_NORMAL, THREAD_PRIORITY_TIME_CRITICAL,
};

use super::portable::{absent, no_dma_latency, no_memory_lock};
use super::{CpuSet, Measure, Policy, Tuning};
use crate::os::windows::{TimerResolution, set_affinity, set_thread_priority, thread_priority};

/// The settings to restore.
#[derive(Debug, Default)]
pub(super) struct Restore {
    _priority: Option<PreviousPriority>,
    _affinity: Option<PreviousAffinity>,
    _resolution: Option<TimerResolution>,
}

#[derive(Debug)]
struct PreviousPriority(i32);

impl Drop for PreviousPriority {
    fn drop(&mut self) {
        // A guard cannot return an error; Windows never refuses to lower a priority.
        let _ = set_thread_priority(self.0);
    }
}

#[derive(Debug)]
struct PreviousAffinity(usize);

impl Drop for PreviousAffinity {
    fn drop(&mut self) {
        // A guard cannot return an error.
        let _ = set_affinity(self.0);
    }
}

pub(super) fn apply(tuning: &Tuning) -> (Vec<Measure>, Restore) {
    let mut restore = Restore::default();
    let (measure, guard) = apply_policy(tuning.policy);
    let mut measures = vec![measure];
    restore._priority = guard;
    if tuning.lock_memory {
        measures.push(no_memory_lock());
    }
    if let Some(cpus) = &tuning.cpus {
        let (measure, guard) = apply_affinity(cpus);
        measures.push(measure);
        restore._affinity = guard;
    }
    if let Some(latency_us) = tuning.cpu_dma_latency_us {
        measures.push(no_dma_latency(latency_us));
    }
    if let Some(slack_ns) = tuning.timer_slack_ns {
        let (measure, guard) = apply_resolution(slack_ns);
        measures.push(measure);
        restore._resolution = guard;
    }
    (measures, restore)
}

/// Every real-time policy becomes the highest priority that Windows gives an ordinary process.
fn apply_policy(policy: Policy) -> (Measure, Option<PreviousPriority>) {
    let before = thread_priority();
    let wanted = match policy.is_real_time() {
        true => THREAD_PRIORITY_TIME_CRITICAL,
        false => THREAD_PRIORITY_NORMAL,
    };
    let outcome = set_thread_priority(wanted);
    let granted = thread_priority();
    let ok = outcome.is_ok() && granted == wanted;
    let reason = match outcome {
        Err(error) => Some(format!("Windows says: {error}")),
        Ok(()) => policy.is_real_time().then(|| {
            "Windows has no such policy; THREAD_PRIORITY_TIME_CRITICAL is used instead".to_owned()
        }),
    };
    let measure = Measure {
        name: "policy",
        requested: policy.to_string(),
        granted: priority_name(granted),
        ok,
        remedy: policy.is_real_time().then(|| {
            "start the program with `start /realtime` from an administrator's prompt".to_owned()
        }),
        reason,
    };
    (
        measure,
        (before != granted).then_some(PreviousPriority(before)),
    )
}

fn priority_name(priority: i32) -> String {
    match priority {
        THREAD_PRIORITY_TIME_CRITICAL => "THREAD_PRIORITY_TIME_CRITICAL".to_owned(),
        THREAD_PRIORITY_NORMAL => "THREAD_PRIORITY_NORMAL".to_owned(),
        other => format!("thread priority {other}"),
    }
}

fn apply_affinity(cpus: &CpuSet) -> (Measure, Option<PreviousAffinity>) {
    let requested = format!("CPUs {cpus}");
    let wanted = cpus.iter().try_fold(0_usize, |mask, cpu| {
        u32::try_from(cpu)
            .ok()
            .and_then(|cpu| 1_usize.checked_shl(cpu))
            .map(|bit| mask | bit)
    });
    let outcome = wanted.map(set_affinity);
    match outcome {
        Some(Ok(before)) => {
            let measure = Measure {
                name: "affinity",
                granted: requested.clone(),
                requested,
                ok: true,
                reason: None,
                remedy: None,
            };
            (measure, Some(PreviousAffinity(before)))
        }
        Some(Err(error)) => {
            let why = format!("Windows says: {error}");
            (
                absent("affinity", requested, &why, "choose CPUs this machine has"),
                None,
            )
        }
        None => {
            let why = "a thread of Windows can be held to the first 64 CPUs only";
            (
                absent("affinity", requested, why, "choose CPUs below 64"),
                None,
            )
        }
    }
}

fn apply_resolution(slack_ns: u64) -> (Measure, Option<TimerResolution>) {
    const GRANTED_NS: u64 = 1_000_000;
    let requested = format!("{slack_ns} ns");
    let Some(guard) = TimerResolution::begin() else {
        let why = "Windows refused a timer resolution of 1 ms";
        return (
            absent(
                "timer_slack",
                requested,
                why,
                "use the waitable-timer sleeper",
            ),
            None,
        );
    };
    let ok = slack_ns >= GRANTED_NS;
    let measure = Measure {
        name: "timer_slack",
        requested,
        granted: "timer resolution of 1 ms".to_owned(),
        ok,
        reason: (!ok).then(|| "Windows offers no finer resolution than 1 ms".to_owned()),
        remedy: (!ok).then(|| "use the waitable-timer or the spin sleeper".to_owned()),
    };
    (measure, Some(guard))
}
