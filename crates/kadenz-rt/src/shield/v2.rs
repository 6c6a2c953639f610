//! The second version of control groups: an isolated partition.

use super::error::{RaiseShieldError, refused};
use super::hierarchy::{Place, place_of};
use super::journal::{Change, Members};
use super::kernel::{cpu_list, has};
use super::ledger::Ledger;
use super::permitted::SHIELD;
use super::plan::Plan;

/// Makes the partition; the kernel then moves everything else off its CPUs by itself.
pub(super) fn raise(
    ledger: &mut Ledger,
    mount: &str,
    plan: &mut Plan,
) -> Result<Place, RaiseShieldError> {
    let home = place_of(
        ledger.kernel.as_ref(),
        mount,
        ledger.kernel.this_process(),
        "",
    );
    switch_on(ledger, mount)?;
    let kept = narrow_others(ledger, mount, plan);
    let shield = format!("{mount}/{SHIELD}");
    ledger
        .make_folder(&shield, &home, Members::Processes)
        .map_err(|error| refused(&shield, "a control group", error))?;
    let cpus = plan.cpus.to_string();
    let wishes = [
        ("cpuset.cpus", cpus.as_str()),
        ("cpuset.cpus.partition", "isolated"),
    ];
    for (file, value) in wishes {
        let path = format!("{shield}/{file}");
        let now = ledger.set_own(&path, value);
        let now = now.map_err(|error| refused(&path, value, error))?;
        if file == "cpuset.cpus.partition" && now != value {
            return Err(RaiseShieldError::NotIsolated {
                path: shield,
                reason: reason_of(&now),
            });
        }
    }
    let effective = format!("{shield}/cpuset.cpus.effective");
    let granted = ledger.kernel.read(&effective).unwrap_or_default();
    plan.measures.insert(0, plan.cpuset(granted.trim(), &kept));
    Ok(Place {
        folder: shield,
        members: Members::Processes,
        mount: mount.to_owned(),
    })
}

/// `isolated invalid (Cpu list in cpuset.cpus not exclusive)`: what stands in the parentheses.
fn reason_of(partition: &str) -> String {
    let inner = partition
        .split_once('(')
        .map(|(_, reason)| reason.trim_end_matches(')'));
    inner.unwrap_or(partition).to_owned()
}

/// The controller must be on in the root for its children to have a cpuset.
fn switch_on(ledger: &mut Ledger, mount: &str) -> Result<(), RaiseShieldError> {
    let path = format!("{mount}/cgroup.subtree_control");
    let refused = |error| refused(&path, "+cpuset", error);
    let on = ledger.kernel.read(&path).map_err(refused)?;
    if on.split_whitespace().any(|name| name == "cpuset") {
        return Ok(());
    }
    let change = Change::Controller { path: path.clone() };
    ledger.note(vec![change]).map_err(refused)?;
    ledger.kernel.write(&path, "+cpuset").map_err(refused)
}

/// Takes the CPUs from groups that name them; returns those that hold on to them. Groups that name
/// none follow the root by themselves.
fn narrow_others(ledger: &mut Ledger, mount: &str, plan: &Plan) -> Vec<String> {
    let mut kept = Vec::new();
    for folder in ledger.kernel.folders(mount).unwrap_or_default() {
        let path = format!("{mount}/{folder}/cpuset.cpus");
        if folder == SHIELD || !has(ledger.kernel.as_ref(), &path) {
            continue;
        }
        let cpus = cpu_list(ledger.kernel.as_ref(), &path).unwrap_or_default();
        if !plan.concerns(&cpus) {
            continue;
        }
        let rest = plan.outside(&cpus).to_string();
        if ledger.set(&path, &rest).is_err() {
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
