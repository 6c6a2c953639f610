//! The changes that a shield may make at all. A journal is a file, and a file may say anything: the shield restores
//! only these files, with values of their kind.

use super::journal::Change;
use super::kernel::Kernel;

/// The control groups that a shield makes.
pub(super) const SHIELD: &str = "kadenz-shield";
pub(super) const HOUSEKEEPING: &str = "kadenz-housekeeping";

/// Values of these files are lists or masks of CPUs, or a small number.
const KNOBS: [&str; 6] = [
    "/proc/irq/default_smp_affinity",
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/kernel/watchdog_cpumask",
    "/proc/sys/vm/stat_interval",
    "/sys/kernel/rcu_expedited",
    "/sys/kernel/rcu_normal",
];
const IRQS: &str = "/proc/irq";
pub(super) const WORKQUEUES: &str = "/sys/devices/virtual/workqueue";
/// Files of a control group that a shield sets.
const CPUSET_FILES: [&str; 5] = [
    "cpuset.cpus",
    "cpuset.mems",
    "cpuset.cpu_exclusive",
    "cpuset.sched_load_balance",
    "cpuset.cpus.partition",
];

/// The mount points of control groups on this machine.
pub(super) fn cgroup_mounts(kernel: &dyn Kernel) -> Vec<String> {
    let mounts = kernel.read("/proc/mounts").unwrap_or_default();
    let points = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        let point = fields.nth(1)?;
        let kind = fields.next()?;
        matches!(kind, "cgroup" | "cgroup2").then(|| point.to_owned())
    });
    points.collect()
}

/// Returns whether a shield on a machine with control groups at `mounts` makes such a change.
///
/// ```
/// use kadenz_rt::shield::journal::Change;
///
/// let change = |path: &str| Change::File { path: path.to_owned(), before: "0-1".to_owned() };
/// let mounts = ["/sys/fs/cgroup/cpuset".to_owned()];
/// let permitted = |path| kadenz_rt::shield::is_permitted(&change(path), &mounts);
/// assert!(permitted("/proc/irq/24/smp_affinity_list"));
/// assert!(permitted("/sys/fs/cgroup/cpuset/docker/cpuset.cpus"));
/// assert!(!permitted("/sys/fs/cgroup/cpuset/../../../../etc/cpuset.cpus"));
/// assert!(!permitted("/proc/sys/kernel/core_pattern"));
/// ```
#[must_use]
pub fn is_permitted(change: &Change, mounts: &[String]) -> bool {
    let group = |path: &str| is_group(path, mounts);
    match change {
        Change::File { path, before } => is_file(path, mounts) && is_value(before),
        Change::Folder { path, home, .. } => is_ours(path) && group(path) && group(home),
        Change::Controller { path } => path
            .strip_suffix("/cgroup.subtree_control")
            .is_some_and(group),
        // Numbers name threads, and a list of CPUs is parsed: neither can point elsewhere.
        Change::Affinity { .. } => true,
        Change::Entered { shield, from, .. } => is_ours(shield) && group(shield) && group(from),
    }
}

fn is_file(path: &str, mounts: &[String]) -> bool {
    if KNOBS.contains(&path) {
        return true;
    }
    if let Some(irq) = between(path, IRQS, "/smp_affinity_list") {
        return irq.bytes().all(|byte| byte.is_ascii_digit());
    }
    if path == format!("{WORKQUEUES}/cpumask") {
        return true;
    }
    if let Some(queue) = between(path, WORKQUEUES, "/cpumask") {
        return is_name(queue);
    }
    let Some((group, file)) = path.rsplit_once('/') else {
        return false;
    };
    CPUSET_FILES.contains(&file) && is_group(group, mounts)
}

/// The one part of a path between a folder and the file's name.
fn between<'a>(path: &'a str, folder: &str, file: &str) -> Option<&'a str> {
    path.strip_prefix(folder)?
        .strip_prefix('/')?
        .strip_suffix(file)
}

/// A control group at or below one of the mount points.
fn is_group(path: &str, mounts: &[String]) -> bool {
    mounts
        .iter()
        .filter_map(|mount| path.strip_prefix(mount.as_str()))
        .any(|rest| {
            rest.is_empty()
                || rest
                    .strip_prefix('/')
                    .is_some_and(|rest| rest.split('/').all(is_name))
        })
}

fn is_ours(path: &str) -> bool {
    path.rsplit('/')
        .next()
        .is_some_and(|name| [SHIELD, HOUSEKEEPING].contains(&name))
}

fn is_name(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && !part.contains(['/', '\0', '\n'])
}

/// A list or mask of CPUs, a number, or the kind of a partition.
fn is_value(value: &str) -> bool {
    let of_cpus = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b',' | b'-');
    matches!(value, "member" | "root" | "isolated")
        || (value.len() <= 4096 && value.bytes().all(of_cpus))
}
