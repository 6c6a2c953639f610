//! The rights of this thread, read once, so that refusals can be explained.

use crate::host::cgroup_of;
use crate::os::linux::sched::{LimitedResource, limit};

/// Rights and limits of the calling thread.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Rights {
    pub(super) cap_sys_nice: bool,
    pub(super) cap_ipc_lock: bool,
    /// RLIMIT_RTPRIO; `None` when unlimited.
    pub(super) rtprio: Option<u64>,
    /// RLIMIT_MEMLOCK in bytes; `None` when unlimited.
    pub(super) memlock: Option<u64>,
    /// `kernel.sched_rt_runtime_us` and `kernel.sched_rt_period_us`.
    pub(super) rt_throttle_us: Option<(i64, i64)>,
    /// Linux 6.12 and later: a deadline server protects ordinary threads from starvation.
    pub(super) has_fair_server: bool,
    /// The cgroup and its `cpu.rt_runtime_us`, where the kernel schedules real time by group.
    pub(super) rt_group: Option<(String, i64)>,
    /// The calling thread is in a user namespace of its own, where capabilities have less effect.
    pub(crate) user_namespace: bool,
}

/// Bit numbers from linux/capability.h.
const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;

impl Rights {
    /// Whether these effective capabilities let a process lock memory beyond its limit.
    pub(crate) fn may_lock(capabilities: u64) -> bool {
        capabilities & (1 << CAP_IPC_LOCK) != 0
    }

    pub(crate) fn read() -> Self {
        let capabilities = effective_capabilities(&read("/proc/thread-self/status"));
        Self {
            cap_sys_nice: capabilities & (1 << CAP_SYS_NICE) != 0,
            cap_ipc_lock: capabilities & (1 << CAP_IPC_LOCK) != 0,
            rtprio: limit(LimitedResource::RealTimePriority),
            memlock: limit(LimitedResource::LockedMemory),
            rt_throttle_us: rt_throttle_us(),
            has_fair_server: has_fair_server(&read("/proc/sys/kernel/osrelease")),
            rt_group: rt_group(&read("/proc/self/cgroup")),
            user_namespace: !maps_every_user(&read("/proc/self/uid_map")),
        }
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn number(path: &str) -> Option<i64> {
    read(path).trim().parse().ok()
}

pub(crate) fn effective_capabilities(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0)
}

fn rt_throttle_us() -> Option<(i64, i64)> {
    Some((
        number("/proc/sys/kernel/sched_rt_runtime_us")?,
        number("/proc/sys/kernel/sched_rt_period_us")?,
    ))
}

/// Since Linux 6.12 a deadline server protects ordinary threads (`dl_server`, `fair_server`).
fn has_fair_server(release: &str) -> bool {
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.trim().parse::<u32>().ok());
    let major = numbers.next().unwrap_or(0);
    (major, numbers.next().unwrap_or(0)) >= (6, 12)
}

/// The initial user namespace maps all users onto themselves: `0 0 4294967295`.
fn maps_every_user(uid_map: &str) -> bool {
    uid_map.is_empty() || uid_map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// The group of this process in the hierarchy of the first version's `cpu` controller, and its runtime.
fn rt_group(cgroups: &str) -> Option<(String, i64)> {
    let path = cgroup_of(cgroups, "cpu")?;
    let mounts = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"];
    let runtime_us = mounts
        .iter()
        .find_map(|mount| number(&format!("{mount}{path}/cpu.rt_runtime_us")))?;
    Some((path.to_owned(), runtime_us))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_from_the_status_file() {
        let status = "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t0000000000804000\n";
        let capabilities = effective_capabilities(status);
        assert_ne!(capabilities & (1 << CAP_SYS_NICE), 0);
        assert_ne!(capabilities & (1 << CAP_IPC_LOCK), 0);
        assert_eq!(effective_capabilities("nothing of the kind"), 0);
    }

    #[test]
    fn the_cpu_group_is_found_among_the_controllers() {
        let cgroups = "9:name=systemd:/\n3:cpuset:/\n2:cpu,cpuacct:/user.slice\n0::/\n";
        assert_eq!(cgroup_of(cgroups, "cpu"), Some("/user.slice"));
        assert_eq!(cgroup_of(cgroups, ""), Some("/"));
        assert_eq!(cgroup_of("0::/user.slice\n", "cpu"), None);
    }

    #[test]
    fn the_fair_server_came_with_6_12() {
        assert!(has_fair_server("6.12.0-rt\n") && has_fair_server("7.0\n"));
        assert!(!has_fair_server("6.6.119-generic\n") && !has_fair_server("5.15.0"));
    }

    #[test]
    fn a_mapped_user_namespace_is_distinguished_from_the_first() {
        assert!(maps_every_user("         0          0 4294967295\n"));
        assert!(!maps_every_user("         0       1000          1\n"));
    }
}
