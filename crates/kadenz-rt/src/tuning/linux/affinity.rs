//! C: the CPUs a thread may run on.

use super::super::{CpuSet, Measure, Note};
use super::kernel_says;
use crate::os::linux::sched::{CpuMask, affinity, set_affinity};

/// Restores the thread's CPUs when it is dropped.
#[derive(Debug)]
pub(super) struct AffinityGuard(CpuMask);

impl Drop for AffinityGuard {
    fn drop(&mut self) {
        // The kernel refuses only when those CPUs have gone since; then it has chosen others already.
        let _ = set_affinity(&self.0);
    }
}

pub(super) fn apply(cpus: &CpuSet) -> (Measure, Option<AffinityGuard>) {
    let before = affinity();
    let outcome = set_affinity(cpus.as_mask());
    let measure = measure(cpus, outcome, affinity());
    (measure, outcome.and(before).ok().map(AffinityGuard))
}

/// What a request for CPUs came to: the kernel's answer, and the CPUs in force.
pub(crate) fn measure(
    cpus: &CpuSet,
    outcome: Result<(), i32>,
    granted: Result<CpuMask, i32>,
) -> Measure {
    let granted = granted.map(CpuSet::from_mask);
    let ok = outcome.is_ok() && granted.as_ref() == Ok(cpus);
    let refused = (!ok).then(|| Note::new(explain(cpus, outcome, &online()), REMEDY));
    let granted = granted.map_or_else(kernel_says, |granted| format!("CPUs {granted}"));
    Measure::noted("affinity", format!("CPUs {cpus}"), granted, ok, refused)
}

const REMEDY: &str = "choose among `grep Cpus_allowed_list /proc/self/status`; switch a CPU on with `echo 1 | sudo tee \
                      /sys/devices/system/cpu/cpuN/online`, or widen this process's cpuset cgroup";

fn explain(cpus: &CpuSet, outcome: Result<(), i32>, online: &CpuSet) -> String {
    let absent = cpus.without(online);
    if !absent.is_empty() {
        return format!("of the CPUs {cpus}, {absent} are not there or switched off");
    }
    match outcome {
        Ok(()) | Err(libc::EINVAL) => {
            "the cpuset cgroup of this process does not hold all of these CPUs".to_owned()
        }
        Err(errno) => format!("the kernel says: {}", kernel_says(errno)),
    }
}

fn online() -> CpuSet {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    list.parse().unwrap_or_default()
}
