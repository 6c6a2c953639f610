//! The reasons of refusals, from made-up rights.

use std::time::Duration;

use super::super::memory as locking;
use super::super::rights::Rights;
use super::super::scheduling::{refusal, throttle};
use super::*;

fn unprivileged() -> Rights {
    Rights {
        rtprio: Some(0),
        memlock: Some(8 << 20),
        ..Rights::default()
    }
}

fn root() -> Rights {
    Rights {
        cap_sys_nice: true,
        cap_ipc_lock: true,
        ..unprivileged()
    }
}

/// Checks for the words that a refusal and its remedy must hold.
fn refused_with(policy: Policy, errno: i32, rights: &Rights, reason: &str, remedy: &str) {
    let note = refusal(policy, errno, rights);
    assert!(note.reason.contains(reason), "{}", note.reason);
    assert!(note.remedy.contains(remedy), "{}", note.remedy);
}

#[test]
fn each_refusal_of_a_priority_has_its_own_reason() {
    let fifo = Policy::Fifo(80);
    let grouped = Rights {
        rt_group: Some(("/user.slice".to_owned(), 0)),
        ..root()
    };
    let contained = Rights {
        user_namespace: true,
        ..root()
    };
    refused_with(
        fifo,
        libc::EPERM,
        &unprivileged(),
        "RLIMIT_RTPRIO (0)",
        "--rtprio=99",
    );
    refused_with(
        fifo,
        libc::EPERM,
        &grouped,
        "/user.slice has none",
        "/user.slice/cpu.rt_runtime_us",
    );
    refused_with(
        fifo,
        libc::EPERM,
        &contained,
        "user namespace",
        "--cap-add=SYS_NICE",
    );
    refused_with(fifo, libc::EPERM, &root(), "seccomp", "--cap-add=SYS_NICE");
    refused_with(
        fifo,
        libc::EINVAL,
        &root(),
        "Invalid argument",
        "sched_setattr(2)",
    );
}

#[test]
fn each_refusal_of_a_reservation_has_its_own_reason() {
    let period = Duration::from_millis(1);
    let deadline = Policy::Deadline {
        runtime: period / 2,
        deadline: period,
        period,
    };
    refused_with(
        deadline,
        libc::EPERM,
        &unprivileged(),
        "CAP_SYS_NICE",
        "setcap cap_sys_nice",
    );
    refused_with(deadline, libc::EPERM, &root(), "every CPU", "CPU list");
    refused_with(
        deadline,
        libc::EBUSY,
        &root(),
        "cannot guarantee",
        "less runtime",
    );
    refused_with(
        deadline,
        libc::EINVAL,
        &root(),
        "sched_deadline_period_min_us",
        "runtime <= deadline",
    );
}

#[test]
fn a_granted_policy_warns_of_the_throttle() {
    let throttled = |runtime_us| Rights {
        rt_throttle_us: Some((runtime_us, 1_000_000)),
        ..root()
    };
    let note = throttle(Policy::Fifo(80), &throttled(950_000)).unwrap();
    assert!(
        note.reason.contains("50 ms in every 1000 ms"),
        "{}",
        note.reason
    );
    assert!(!note.remedy.contains("fair_server"));
    let later = Rights {
        has_fair_server: true,
        ..throttled(950_000)
    };
    let note = throttle(Policy::Fifo(80), &later).unwrap();
    assert!(note.remedy.contains("fair_server"), "{}", note.remedy);
    assert!(throttle(Policy::RoundRobin(1), &throttled(950_000)).is_some());
    assert!(throttle(Policy::Other, &throttled(950_000)).is_none());
    assert!(throttle(Policy::Fifo(80), &throttled(-1)).is_none());
    assert!(throttle(Policy::Fifo(80), &throttled(1_000_000)).is_none());
    assert!(throttle(Policy::Fifo(80), &root()).is_none());
}

#[test]
fn each_refusal_to_lock_has_its_own_reason() {
    let note = locking::refusal(libc::ENOMEM, Some(8 << 20));
    assert!(
        note.reason.contains("RLIMIT_MEMLOCK (8192 kB)"),
        "{}",
        note.reason
    );
    assert!(note.remedy.contains("--memlock=unlimited"));
    let note = locking::refusal(libc::ENOMEM, None);
    assert!(
        note.reason.contains("Cannot allocate memory"),
        "{}",
        note.reason
    );
    let note = locking::only_current(64 << 20);
    assert!(note.reason.contains("65536 kB"), "{}", note.reason);
}
