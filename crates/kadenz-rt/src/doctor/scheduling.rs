//! The share of the CPU that the scheduler grants this process: real-time groups, throttle and quota.

use crate::host::{Root, cgroups};

use super::finding::{Unknown, costs, fine, note, or_else, spoils};
use super::{Finding, Machine, finding};

const GROUP_OPTION: &str = "CONFIG_RT_GROUP_SCHED=y";

/// The evidence that the kernel schedules real-time groups; `None` where there is none.
fn seen_rt_groups(machine: &Machine<'_>) -> Option<String> {
    let folders = Groups::read(machine.root).cpu.into_iter();
    let mut files = folders.map(|folder| format!("{folder}/cpu.rt_runtime_us"));
    if let Some(path) = files.find(|path| machine.root.has(path)) {
        return Some(format!("{path} exists"));
    }
    let build = machine.build().filter(|build| build.has(GROUP_OPTION))?;
    Some(format!("{}: {GROUP_OPTION}", build.path))
}

/// Whether this control group may run real-time tasks at all.
pub(super) fn rt_groups(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    let Some(evidence) = seen_rt_groups(machine) else {
        let build = machine.build().ok_or_else(|| {
            let groups = "cpu.rt_runtime_us absent in this control group";
            Unknown::because(groups).and("/boot/config-<release> absent")
        })?;
        let evidence = format!("{}: no {GROUP_OPTION}", build.path);
        return Ok(fine(
            "real-time tasks are not scheduled in groups",
            evidence,
        ));
    };
    let folder = Groups::read(machine.root).cpu.into_iter().next();
    let path = folder.map(|folder| format!("{folder}/cpu.rt_runtime_us"));
    let runtime = path.and_then(|path| Some((machine.root.read_number(&path).ok()?, path)));
    Ok(match runtime {
        Some((0, path)) => refused(&path),
        Some((runtime, path)) => {
            let title = "real-time groups are scheduled, and this group has real-time";
            fine(title, format!("{path}: {runtime}"))
        }
        None => note("the kernel can schedule real-time tasks in groups")
            .cost(
                "with control groups version 2 and the cpu controller in use, real-time tasks may run \
                 in the root group only (kernel documentation cgroup-v2, CPU): elsewhere SCHED_FIFO is \
                 refused",
            )
            .evidence(evidence)
            .remedy("run in the root group, or boot with rt_group_sched=0 where the kernel knows it"),
    })
}

fn refused(path: &str) -> Finding {
    let word = finding::shell_word(path);
    spoils("this control group has no real-time at all")
        .cost(
            "SCHED_FIFO and SCHED_RR are refused to every process in it, root's too (kernel \
             documentation sched-rt-group, 2.2): the loop runs as an ordinary process",
        )
        .evidence(format!("{path}: 0"))
        .remedy(finding::now_and_for_good(
            &format!("echo 950000 | sudo tee {word} (the groups above need as much first)"),
            "in the unit of the service: Slice=-.slice, or boot a kernel without \
             CONFIG_RT_GROUP_SCHED",
        ))
}

const FAIR_SERVER: &str = "/sys/kernel/debug/sched/fair_server";

/// Linux 6.12 put the fair server in the place of the throttle, unless groups are in use.
fn has_fair_server(machine: &Machine<'_>) -> bool {
    let version = machine.kernel_version();
    version.is_some_and(|version| version >= (6, 12)) || machine.root.has(FAIR_SERVER)
}

/// The share of the CPU that the kernel withholds from real-time tasks.
pub(super) fn throttle(machine: &Machine<'_>) -> Option<Finding> {
    if has_fair_server(machine) && seen_rt_groups(machine).is_none() {
        return None;
    }
    let judged = judge_throttle(machine);
    Some(judged.unwrap_or_else(|why| why.finding("real-time throttling")))
}

fn judge_throttle(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
    const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";
    let runtime = machine.root.read_number(RUNTIME)?;
    let period = machine.root.read_number(PERIOD)?;
    let evidence = format!("{RUNTIME}: {runtime}; {PERIOD}: {period}");
    if runtime < 0 || runtime >= period {
        return Ok(fine("real-time tasks are not throttled", evidence));
    }
    let stall_ms = period.saturating_sub(runtime) / 1000;
    let period_ms = period / 1000;
    Ok(costs("real-time tasks that do not sleep are throttled")
        .cost(format!(
            "a SCHED_FIFO or SCHED_RR task that spins without sleeping is stopped for up to \
             {stall_ms} ms in every {period_ms} ms (sched(7); kernel documentation sched-rt-group); \
             a loop that sleeps in every cycle never meets it"
        ))
        .evidence(evidence)
        .remedy(finding::sysctl("kernel.sched_rt_runtime_us", "-1")))
}

/// Since Linux 6.12 a deadline server runs ordinary tasks when real-time tasks starve them, with the same defaults
/// as the throttle had.
pub(super) fn fair_server(machine: &Machine<'_>) -> Option<Finding> {
    if !has_fair_server(machine) {
        return None;
    }
    let (runtime, period, evidence) = match longest_server(machine) {
        Some((0, _, path)) => return Some(fine("the fair server is off", format!("{path}: 0"))),
        Some((runtime, period, path)) => {
            let evidence = format!("{path}: {runtime}, period {period} (ns)");
            (runtime, period, evidence)
        }
        None => {
            let kernel = machine.facts.kernel.as_deref().unwrap_or("unknown");
            let evidence = format!(
                "kernel {kernel}; {FAIR_SERVER} not readable, so the kernel's default is assumed"
            );
            (50_000_000, 1_000_000_000, evidence)
        }
    };
    let finding = costs("ordinary tasks are served at the cost of real-time tasks")
        .cost(format!(
            "where an ordinary task waits on the same CPU, a SCHED_FIFO or SCHED_RR task that spins \
             without sleeping is stopped for up to {} ms in every {} ms (fair server, Linux 6.12, \
             kernel/sched/deadline.c); a loop that sleeps in every cycle never meets it",
            runtime / 1_000_000,
            period / 1_000_000
        ))
        .evidence(evidence)
        .remedy(finding::now_and_for_good(
            "for f in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do echo 0 | sudo tee $f; done",
            &finding::at_boot(
                "fair-server",
                // systemd turns two dollar signs into one.
                "for f in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do echo 0 > $$f; done",
            ),
        ));
    Some(finding)
}

/// The server with the longest run time: (runtime, period, file), in nanoseconds.
fn longest_server(machine: &Machine<'_>) -> Option<(i64, i64, String)> {
    let cpus = machine.root.list(FAIR_SERVER).ok()?;
    let servers = cpus.iter().filter_map(|cpu| {
        let number = |file: &str| {
            let path = format!("{FAIR_SERVER}/{cpu}/{file}");
            Some((machine.root.read_number(&path).ok()?, path))
        };
        let (runtime, path) = number("runtime")?;
        Some((runtime, number("period")?.0, path))
    });
    servers.max_by_key(|(runtime, ..)| *runtime)
}

/// CPU time in each period, both in microseconds.
struct Quota {
    quota: i64,
    period: i64,
    file: String,
    evidence: String,
}

pub(super) fn cpu_quota(machine: &Machine<'_>) -> Result<Vec<Finding>, Unknown> {
    let groups = Groups::read(machine.root);
    let innermost: Vec<&str> = [groups.unified.first(), groups.cpu.first()]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    if innermost.is_empty() {
        let why = "no control group of this process under /sys/fs/cgroup";
        return Err(Unknown::because(why));
    }
    let unified = groups.unified.iter();
    let unified = unified.filter_map(|folder| version_2(machine, folder));
    let cpu = groups.cpu.iter();
    let quotas = unified.chain(cpu.filter_map(|folder| version_1(machine, folder)));
    let findings = quotas.filter_map(|quota| quota.judge(machine));
    Ok(or_else(findings, || {
        let evidence = format!("no quota in {} and above", innermost.join(", "));
        fine("no quota limits this process", evidence)
    }))
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

impl Quota {
    /// `None` when the existing CPUs cannot use up the quota.
    fn judge(&self, machine: &Machine<'_>) -> Option<Finding> {
        let (quota, period) = (self.quota, self.period);
        let cpus = i64::try_from(machine.cpus.len().max(1)).unwrap_or(1);
        if quota < 0 || period <= 0 || quota >= period.saturating_mul(cpus) {
            return None;
        }
        // The quota is used up soonest when every CPU runs: then it lasts quota / CPUs.
        let stall_ms = (period - quota / cpus) / 1000;
        let (folder, name) = self.file.rsplit_once('/').unwrap_or_default();
        let free = if name == "cpu.max" { "max" } else { "-1" };
        let finding = spoils("a CPU quota stops this control group")
            .cost(format!(
                "when the group has used {quota} us within a period of {period} us its ordinary \
                 threads stand still until the next: up to {stall_ms} ms with all CPUs busy (kernel \
                 documentation sched-bwc); SCHED_FIFO and SCHED_RR threads are not under this quota"
            ))
            .evidence(format!("{}{}", self.evidence, throttled(machine, folder)))
            .remedy(format!(
                "now: echo {free} | sudo tee {}\nfor good: start the container or unit without a \
                 CPU limit (docker: no --cpus; systemd: CPUQuota=)",
                finding::shell_word(&self.file)
            ));
        Some(finding)
    }
}

fn throttled(machine: &Machine<'_>, folder: &str) -> String {
    let path = format!("{folder}/cpu.stat");
    let Ok(text) = machine.root.read(&path) else {
        return String::new();
    };
    let line = text.lines().find(|line| line.starts_with("nr_throttled "));
    line.map_or(String::new(), |line| format!("; {path}: {line}"))
}

/// Groups nest; more levels than this are not followed.
const MAX_LEVELS: usize = 64;

/// The folders of this process's groups, innermost first, each up to the root of its hierarchy.
#[derive(Clone, Debug, Default)]
struct Groups {
    /// In the unified hierarchy (version 2).
    unified: Vec<String>,
    /// In the hierarchy of the `cpu` controller (version 1).
    cpu: Vec<String>,
}

impl Groups {
    /// Reads `/proc/self/cgroup` and finds the folders at their usual places.
    fn read(root: &Root) -> Self {
        let mut groups = Self::default();
        let Ok(text) = root.read("/proc/self/cgroup") else {
            return groups;
        };
        for (controllers, path) in cgroups(&text) {
            if controllers.is_empty() {
                let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
                let mount = mounts
                    .iter()
                    .find(|m| root.has(&format!("{m}/cgroup.controllers")));
                if let Some(mount) = mount {
                    groups.unified = levels(mount, path);
                }
            } else if controllers.split(',').any(|controller| controller == "cpu") {
                let mounts = [
                    format!("/sys/fs/cgroup/{controllers}"),
                    "/sys/fs/cgroup/cpu".to_owned(),
                ];
                if let Some(mount) = mounts.iter().find(|mount| root.has(mount)) {
                    groups.cpu = levels(mount, path);
                }
            }
        }
        groups
    }
}

fn levels(mount: &str, path: &str) -> Vec<String> {
    // A container may see `/..`: groups above its own root cannot be followed.
    let path = if path.split('/').any(|part| part == "..") {
        ""
    } else {
        path.trim_matches('/')
    };
    let mut folders = vec![mount.to_owned()];
    for part in path
        .split('/')
        .filter(|part| !part.is_empty())
        .take(MAX_LEVELS)
    {
        let inner = format!("{}/{part}", folders[folders.len() - 1]);
        folders.push(inner);
    }
    folders.reverse();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_go_from_the_inside_out() {
        let expected = ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"];
        assert_eq!(levels("/sys/fs/cgroup", "/a/b"), expected);
        assert_eq!(levels("/m", "/../x"), ["/m"]);
    }
}
