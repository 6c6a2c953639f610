//! Cgroup v1: a cpuset for everything, and one for the shield.

use std::collections::HashSet;
use std::io;

use super::error::{RaiseShieldError, refused};
use super::journal::Members;
use super::kernel::{ShieldCgroup, ThreadFacts, cpu_list, numbers, place_of};
use super::permitted::{HOUSEKEEPING, SHIELD};
use super::plan::Plan;
use super::undo::RollbackLog;
use crate::tuning::{CpuSet, Measure};

/// A load that forks all the time leaves new threads behind in each pass, fewer each time.
const MAX_PASSES: usize = 50;
/// Depth of control groups that is followed.
const MAX_DEPTH: usize = 16;

/// Moves everything off the CPUs and makes the shield's cpuset.
pub(super) fn raise(
    log: &mut RollbackLog,
    mount: &str,
    plan: &mut Plan,
) -> Result<ShieldCgroup, RaiseShieldError> {
    let home = place_of(
        log.kernel.as_ref(),
        mount,
        log.kernel.this_thread(),
        "cpuset",
    );
    let moved = housekeeping(log, mount, plan)?;
    plan.measures.push(moved);
    let mut kept = narrow_others(log, mount, plan);
    let shield = format!("{mount}/{SHIELD}");
    make(log, mount, &shield, &home, &plan.cpus.to_string())?;
    // The kernel refuses this while another cpuset keeps one of these CPUs; the measure then says so.
    let exclusive = log.set_own(&format!("{shield}/cpuset.cpu_exclusive"), "1");
    if exclusive.is_err() && kept.is_empty() {
        kept.push("another one".to_owned());
    }
    set_own(log, &format!("{shield}/cpuset.sched_load_balance"), "0")?;
    // The root spans all CPUs: as long as it balances load, it balances theirs too.
    let balance = format!("{mount}/cpuset.sched_load_balance");
    let set = log.set(&balance, "0");
    set.map_err(|error| refused(&balance, "0", error))?;
    let cpus = format!("{shield}/cpuset.cpus");
    let granted = set_own(log, &cpus, &plan.cpus.to_string())?;
    plan.measures.insert(0, plan.cpuset(&granted, &kept));
    Ok(ShieldCgroup {
        folder: shield,
        members: Members::Threads,
        mount: mount.to_owned(),
    })
}

fn set_own(log: &RollbackLog, path: &str, value: &str) -> Result<String, RaiseShieldError> {
    log.set_own(path, value)
        .map_err(|error| refused(path, value, error))
}

/// A cpuset with the root's memory nodes, without which nothing may enter it.
fn make(
    log: &mut RollbackLog,
    mount: &str,
    path: &str,
    home: &str,
    cpus: &str,
) -> Result<(), RaiseShieldError> {
    log.make_folder(path, home, Members::Threads)
        .map_err(|error| refused(path, "a control group", error))?;
    let mems = format!("{mount}/cpuset.mems");
    let nodes = log
        .kernel
        .read(&mems)
        .map_err(|error| refused(&mems, "to be read", error))?;
    set_own(log, &format!("{path}/cpuset.mems"), nodes.trim())?;
    set_own(log, &format!("{path}/cpuset.cpus"), cpus)?;
    Ok(())
}

/// Moves all movable threads into a cpuset of the other CPUs.
fn housekeeping(
    log: &mut RollbackLog,
    mount: &str,
    plan: &Plan,
) -> Result<Measure, RaiseShieldError> {
    let path = format!("{mount}/{HOUSEKEEPING}");
    make(log, mount, &path, mount, &plan.others.to_string())?;
    let mut refused_threads = HashSet::new();
    let mut moved = 0;
    for _ in 0..MAX_PASSES {
        let threads = numbers(log.kernel.as_ref(), &Members::Threads.of(mount));
        let threads = threads.map_err(|error| refused(mount, "to be read", error))?;
        let new: Vec<u32> = threads
            .into_iter()
            .filter(|thread| !refused_threads.contains(thread))
            .collect();
        if new.is_empty() {
            break;
        }
        let own = new
            .iter()
            .filter_map(|&thread| log.own_affinity(thread, &plan.all));
        let own = own.collect();
        log.note(own)
            .map_err(|error| refused(mount, "a journal", error))?;
        for thread in new {
            match move_to(log, &path, thread) {
                Ok(()) => moved += 1,
                Err(_) => drop(refused_threads.insert(thread)),
            }
        }
    }
    Ok(tasks_measure(log, mount, plan, moved))
}

fn move_to(log: &RollbackLog, group: &str, thread: u32) -> io::Result<()> {
    let path = Members::Threads.of(group);
    log.kernel.write(&path, &thread.to_string())
}

/// The threads that stayed in the root: threads bound to a CPU are the kernel's own and must stay.
fn tasks_measure(log: &RollbackLog, mount: &str, plan: &Plan, moved: usize) -> Measure {
    let kernel = log.kernel.as_ref();
    let left = numbers(kernel, &Members::Threads.of(mount)).unwrap_or_default();
    let left = left
        .into_iter()
        .filter_map(|thread| ThreadFacts::read(kernel, thread));
    let (bound, free): (Vec<_>, Vec<_>) = left.partition(|facts| facts.is_kernel_thread());
    let mut reasons = Vec::new();
    if !bound.is_empty() {
        reasons.push(format!(
            "{} threads of the kernel stay, for it refuses to move them",
            bound.len()
        ));
    }
    if !free.is_empty() {
        reasons.push(format!("{} other threads could not be moved", free.len()));
    }
    Measure {
        name: "shield_tasks",
        requested: format!("all threads on CPUs {}", plan.others),
        granted: format!("{moved} threads moved to CPUs {}", plan.others),
        ok: free.is_empty(),
        reason: (!reasons.is_empty()).then(|| reasons.join("; ")),
        remedy: (!free.is_empty()).then(|| {
            "end or re-tune what uses SCHED_DEADLINE or forks without end, then raise the shield again"
                .to_owned()
        }),
    }
}

/// Removes the CPUs from the other cpusets; returns the cpusets that keep them.
fn narrow_others(log: &mut RollbackLog, mount: &str, plan: &Plan) -> Vec<String> {
    let mut kept = Vec::new();
    let folders = log.kernel.folders(mount).unwrap_or_default();
    for folder in folders {
        if folder != HOUSEKEEPING && folder != SHIELD {
            let group = format!("{mount}/{folder}");
            narrow(log, &group, plan, &plan.others, &mut kept, MAX_DEPTH);
        }
    }
    kept
}

/// The innermost cpuset first, since a cpuset must hold all CPUs of its children. A cpuset that has no other CPUs
/// gets those that its parent keeps.
fn narrow(
    log: &mut RollbackLog,
    group: &str,
    plan: &Plan,
    of_parent: &CpuSet,
    kept: &mut Vec<String>,
    depth: usize,
) {
    let path = format!("{group}/cpuset.cpus");
    let Ok(cpus) = cpu_list(log.kernel.as_ref(), &path) else {
        return;
    };
    if !plan.concerns(&cpus) {
        return;
    }
    let rest = match cpus.without(&plan.cpus) {
        rest if rest.is_empty() => of_parent.clone(),
        rest => rest,
    };
    if depth > 0 {
        for folder in log.kernel.folders(group).unwrap_or_default() {
            narrow(
                log,
                &format!("{group}/{folder}"),
                plan,
                &rest,
                kept,
                depth - 1,
            );
        }
    }
    let threads = numbers(log.kernel.as_ref(), &Members::Threads.of(group)).unwrap_or_default();
    let own = threads
        .iter()
        .filter_map(|&thread| log.own_affinity(thread, &cpus));
    let own = own.collect();
    if log.note(own).is_err() || log.set(&path, &rest.to_string()).is_err() {
        kept.push(group.to_owned());
    }
}
