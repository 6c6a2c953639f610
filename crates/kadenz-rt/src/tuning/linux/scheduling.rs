//! P: scheduling policy and priority.

use std::time::Duration;

use super::super::{Measure, Note, Policy};
use super::kernel_says;
use super::rights::Rights;
use crate::os::linux::sched::{
    RESET_ON_FORK, SCHED_DEADLINE, SchedAttr, scheduling, set_scheduling,
};

/// Restores the thread's scheduling when it is dropped.
#[derive(Debug)]
pub(super) struct SchedulingGuard(SchedAttr);

impl Drop for SchedulingGuard {
    fn drop(&mut self) {
        if set_scheduling(&self.0).is_err() {
            // Without CAP_SYS_NICE a thread may not clear the flag; it may restore all else.
            let kept = SchedAttr {
                flags: self.0.flags | RESET_ON_FORK,
                ..self.0
            };
            // After a second refusal there is nothing left to try, and a guard cannot return an error.
            let _ = set_scheduling(&kept);
        }
    }
}

pub(super) fn apply(policy: Policy, rights: &Rights) -> (Measure, Option<SchedulingGuard>) {
    let before = scheduling().unwrap_or_default();
    let wanted = attributes(policy, &before);
    let unchanged = policy_of(&before) == Some(policy);
    let outcome = if unchanged {
        Ok(())
    } else {
        set_scheduling(&wanted)
    };
    let granted = scheduling().map_or_else(kernel_says, |attr| name(&attr));
    let changed = outcome.is_ok() && !unchanged;
    let measure = measure(policy, outcome, granted, rights);
    (measure, changed.then_some(SchedulingGuard(before)))
}

/// What a request for a policy came to: the kernel's answer, and the name of the policy in force.
pub(crate) fn measure(
    policy: Policy,
    outcome: Result<(), i32>,
    granted: String,
    rights: &Rights,
) -> Measure {
    let ok = outcome.is_ok() && granted == policy.to_string();
    let note = match outcome {
        Err(errno) => Some(refusal(policy, errno, rights)),
        Ok(()) => throttle(policy, rights),
    };
    Measure::noted("policy", policy.to_string(), granted, ok, note)
}

/// The kernel's view of a policy. An ordinary thread keeps the nice value it has.
fn attributes(policy: Policy, before: &SchedAttr) -> SchedAttr {
    let real_time = SchedAttr {
        flags: RESET_ON_FORK,
        ..SchedAttr::default()
    };
    match policy {
        Policy::Other => SchedAttr {
            policy: libc::SCHED_OTHER as u32,
            nice: before.nice,
            ..SchedAttr::default()
        },
        Policy::Fifo(priority) => SchedAttr {
            policy: libc::SCHED_FIFO as u32,
            priority: u32::from(priority),
            ..real_time
        },
        Policy::RoundRobin(priority) => SchedAttr {
            policy: libc::SCHED_RR as u32,
            priority: u32::from(priority),
            ..real_time
        },
        Policy::Deadline {
            runtime,
            deadline,
            period,
        } => SchedAttr {
            policy: SCHED_DEADLINE,
            runtime_ns: runtime.as_nanos() as u64,
            deadline_ns: deadline.as_nanos() as u64,
            period_ns: period.as_nanos() as u64,
            ..real_time
        },
    }
}

/// The same for a program that is started: its children inherit it. A `SCHED_DEADLINE` thread may start no child
/// without the flag.
pub(crate) fn inherited(policy: Policy) -> SchedAttr {
    let attr = attributes(policy, &SchedAttr::default());
    match policy {
        Policy::Deadline { .. } => attr,
        _ => SchedAttr { flags: 0, ..attr },
    }
}

fn policy_of(attr: &SchedAttr) -> Option<Policy> {
    let priority = attr.priority as u8;
    match attr.policy.cast_signed() {
        libc::SCHED_OTHER => Some(Policy::Other),
        libc::SCHED_FIFO => Some(Policy::Fifo(priority)),
        libc::SCHED_RR => Some(Policy::RoundRobin(priority)),
        _ if attr.policy == SCHED_DEADLINE => Some(Policy::Deadline {
            runtime: Duration::from_nanos(attr.runtime_ns),
            deadline: Duration::from_nanos(attr.deadline_ns),
            period: Duration::from_nanos(attr.period_ns),
        }),
        _ => None,
    }
}

pub(crate) fn name(attr: &SchedAttr) -> String {
    match (policy_of(attr), attr.policy.cast_signed()) {
        (Some(policy), _) => policy.to_string(),
        (None, libc::SCHED_BATCH) => "SCHED_BATCH".to_owned(),
        (None, libc::SCHED_IDLE) => "SCHED_IDLE".to_owned(),
        (None, number) => format!("policy {number}"),
    }
}

/// Explains the kernel's refusal, from the rules of `sched(7)` and `sched_setattr(2)`.
pub(super) fn refusal(policy: Policy, errno: i32, rights: &Rights) -> Note {
    match (policy, errno) {
        (Policy::Deadline { .. }, libc::EPERM) if !rights.cap_sys_nice => Note::new(
            "SCHED_DEADLINE needs the capability CAP_SYS_NICE, which no limit can stand in for",
            "sudo setcap cap_sys_nice,cap_ipc_lock+ep \"$(command -v kadenz)\" (or run as root)",
        ),
        (Policy::Deadline { .. }, libc::EPERM) => Note::new(
            "SCHED_DEADLINE needs a thread that may run on every CPU of its root domain: no affinity, no narrower \
             cpuset",
            "leave the CPU list out, or make an exclusive cpuset of those CPUs and run inside it",
        ),
        (Policy::Deadline { .. }, libc::EBUSY) => Note::new(
            "the kernel cannot guarantee this runtime/period beside the deadline threads that are there already",
            "request less runtime a period, or raise `kernel.sched_rt_runtime_us`",
        ),
        (Policy::Deadline { .. }, libc::EINVAL) => Note::new(
            "the kernel takes no such reservation; periods must lie between kernel.sched_deadline_period_min_us and \
             kernel.sched_deadline_period_max_us (100 us and 4.2 s by default)",
            "choose 1.024us <= runtime <= deadline <= period within those limits",
        ),
        (_, libc::EPERM) => denied(policy, rights),
        _ => Note::new(
            format!("the kernel says: {}", kernel_says(errno)),
            "see sched_setattr(2)",
        ),
    }
}

fn denied(policy: Policy, rights: &Rights) -> Note {
    if let Some((group, 0)) = &rights.rt_group {
        return Note::new(
            format!(
                "the kernel schedules real time by group, and the cgroup {group} has none (cpu.rt_runtime_us = 0)"
            ),
            format!(
                "echo 950000 | sudo tee /sys/fs/cgroup/cpu{}/cpu.rt_runtime_us (each parent needs it first)",
                group.trim_end_matches('/')
            ),
        );
    }
    if !rights.cap_sys_nice {
        let limit = rights
            .rtprio
            .map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
        return Note::new(
            format!(
                "{policy} is above RLIMIT_RTPRIO ({limit}), and the capability CAP_SYS_NICE is missing"
            ),
            "sudo prlimit --pid $$ --rtprio=99 for this shell; for good, put `@realtime - rtprio 99` into \
             /etc/security/limits.d/99-realtime.conf, join that group and log in again",
        );
    }
    let place = if rights.user_namespace {
        "a user namespace"
    } else {
        "a container or seccomp filter"
    };
    Note::new(
        format!(
            "CAP_SYS_NICE is there, yet the kernel refuses: this process lives in {place} where it does not count"
        ),
        "run outside of it, or start the container with --cap-add=SYS_NICE --ulimit rtprio=99",
    )
}

/// The limits of a granted real-time policy.
pub(super) fn throttle(policy: Policy, rights: &Rights) -> Option<Note> {
    let (runtime_us, period_us) = rights.rt_throttle_us?;
    let by_priority = matches!(policy, Policy::Fifo(_) | Policy::RoundRobin(_));
    if !by_priority || !(0..period_us).contains(&runtime_us) {
        return None;
    }
    let (stall_ms, period_ms) = ((period_us - runtime_us) / 1000, period_us / 1000);
    let reason = format!(
        "the RT throttle is on: real-time threads that leave ordinary ones no time are stopped for \
         {stall_ms} ms in every {period_ms} ms (kernel.sched_rt_runtime_us = {runtime_us})"
    );
    let fair_server = match rights.has_fair_server {
        true => " and echo 0 | sudo tee /sys/kernel/debug/sched/fair_server/cpu*/runtime",
        false => "",
    };
    let remedy = format!(
        "sleep in every cycle; or sudo sysctl -w kernel.sched_rt_runtime_us=-1{fair_server}, after which a runaway \
         real-time thread can hang the machine"
    );
    Some(Note::new(reason, remedy))
}
