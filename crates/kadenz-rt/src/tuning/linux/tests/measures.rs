//! C, timer slack and the latency of idle CPUs.

use super::*;

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
            skip_for("the_latency_of_idle_cpus_is_held_or_explained", measure);
        }
    });
}
