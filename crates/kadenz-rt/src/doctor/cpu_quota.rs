//! The CPU quota of the control groups around this process.

use super::{Check, Finding, Machine, Severity, cgroup, remedy};

pub(super) struct CpuQuota;

const ID: &str = "cpu-quota";

/// So much CPU time in each period, both in microseconds.
struct Quota {
    quota: i64,
    period: i64,
    file: String,
    evidence: String,
}

impl Check for CpuQuota {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let groups = cgroup::read(machine.root);
        if groups.unified.is_empty() && groups.cpu.is_empty() {
            let finding = Finding::new(ID, Severity::Note, "CPU quota: not known")
                .cost("not known")
                .evidence("not known here: no control group of this process under /sys/fs/cgroup");
            return vec![finding];
        }
        let quotas: Vec<Finding> = quotas(machine, &groups)
            .iter()
            .filter_map(|quota| judge(machine, quota))
            .collect();
        if quotas.is_empty() {
            let folders: Vec<&str> = [groups.unified.first(), groups.cpu.first()]
                .into_iter()
                .flatten()
                .map(String::as_str)
                .collect();
            let evidence = format!("no quota in {} and above", folders.join(", "));
            return vec![Finding::fine(ID, "no quota limits this process", evidence)];
        }
        quotas
    }
}

fn quotas(machine: &Machine<'_>, groups: &cgroup::Groups) -> Vec<Quota> {
    let unified = groups
        .unified
        .iter()
        .filter_map(|folder| version_2(machine, folder));
    let cpu = groups
        .cpu
        .iter()
        .filter_map(|folder| version_1(machine, folder));
    unified.chain(cpu).collect()
}

fn version_2(machine: &Machine<'_>, folder: &str) -> Option<Quota> {
    let file = format!("{folder}/cpu.max");
    let text = machine.root.read(&file).ok()?;
    let mut words = text.split_whitespace();
    let quota = words.next()?.parse().ok()?;
    let period = words.next()?.parse().ok()?;
    Some(Quota {
        quota,
        period,
        evidence: format!("{file}: {text}"),
        file,
    })
}

fn version_1(machine: &Machine<'_>, folder: &str) -> Option<Quota> {
    let file = format!("{folder}/cpu.cfs_quota_us");
    let quota = machine.root.read_number(&file).ok()?;
    let period = machine
        .root
        .read_number(&format!("{folder}/cpu.cfs_period_us"))
        .ok()?;
    Some(Quota {
        quota,
        period,
        evidence: format!("{file}: {quota} of {period}"),
        file,
    })
}

/// `None` when the quota cannot be used up by the CPUs that there are.
fn judge(machine: &Machine<'_>, quota: &Quota) -> Option<Finding> {
    let cpus = i64::try_from(machine.cpus.len().max(1)).unwrap_or(1);
    if quota.quota < 0 || quota.period <= 0 || quota.quota >= quota.period.saturating_mul(cpus) {
        return None;
    }
    // Used up soonest when every CPU runs: then it lasts quota / CPUs.
    let stall_ms = (quota.period - quota.quota / cpus) / 1000;
    let folder = quota.file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let throttled = throttled(machine, folder);
    let name = quota.file.rsplit('/').next().unwrap_or("");
    let free = if name == "cpu.max" { "max" } else { "-1" };
    Some(
        Finding::new(ID, Severity::Spoils, "a CPU quota stops this control group")
            .cost(format!(
                "when the group has used {} us within a period of {} us its ordinary threads stand \
                 still until the next: up to {stall_ms} ms with all CPUs busy (kernel documentation \
                 sched-bwc); SCHED_FIFO and SCHED_RR threads are not under this quota",
                quota.quota, quota.period
            ))
            .evidence(format!("{}{throttled}", quota.evidence))
            .remedy(format!(
                "now: echo {free} | sudo tee {}\nfor good: start the container or unit without a \
                 CPU limit (docker: no --cpus; systemd: CPUQuota=)",
                remedy::shell_word(&quota.file)
            )),
    )
}

fn throttled(machine: &Machine<'_>, folder: &str) -> String {
    let path = format!("{folder}/cpu.stat");
    let Ok(text) = machine.root.read(&path) else {
        return String::new();
    };
    let line = text.lines().find(|line| line.starts_with("nr_throttled "));
    line.map_or(String::new(), |line| format!("; {path}: {line}"))
}
