//! Cgroup v2: an isolated partition.

use super::error::{RaiseShieldError, refused};
use super::journal::{Change, Members};
use super::kernel::{ShieldCgroup, cpu_list, has, place_of};
use super::permitted::SHIELD;
use super::plan::Plan;
use super::undo::RollbackLog;

/// Makes the partition; the kernel then moves everything else off its CPUs by itself.
pub(super) fn raise(
    log: &mut RollbackLog,
    mount: &str,
    plan: &mut Plan,
) -> Result<ShieldCgroup, RaiseShieldError> {
    let home = place_of(log.kernel.as_ref(), mount, log.kernel.this_process(), "");
    switch_on(log, mount)?;
    let kept = narrow_others(log, mount, plan);
    let shield = format!("{mount}/{SHIELD}");
    log.make_folder(&shield, &home, Members::Processes)
        .map_err(|error| refused(&shield, "a control group", error))?;
    let cpus = plan.cpus.to_string();
    let wishes = [
        ("cpuset.cpus", cpus.as_str()),
        ("cpuset.cpus.partition", "isolated"),
    ];
    for (file, value) in wishes {
        let path = format!("{shield}/{file}");
        let now = log.set_own(&path, value);
        let now = now.map_err(|error| refused(&path, value, error))?;
        if file == "cpuset.cpus.partition" && now != value {
            return Err(RaiseShieldError::NotIsolated {
                path: shield,
                reason: reason_of(&now),
            });
        }
    }
    let effective = format!("{shield}/cpuset.cpus.effective");
    let granted = log.kernel.read(&effective).unwrap_or_default();
    plan.measures.insert(0, plan.cpuset(granted.trim(), &kept));
    Ok(ShieldCgroup {
        folder: shield,
        members: Members::Processes,
        mount: mount.to_owned(),
    })
}

/// `isolated invalid (Cpu list in cpuset.cpus not exclusive)`: the text in the parentheses.
fn reason_of(partition: &str) -> String {
    let inner = partition
        .split_once('(')
        .map(|(_, reason)| reason.trim_end_matches(')'));
    inner.unwrap_or(partition).to_owned()
}

/// The controller must be on in the root for its children to have a cpuset.
fn switch_on(log: &mut RollbackLog, mount: &str) -> Result<(), RaiseShieldError> {
    let path = format!("{mount}/cgroup.subtree_control");
    let refused = |error| refused(&path, "+cpuset", error);
    let on = log.kernel.read(&path).map_err(refused)?;
    if on.split_whitespace().any(|name| name == "cpuset") {
        return Ok(());
    }
    let change = Change::Controller { path: path.clone() };
    log.note(vec![change]).map_err(refused)?;
    log.kernel.write(&path, "+cpuset").map_err(refused)
}

/// Removes the CPUs from groups that name them; returns the groups that keep them. Groups that name none follow the
/// root by themselves.
fn narrow_others(log: &mut RollbackLog, mount: &str, plan: &Plan) -> Vec<String> {
    let mut kept = Vec::new();
    for folder in log.kernel.folders(mount).unwrap_or_default() {
        let path = format!("{mount}/{folder}/cpuset.cpus");
        if folder == SHIELD || !has(log.kernel.as_ref(), &path) {
            continue;
        }
        let cpus = cpu_list(log.kernel.as_ref(), &path).unwrap_or_default();
        if !plan.concerns(&cpus) {
            continue;
        }
        let rest = plan.outside(&cpus).to_string();
        if log.set(&path, &rest).is_err() {
            kept.push(format!("{mount}/{folder}"));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_an_invalid_partition_is_its_own() {
        let said = "isolated invalid (Cpu list in cpuset.cpus not exclusive)";
        assert_eq!(reason_of(said), "Cpu list in cpuset.cpus not exclusive");
        assert_eq!(reason_of("root invalid"), "root invalid");
    }
}
