//! The processes of the machine, as far as this user can see them, and those that disturb a loop.

use std::cmp::Reverse;

use crate::host::{ReadFactError, Root};

use super::finding::{Unknown, costs, fine, found, note, or_else};
use super::{Finding, Machine, Severity};

/// At most so many processes are read: a machine with more has other problems.
const MAX_PROCESSES: usize = 20_000;
/// `PF_KTHREAD` of the kernel's `include/linux/sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// One process or thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The process or thread number that the kernel gave.
    pub pid: u32,
    /// Its name, cut by the kernel to 15 characters.
    pub name: String,
    /// Whether it is a thread of the kernel.
    pub kernel: bool,
    /// 1 to 99 for `SCHED_FIFO` and `SCHED_RR`, else 0.
    pub realtime_priority: u32,
}

/// Reads `/proc/<pid>/stat` of every process; empty when `/proc` cannot be read.
pub(super) fn read(root: &Root) -> Vec<Process> {
    numbers(root, "/proc")
        .filter_map(|pid| parse(pid, &root.read(&format!("/proc/{pid}/stat")).ok()?))
        .collect()
}

/// The threads of one process.
pub(super) fn threads(root: &Root, pid: u32) -> Vec<Process> {
    let tasks = format!("/proc/{pid}/task");
    let threads = numbers(root, &tasks);
    threads
        .filter_map(|tid| parse(tid, &root.read(&format!("{tasks}/{tid}/stat")).ok()?))
        .collect()
}

fn numbers(root: &Root, path: &str) -> impl Iterator<Item = u32> {
    let names = root.list(path).unwrap_or_default();
    names
        .into_iter()
        .filter_map(|name| name.parse().ok())
        .take(MAX_PROCESSES)
}

/// Reads a line of `proc_pid_stat(5)`: the name stands in parentheses and may hold some itself.
fn parse(pid: u32, line: &str) -> Option<Process> {
    let (start, end) = (line.find('(')?, line.rfind(')')?);
    let name = line.get(start + 1..end)?.to_owned();
    let fields: Vec<&str> = line.get(end + 1..)?.split_whitespace().collect();
    // Fields 9 (flags) and 40 (rt_priority) of the page; here counting begins after field 2.
    let flags: u64 = fields.get(6)?.parse().ok()?;
    let realtime_priority = fields
        .get(37)
        .and_then(|field| field.parse().ok())
        .unwrap_or(0);
    Some(Process {
        pid,
        name,
        kernel: flags & KERNEL_THREAD != 0,
        realtime_priority,
    })
}

/// The processes; where they can be seen there is always at least one.
pub(super) fn seen<'a>(machine: &'a Machine<'_>) -> Result<&'a [Process], Unknown> {
    match machine.processes() {
        [] => Err(Unknown::absent("/proc/<pid>/stat")),
        processes => Ok(processes),
    }
}

/// From this priority on a task competes with a usual control loop.
const HIGH: u32 = 80;

/// Other real-time tasks of user programs.
pub(super) fn realtime_neighbours(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    /// At most so many tasks are named.
    const NAMED: usize = 8;
    let own = machine.root.is_live().then(std::process::id);
    let others = seen(machine)?.iter();
    let others = others.filter(|process| !process.kernel && Some(process.pid) != own);
    let threads = others.flat_map(|process| threads(machine.root, process.pid));
    let mut neighbours: Vec<Process> = threads
        .filter(|thread| thread.realtime_priority > 0)
        .collect();
    neighbours.sort_by_key(|thread| Reverse(thread.realtime_priority));
    let Some(highest) = neighbours.first().map(|thread| thread.realtime_priority) else {
        return Ok(fine(
            "no other program runs real-time tasks",
            "field rt_priority of /proc/<pid>/task/*/stat is 0 throughout",
        ));
    };
    let named = neighbours.iter().take(NAMED);
    let named = named.map(|t| format!("{} {} at {}", t.pid, t.name, t.realtime_priority));
    let title = match neighbours.len() {
        1 => "1 real-time thread of another program".to_owned(),
        several => format!("{several} real-time threads of other programs"),
    };
    Ok(found(Severity::costs_if(highest >= HIGH), title)
        .cost(format!(
            "a loop at the same priority or below waits as long as they run (sched(7)); the highest \
             is at {highest}"
        ))
        .evidence(format!("/proc/<pid>/task/*/stat: {}", named.collect::<Vec<_>>().join(", ")))
        .remedy("sudo chrt -p <lower priority> <thread>, or choose the loop's priority above them"))
}

/// How busy the machine is.
pub(super) fn load(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const PATH: &str = "/proc/loadavg";
    let text = machine.root.read(PATH)?;
    let load = text.split_whitespace().next();
    let load: f64 = load
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| ReadFactError::strange(PATH, &text, "three load averages"))?;
    let cpus = machine.cpus.len().max(1);
    let evidence = format!("{PATH}: {text}; {cpus} CPUs");
    if load / cpus as f64 <= 0.5 {
        return Ok(fine("the machine is not busy", evidence));
    }
    Ok(costs(format!("the machine is busy: load {load:.1}, {cpus} CPUs"))
        .cost(
            "an ordinary process waits for its turn, and a real-time one for caches, memory bus and \
             locks; load below 50 % is advised for a system in operation ([Yoon2009], 3.3)",
        )
        .evidence(evidence)
        .remedy("top -o %CPU, and end what is not needed; or measure so on purpose, and record it"))
}

/// Folders of programs that start by themselves at some hour.
const JOBS: [&str; 7] = [
    "/etc/cron.d",
    "/etc/cron.hourly",
    "/etc/cron.daily",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/var/spool/cron/crontabs",
    "/etc/systemd/system/timers.target.wants",
];

pub(super) fn scheduled_jobs(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    /// At most so many jobs are named.
    const NAMED: usize = 12;
    const STARTERS: [&str; 5] = ["cron", "crond", "anacron", "atd", "systemd"];
    let folders = JOBS
        .iter()
        .filter_map(|folder| Some((folder, machine.root.list(folder).ok()?)));
    let folders: Vec<_> = folders.collect();
    if folders.is_empty() {
        return Err(Unknown::absent(&JOBS.join(", ")));
    }
    let jobs = folders.iter().flat_map(|(folder, names)| {
        let shown = names.iter().filter(|name| !name.starts_with('.'));
        shown.map(move |name| format!("{folder}/{name}"))
    });
    let mut jobs: Vec<String> = jobs.collect();
    let count = jobs.len();
    if count == 0 {
        return Ok(fine(
            "no job is scheduled",
            format!("{}: empty", JOBS.join(", ")),
        ));
    }
    jobs.truncate(NAMED);
    let evidence = jobs.join(", ");
    let processes = machine.processes();
    let starts = |process: &Process| STARTERS.contains(&process.name.as_str());
    if !processes.is_empty() && !processes.iter().any(starts) {
        let title = "jobs are scheduled, but nothing runs that would start them";
        return Ok(fine(title, evidence));
    }
    Ok(note(format!("{count} jobs are scheduled"))
        .cost(
            "each brings its load at its hour (package lists, man pages, log rotation, disk trimming, \
             RAID checks): seconds to minutes that a short measurement does not see",
        )
        .evidence(evidence)
        .remedy(
            "systemctl list-timers; sudo systemctl mask --now apt-daily.timer apt-daily-upgrade.timer \
             man-db.timer fstrim.timer <and others>; sudo systemctl disable --now cron",
        ))
}

/// A kind of daemon: the names of its processes (words, cut to 15 characters by the kernel), their work, and the
/// command that stops them.
struct DaemonKind {
    title: &'static str,
    names: &'static str,
    cost: &'static str,
    remedy: &'static str,
}

const KINDS: [DaemonKind; 8] = [
    DaemonKind {
        title: "package managers run in the background",
        names: "packagekitd unattended-upgr apt.systemd.dai apt-get dpkg dnf yum zypper pacman \
                fwupd gnome-software update-manager",
        cost: "an update reads and writes whole disks and uses a CPU for minutes",
        remedy: "sudo systemctl mask --now packagekit unattended-upgrades apt-daily.timer \
                 apt-daily-upgrade.timer fwupd",
    },
    DaemonKind {
        title: "file indexers run",
        names: "tracker-miner-f tracker-extract localsearch-3 localsearch-ext baloo_file \
                baloo_file_extr updatedb updatedb.mlocat updatedb.plocat mandb zeitgeist-daemo",
        cost: "they read every file that changed: disk and CPU load that comes and goes",
        remedy: "systemctl --user mask --now tracker-miner-fs-3 localsearch-3; sudo systemctl mask \
                 --now plocate-updatedb.timer mlocate-updatedb.timer man-db.timer",
    },
    DaemonKind {
        title: "containers and snaps are managed",
        names: "snapd dockerd containerd kubelet k3s-server podman",
        cost: "they check, refresh and log at times of their own, and containers bring their own load",
        remedy: "sudo systemctl disable --now snapd snapd.socket docker docker.socket containerd (if not needed)",
    },
    DaemonKind {
        title: "power managers change clocks and sleep",
        names: "thermald tuned power-profiles- tlp auto-cpufreq cpufreqd laptop_mode upowerd",
        cost: "they set governor, boost and idle states again after they were set by hand",
        remedy: "sudo systemctl disable --now thermald power-profiles-daemon tlp; with tuned: sudo \
                 tuned-adm profile realtime",
    },
    DaemonKind {
        title: "a desktop runs",
        names: "gnome-shell plasmashell kwin_wayland kwin_x11 Xorg Xwayland xfwm4 cinnamon \
                mutter-x11-fram lxqt-panel chrome chromium firefox firefox-bin thunderbird slack \
                teams",
        cost: "drawing uses CPU, memory bus and graphics interrupts, and graphics drivers hold locks long",
        remedy: "now: sudo systemctl isolate multi-user.target\nfor good: sudo systemctl \
                 set-default multi-user.target",
    },
    DaemonKind {
        title: "monitoring or protection agents run",
        names: "netdata telegraf collectd node_exporter zabbix_agentd osqueryd falcon-sensor mdatp \
                wdavdaemon clamd freshclam auditd auditbeat filebeat sysdig datadog-agent smartd",
        cost: "they look at every process or file at fixed times, some by probes in every system call",
        remedy: "sudo systemctl disable --now <unit> (systemctl status <pid> names it)",
    },
    DaemonKind {
        title: "radio and discovery daemons run",
        names: "ModemManager bluetoothd wpa_supplicant iwd avahi-daemon NetworkManager",
        cost: "they scan and probe now and then; a Wi-Fi scan takes the radio off its channel",
        remedy: "sudo systemctl disable --now ModemManager bluetooth avahi-daemon (where the robot \
                 does not need them)",
    },
    DaemonKind {
        title: "backups or synchronisation run",
        names: "rsync borg restic duplicity syncthing dropbox nextcloud onedrive rclone timeshift \
                fstrim btrfs-scrub",
        cost: "they read or write whole disks for minutes",
        remedy: "sudo systemctl disable --now <unit> (systemctl status <pid> names it)",
    },
];

/// Programs in the background that are known to disturb.
pub(super) fn daemons(machine: &Machine<'_>) -> Result<Vec<Finding>, Unknown> {
    let processes = seen(machine)?;
    let findings = KINDS.iter().filter_map(|kind| kind.judge(processes));
    Ok(or_else(findings, || {
        let evidence = format!("none among {} processes", processes.len());
        fine("no daemon known to disturb", evidence)
    }))
}

impl DaemonKind {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split_whitespace()
    }

    fn judge(&self, processes: &[Process]) -> Option<Finding> {
        let running = processes.iter().filter(|process| !process.kernel);
        let mut found: Vec<&str> = running
            .map(|process| process.name.as_str())
            .filter(|name| self.names().any(|known| known == *name))
            .collect();
        if found.is_empty() {
            return None;
        }
        found.sort_unstable();
        found.dedup();
        let finding = costs(self.title)
            .cost(format!(
                "{}; a SCHED_FIFO loop loses caches and memory bus to them, an ordinary one its \
                 CPU too ([Enner2016]: indexing is among the causes of hiccups, and its \
                 real-time machine had no desktop)",
                self.cost
            ))
            .evidence(format!("/proc/<pid>/stat: {}", found.join(", ")))
            .remedy(self.remedy);
        Some(finding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_parentheses() {
        let line = "12 (a) (b) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 -100 0 1 0 3 0 0 0 0 0 0 0 0 0 0 \
                    2147483647 0 0 0 0 17 0 99 1 0";
        let process = parse(12, line).unwrap();
        assert_eq!(process.name, "a) (b");
        assert!(process.kernel);
        assert_eq!(process.realtime_priority, 99);
        assert_eq!(parse(1, ")("), None);
    }

    #[test]
    fn names_are_as_the_kernel_cuts_them() {
        for name in KINDS.iter().flat_map(DaemonKind::names) {
            assert!(name.len() <= 15, "the kernel keeps 15 characters of {name}");
        }
    }
}
