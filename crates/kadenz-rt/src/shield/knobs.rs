//! Kernel work on a CPU that the kernel places itself: interrupts, workers, timers, statistics.
//!
//! `docs/shield.md` names the kernel's documentation of each file. Each is optional: the shield leaves out files
//! that do not exist, and reports a refused change as a measure.

use std::io;

use super::kernel::ThreadFacts;
use super::permitted::WORKQUEUES;
use super::plan::{Plan, cpus_of, mask_of};
use super::undo::RollbackLog;
use crate::tuning::{CpuSet, Measure};

/// Sets every knob that this kernel has.
pub(super) fn turn(log: &mut RollbackLog, plan: &mut Plan) {
    let measures = [
        kernel_threads(log, plan),
        interrupts(log, plan),
        mask(
            log,
            plan,
            "shield_new_interrupts",
            "/proc/irq/default_smp_affinity",
        ),
        workqueues(log, plan),
        watchdog(log, plan),
        // Timers stay on the CPU that set them: a shielded CPU serves no timers of others, and no other CPU, which
        // would have to wake it first, serves its timers.
        number(
            log,
            "shield_timer_migration",
            "/proc/sys/kernel/timer_migration",
            "0",
        ),
        vm_statistics(log),
        // An expedited grace period interrupts every CPU that does not idle.
        number(
            log,
            "shield_rcu_expedited",
            "/sys/kernel/rcu_expedited",
            "0",
        ),
        number(log, "shield_rcu_normal", "/sys/kernel/rcu_normal", "1"),
    ];
    plan.measures.extend(measures.into_iter().flatten());
}

/// The boot options for changes that the running kernel refuses.
const FOR_GOOD: &str = "boot with isolcpus=domain,managed_irq,CPUS nohz_full=CPUS rcu_nocbs=CPUS \
                        irqaffinity=OTHERS (docs/shield.md)";

/// Interval of the kernel's statistics update, in seconds. Programs that read `vmstat` see values of up to ten
/// minutes ago.
const STAT_INTERVAL_S: u32 = 600;

fn vm_statistics(log: &mut RollbackLog) -> Option<Measure> {
    let path = "/proc/sys/vm/stat_interval";
    let now: u32 = log.kernel.read(path).ok()?.trim().parse().ok()?;
    let wish = now.max(STAT_INTERVAL_S).to_string();
    number(log, "shield_vm_statistics", path, &wish)
}

fn watchdog(log: &mut RollbackLog, plan: &Plan) -> Option<Measure> {
    let path = "/proc/sys/kernel/watchdog_cpumask";
    let before: CpuSet = log.kernel.read(path).ok()?.trim().parse().ok()?;
    let wish = plan.outside(&before).to_string();
    number(log, "shield_watchdog", path, &wish)
}

fn number(log: &mut RollbackLog, name: &'static str, path: &str, wish: &str) -> Option<Measure> {
    let outcome = match log.set(path, wish) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        outcome => outcome,
    };
    let granted = log.kernel.read(path).unwrap_or_default();
    let granted = granted.trim();
    let (ok, wish) = (granted == wish, format!("{path}: {wish}"));
    Some(measure(name, wish, granted, ok, outcome.err()))
}

/// A file that holds a mask.
fn mask(log: &mut RollbackLog, plan: &Plan, name: &'static str, path: &str) -> Option<Measure> {
    let before = cpus_of(&log.kernel.read(path).ok()?)?;
    let wish = plan.outside(&before);
    let error = match plan.concerns(&before) {
        true => log.set(path, &mask_of(&wish)).err(),
        false => None,
    };
    let granted = cpus_of(&log.kernel.read(path).ok()?)?;
    let ok = !plan.concerns(&granted);
    let wish = format!("{path}: CPUs {wish}");
    Some(measure(name, wish, &format!("CPUs {granted}"), ok, error))
}

fn measure(
    name: &'static str,
    requested: String,
    granted: &str,
    ok: bool,
    error: Option<io::Error>,
) -> Measure {
    Measure {
        name,
        requested,
        granted: granted.to_owned(),
        ok,
        reason: match (ok, error) {
            (true, _) => None,
            (false, Some(error)) => Some(format!("the kernel says: {error}")),
            (false, None) => Some("the kernel took another value".to_owned()),
        },
        remedy: (!ok).then(|| FOR_GOOD.to_owned()),
    }
}

/// The workers of unbound queues, and those of each queue that has a mask of its own (writeback).
fn workqueues(log: &mut RollbackLog, plan: &Plan) -> Option<Measure> {
    let all = format!("{WORKQUEUES}/cpumask");
    let measure = mask(log, plan, "shield_workqueues", &all)?;
    for queue in log.kernel.folders(WORKQUEUES).unwrap_or_default() {
        let path = format!("{WORKQUEUES}/{queue}/cpumask");
        // The mask of all queues bounds it even where its own cannot be set.
        let _ = mask(log, plan, "shield_workqueues", &path);
    }
    Some(measure)
}

/// Moves interrupts to the other CPUs, except for those that the kernel itself binds.
fn interrupts(log: &mut RollbackLog, plan: &Plan) -> Option<Measure> {
    let names = log.kernel.folders("/proc/irq").ok()?;
    let (mut moved, mut refused) = (0, Vec::new());
    for irq in names {
        let path = format!("/proc/irq/{irq}/smp_affinity_list");
        let Ok(before) = log.kernel.read(&path) else {
            continue;
        };
        let before: CpuSet = before.trim().parse().unwrap_or_default();
        if !plan.concerns(&before) {
            continue;
        }
        match log.set(&path, &plan.outside(&before).to_string()) {
            Ok(_) => moved += 1,
            Err(_) => refused.push(irq),
        }
    }
    Some(Measure {
        name: "shield_interrupts",
        requested: format!("interrupts on CPUs {}", plan.others),
        granted: format!("{moved} moved, {} not", refused.len()),
        ok: true,
        reason: (!refused.is_empty()).then(|| {
            format!(
                "the kernel binds the interrupts {} itself",
                refused.join(", ")
            )
        }),
        remedy: None,
    })
}

/// Moves threads of the kernel that no control group moved and that are bound to no CPU.
fn kernel_threads(log: &mut RollbackLog, plan: &Plan) -> Option<Measure> {
    let names = log.kernel.folders("/proc").ok()?;
    let threads = names.iter().filter_map(|name| name.parse::<u32>().ok());
    let (mut moved, mut refused) = (0, 0);
    for thread in threads {
        let kernel = log.kernel.as_ref();
        let free = ThreadFacts::read(kernel, thread)
            .is_some_and(|facts| facts.is_kernel_thread() && !facts.is_bound());
        let Ok(cpus) = kernel.affinity(thread) else {
            continue;
        };
        if !free || !plan.concerns(&cpus) {
            continue;
        }
        // Its present CPUs are the ones to restore, whatever its group gives it.
        let change = log.own_affinity(thread, &CpuSet::default());
        let noted = log.note(change.into_iter().collect());
        let set = || log.kernel.set_affinity(thread, &plan.outside(&cpus));
        match noted.and_then(|()| set()) {
            Ok(()) => moved += 1,
            Err(_) => refused += 1,
        }
    }
    Some(Measure {
        name: "shield_kernel_threads",
        requested: format!(
            "threads of the kernel that are bound to no CPU, on CPUs {}",
            plan.others
        ),
        granted: format!("{moved} more moved, {refused} refused"),
        ok: true,
        reason: None,
        remedy: None,
    })
}
