use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::super::{Applied, CpuSet, Measure, Policy, Tuning, apply};
use super::rights::Rights;
use super::scheduling::{refusal, throttle};
use crate::memory::{LockMemoryError, faults, locked_kb};
use crate::os::linux::sched;
use crate::testing::skip;

const NEEDS_RIGHTS: &str =
    "the right to real-time scheduling; run as root or `sudo prlimit --pid $$ --rtprio=99`";

/// Runs a test on a thread of its own, so that what it changes touches no other test.
fn on_own_thread(test: impl FnOnce() + Send) {
    thread::scope(|scope| {
        if let Err(panic) = scope.spawn(test).join() {
            std::panic::resume_unwind(panic);
        }
    });
}

fn policy(policy: Policy) -> Tuning {
    Tuning {
        policy,
        ..Tuning::default()
    }
}

fn measure<'a>(applied: &'a Applied, name: &str) -> &'a Measure {
    applied
        .measures
        .iter()
        .find(|measure| measure.name == name)
        .unwrap()
}

/// What the kernel says of the calling thread: policy, priority and flags.
fn in_force() -> (u32, u32, u64) {
    let attr = sched::scheduling().unwrap();
    (attr.policy, attr.priority, attr.flags)
}

/// Takes capabilities from the calling thread alone, to see what an ordinary user sees.
fn give_up_capabilities() {
    #[repr(C)]
    struct Header {
        version: u32,
        thread: i32,
    }
    // _LINUX_CAPABILITY_VERSION_3 of linux/capability.h; three sets of 64 bits, all empty.
    let header = Header {
        version: 0x2008_0522,
        thread: 0,
    };
    let none = [0_u32; 6];
    // SAFETY: both structures are live and laid out as capset(2) demands; thread 0 is the caller.
    let outcome = unsafe { libc::syscall(libc::SYS_capset, &raw const header, &raw const none) };
    assert_eq!(outcome, 0);
}

#[test]
fn the_ordinary_policy_is_always_granted() {
    on_own_thread(|| {
        let before = in_force();
        let applied = apply(&Tuning::default());
        assert_eq!(applied.measures.len(), 1);
        let measure = measure(&applied, "policy");
        assert_eq!(
            (measure.requested.as_str(), measure.granted.as_str()),
            ("SCHED_OTHER", "SCHED_OTHER")
        );
        assert!(measure.ok && measure.reason.is_none() && measure.remedy.is_none());
        drop(applied);
        assert_eq!(in_force(), before);
    });
}

#[test]
fn a_granted_policy_is_in_force_until_the_guard_goes() {
    let cases = [
        (Policy::Fifo(10), libc::SCHED_FIFO, 10),
        (Policy::RoundRobin(7), libc::SCHED_RR, 7),
    ];
    for (wanted, number, priority) in cases {
        on_own_thread(|| {
            let before = in_force();
            let applied = apply(&policy(wanted));
            if !applied.all_granted() {
                return skip(
                    "a_granted_policy_is_in_force_until_the_guard_goes",
                    NEEDS_RIGHTS,
                );
            }
            assert_eq!(measure(&applied, "policy").granted, wanted.to_string());
            assert_eq!(
                (in_force().0, in_force().1),
                (number.cast_unsigned(), priority)
            );
            let inherited = thread::spawn(|| in_force().0).join().unwrap();
            assert_eq!(
                inherited,
                libc::SCHED_OTHER as u32,
                "a new thread inherited the policy"
            );
            drop(applied);
            assert_eq!((in_force().0, in_force().1), (before.0, before.1));
        });
    }
}

#[test]
fn guards_nest() {
    on_own_thread(|| {
        let outer = apply(&policy(Policy::Fifo(5)));
        if !outer.all_granted() {
            return skip("guards_nest", NEEDS_RIGHTS);
        }
        let inner = apply(&policy(Policy::Fifo(6)));
        assert_eq!(in_force().1, 6);
        drop(inner);
        assert_eq!(in_force().1, 5);
        drop(outer);
        assert_eq!(in_force().1, 0);
    });
}

#[test]
fn a_deadline_reservation_is_granted_or_explained() {
    on_own_thread(|| {
        let wanted: Policy = "deadline:100us/10ms".parse().unwrap();
        let applied = apply(&policy(wanted));
        let measure = measure(&applied, "policy");
        if measure.ok {
            assert_eq!(measure.granted, "SCHED_DEADLINE 100µs/10ms");
            assert_eq!(in_force().0, sched::SCHED_DEADLINE);
        } else {
            assert!(measure.reason.is_some() && measure.remedy.is_some());
            skip(
                "a_deadline_reservation_is_granted_or_explained",
                measure.reason.as_deref().unwrap(),
            );
        }
        drop(applied);
        assert_eq!(in_force().0, libc::SCHED_OTHER as u32);
    });
}

#[test]
fn a_deadline_thread_held_to_one_cpu_is_told_why_not() {
    on_own_thread(|| {
        let first = CpuSet::from_mask(sched::affinity().unwrap())
            .iter()
            .next()
            .unwrap();
        if thread::available_parallelism().unwrap().get() < 2 {
            return skip(
                "a_deadline_thread_held_to_one_cpu_is_told_why_not",
                "a second CPU",
            );
        }
        let wish = Tuning {
            cpus: Some(CpuSet::single(first)),
            ..policy("deadline:100us/10ms".parse().unwrap())
        };
        let applied = apply(&wish);
        let measure = measure(&applied, "policy");
        assert!(!measure.ok);
        assert_eq!(measure.granted, "SCHED_OTHER");
        let reason = measure.reason.as_deref().unwrap();
        assert!(
            reason.contains("every CPU") || reason.contains("CAP_SYS_NICE"),
            "{reason}"
        );
    });
}

#[test]
fn without_rights_the_limit_and_its_remedy_are_named() {
    on_own_thread(|| {
        give_up_capabilities();
        let limit = sched::limit(sched::Limit::RealTimePriority);
        if limit.is_none_or(|limit| limit >= 99) {
            return skip(
                "without_rights_the_limit_and_its_remedy_are_named",
                "an RLIMIT_RTPRIO below 99; `ulimit -r 0`",
            );
        }
        let before = in_force();
        let applied = apply(&policy(Policy::Fifo(99)));
        let measure = measure(&applied, "policy");
        assert!(!measure.ok);
        assert_eq!(
            (measure.requested.as_str(), measure.granted.as_str()),
            ("SCHED_FIFO 99", "SCHED_OTHER")
        );
        let (reason, remedy) = (
            measure.reason.as_deref().unwrap(),
            measure.remedy.as_deref().unwrap(),
        );
        assert!(
            reason.contains("RLIMIT_RTPRIO") || reason.contains("cgroup"),
            "{reason}"
        );
        assert!(
            remedy.contains("prlimit") || remedy.contains("cpu.rt_runtime_us"),
            "{remedy}"
        );
        drop(applied);
        assert_eq!(in_force(), before);
    });
}

#[test]
fn a_policy_granted_with_rights_is_given_back_without() {
    on_own_thread(|| {
        let applied = apply(&policy(Policy::Fifo(3)));
        if !applied.all_granted() {
            return skip(
                "a_policy_granted_with_rights_is_given_back_without",
                NEEDS_RIGHTS,
            );
        }
        give_up_capabilities();
        drop(applied);
        assert_eq!((in_force().0, in_force().1), (libc::SCHED_OTHER as u32, 0));
    });
}

#[test]
fn affinity_is_granted_and_put_back() {
    on_own_thread(|| {
        let before = sched::affinity().unwrap();
        let last = CpuSet::from_mask(before).iter().last().unwrap();
        let applied = apply(&Tuning {
            cpus: Some(CpuSet::single(last)),
            ..Tuning::default()
        });
        let measure = measure(&applied, "affinity");
        assert!(measure.ok);
        assert_eq!(measure.granted, format!("CPUs {last}"));
        assert_eq!(
            CpuSet::from_mask(sched::affinity().unwrap()),
            CpuSet::single(last)
        );
        drop(applied);
        assert_eq!(sched::affinity().unwrap(), before);
    });
}

#[test]
fn a_cpu_that_is_not_there_is_named() {
    on_own_thread(|| {
        let before = sched::affinity().unwrap();
        for list in ["1023", "0,1023"] {
            let applied = apply(&Tuning {
                cpus: Some(list.parse().unwrap()),
                ..Tuning::default()
            });
            let measure = measure(&applied, "affinity");
            assert!(!measure.ok, "{list}");
            assert!(measure.reason.as_deref().unwrap().contains("1023"));
            assert!(measure.remedy.is_some());
        }
        assert_eq!(sched::affinity().unwrap(), before);
    });
}

#[test]
fn timer_slack_is_granted_and_put_back() {
    on_own_thread(|| {
        let before = sched::timer_slack_ns();
        let applied = apply(&Tuning {
            timer_slack_ns: Some(1_000),
            ..Tuning::default()
        });
        assert!(measure(&applied, "timer_slack").ok);
        assert_eq!(sched::timer_slack_ns(), 1_000);
        drop(applied);
        assert_eq!(sched::timer_slack_ns(), before);
    });
}

#[test]
fn slack_and_policy_together_leave_the_thread_as_it_was() {
    on_own_thread(|| {
        let before = (in_force(), sched::timer_slack_ns());
        let applied = apply(&Tuning {
            timer_slack_ns: Some(1),
            ..policy(Policy::Fifo(2))
        });
        assert!(measure(&applied, "timer_slack").ok);
        drop(applied);
        assert_eq!((in_force(), sched::timer_slack_ns()), before);
    });
}

#[test]
fn the_latency_of_idle_cpus_is_held_or_explained() {
    on_own_thread(|| {
        let applied = apply(&Tuning {
            cpu_dma_latency_us: Some(20),
            ..Tuning::default()
        });
        let measure = measure(&applied, "cpu_dma_latency");
        assert_eq!(measure.requested, "20 us");
        if measure.ok {
            let granted_us: u32 = measure
                .granted
                .strip_suffix(" us")
                .unwrap()
                .parse()
                .unwrap();
            assert!(granted_us <= 20);
        } else {
            assert!(measure.remedy.is_some());
            skip(
                "the_latency_of_idle_cpus_is_held_or_explained",
                measure.reason.as_deref().unwrap(),
            );
        }
    });
}

/// Locked memory belongs to the process, so its tests take turns.
static MEMORY: Mutex<()> = Mutex::new(());

#[test]
fn memory_is_locked_until_the_last_guard_goes() {
    let _turn = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    on_own_thread(|| {
        let wish = Tuning {
            lock_memory: true,
            ..Tuning::default()
        };
        let first = apply(&wish);
        let measure = measure(&first, "memory_lock");
        if !measure.ok {
            let reason = measure.reason.as_deref().unwrap();
            return skip("memory_is_locked_until_the_last_guard_goes", reason);
        }
        assert!(locked_kb() > 0);
        let second = apply(&wish);
        drop(first);
        assert!(locked_kb() > 0, "the first guard unlocked under the second");
        drop(second);
        assert_eq!(locked_kb(), 0);
    });
}

#[test]
fn memory_beyond_the_limit_is_refused_with_the_remedy() {
    let _turn = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    on_own_thread(|| {
        give_up_capabilities();
        if sched::limit(sched::Limit::LockedMemory).is_none() {
            let missing = "a finite RLIMIT_MEMLOCK; `ulimit -l 8192`";
            return skip(
                "memory_beyond_the_limit_is_refused_with_the_remedy",
                missing,
            );
        }
        let applied = apply(&Tuning {
            lock_memory: true,
            ..Tuning::default()
        });
        let measure = measure(&applied, "memory_lock");
        assert!(!measure.ok);
        assert!(
            measure
                .reason
                .as_deref()
                .unwrap()
                .contains("RLIMIT_MEMLOCK")
        );
        assert!(measure.remedy.as_deref().unwrap().contains("prlimit"));
    });
}

#[test]
fn touched_and_locked_memory_does_not_fault() {
    let _turn = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    on_own_thread(|| {
        let applied = apply(&Tuning {
            lock_memory: true,
            ..Tuning::default()
        });
        if !applied.all_granted() {
            return skip(
                "touched_and_locked_memory_does_not_fault",
                "the right to lock memory; `ulimit -l unlimited`",
            );
        }
        use_stack();
        let before = faults().unwrap();
        use_stack();
        let after = faults().unwrap();
        assert_eq!(after, before);
    });
}

/// Uses a good part of what was touched ahead.
#[inline(never)]
fn use_stack() {
    let mut bytes = [0_u8; crate::memory::STACK_PREFAULT / 2];
    std::hint::black_box(&mut bytes);
}

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

/// Asks for the words that a refusal and its remedy must hold.
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
    let refused = |errno| LockMemoryError::Refused { errno };
    let note = super::memory::refusal(&refused(libc::ENOMEM), Some(8 << 20));
    assert!(
        note.reason.contains("RLIMIT_MEMLOCK (8192 kB)"),
        "{}",
        note.reason
    );
    assert!(note.remedy.contains("--memlock=unlimited"));
    let note = super::memory::refusal(&refused(libc::ENOMEM), None);
    assert!(
        note.reason.contains("Cannot allocate memory"),
        "{}",
        note.reason
    );
    let note = super::memory::only_current(64 << 20);
    assert!(note.reason.contains("65536 kB"), "{}", note.reason);
}
