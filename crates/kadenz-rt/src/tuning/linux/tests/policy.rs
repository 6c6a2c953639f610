//! P, as the kernel of this machine grants it.

use std::thread;

use super::*;

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
            assert_eq!(measure.granted, "SCHED_DEADLINE 100us/10ms");
            assert_eq!(in_force().0, sched::SCHED_DEADLINE);
        } else {
            assert!(measure.reason.is_some() && measure.remedy.is_some());
            skip_for("a_deadline_reservation_is_granted_or_explained", measure);
        }
        drop(applied);
        assert_eq!(in_force().0, libc::SCHED_OTHER as u32);
    });
}

#[test]
fn a_deadline_thread_held_to_one_cpu_learns_why_not() {
    on_own_thread(|| {
        let first = CpuSet::from_mask(sched::affinity().unwrap())
            .iter()
            .next()
            .unwrap();
        if thread::available_parallelism().unwrap().get() < 2 {
            return skip(
                "a_deadline_thread_held_to_one_cpu_learns_why_not",
                "a second CPU; run on a larger machine",
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
        let limit = sched::limit(sched::LimitedResource::RealTimePriority);
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
