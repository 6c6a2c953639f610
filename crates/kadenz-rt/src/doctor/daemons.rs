//! Programs in the background that are known to disturb.

use super::{Check, Finding, Machine, Severity};

pub(super) struct Daemons;

const ID: &str = "background-daemons";

/// A kind of daemon, how its processes are called (cut to 15 characters by the kernel), what they
/// do, and what stops them.
struct Kind {
    title: &'static str,
    names: &'static [&'static str],
    cost: &'static str,
    remedy: &'static str,
}

const KINDS: [Kind; 8] = [
    Kind {
        title: "package managers run in the background",
        names: &[
            "packagekitd",
            "unattended-upgr",
            "apt.systemd.dai",
            "apt-get",
            "dpkg",
            "dnf",
            "yum",
            "zypper",
            "pacman",
            "fwupd",
            "gnome-software",
            "update-manager",
        ],
        cost: "an update reads and writes whole disks and uses a CPU for minutes",
        remedy: "sudo systemctl mask --now packagekit unattended-upgrades apt-daily.timer \
                 apt-daily-upgrade.timer fwupd",
    },
    Kind {
        title: "file indexers run",
        names: &[
            "tracker-miner-f",
            "tracker-extract",
            "localsearch-3",
            "localsearch-ext",
            "baloo_file",
            "baloo_file_extr",
            "updatedb",
            "updatedb.mlocat",
            "updatedb.plocat",
            "mandb",
            "zeitgeist-daemo",
        ],
        cost: "they read every file that changed: disk and CPU load that comes and goes",
        remedy: "systemctl --user mask --now tracker-miner-fs-3 localsearch-3; sudo systemctl mask \
                 --now plocate-updatedb.timer mlocate-updatedb.timer man-db.timer",
    },
    Kind {
        title: "containers and snaps are managed",
        names: &[
            "snapd",
            "dockerd",
            "containerd",
            "kubelet",
            "k3s-server",
            "podman",
        ],
        cost: "they check, refresh and log at times of their own, and containers bring their own load",
        remedy: "sudo systemctl disable --now snapd snapd.socket docker docker.socket containerd (if not needed)",
    },
    Kind {
        title: "power managers change clocks and sleep",
        names: &[
            "thermald",
            "tuned",
            "power-profiles-",
            "tlp",
            "auto-cpufreq",
            "cpufreqd",
            "laptop_mode",
            "upowerd",
        ],
        cost: "they set governor, boost and idle states again after they were set by hand",
        remedy: "sudo systemctl disable --now thermald power-profiles-daemon tlp; with tuned: sudo \
                 tuned-adm profile realtime",
    },
    Kind {
        title: "a desktop runs",
        names: &[
            "gnome-shell",
            "plasmashell",
            "kwin_wayland",
            "kwin_x11",
            "Xorg",
            "Xwayland",
            "xfwm4",
            "cinnamon",
            "mutter-x11-fram",
            "lxqt-panel",
            "chrome",
            "chromium",
            "firefox",
            "firefox-bin",
            "thunderbird",
            "slack",
            "teams",
        ],
        cost: "drawing uses CPU, memory bus and graphics interrupts, and graphics drivers hold locks long",
        remedy: "now: sudo systemctl isolate multi-user.target\nfor good: sudo systemctl \
                 set-default multi-user.target",
    },
    Kind {
        title: "monitoring or protection agents run",
        names: &[
            "netdata",
            "telegraf",
            "collectd",
            "node_exporter",
            "zabbix_agentd",
            "osqueryd",
            "falcon-sensor",
            "mdatp",
            "wdavdaemon",
            "clamd",
            "freshclam",
            "auditd",
            "auditbeat",
            "filebeat",
            "sysdig",
            "datadog-agent",
            "smartd",
        ],
        cost: "they look at every process or file at fixed times, some by probes in every system call",
        remedy: "sudo systemctl disable --now <unit> (systemctl status <pid> names it)",
    },
    Kind {
        title: "radio and discovery daemons run",
        names: &[
            "ModemManager",
            "bluetoothd",
            "wpa_supplicant",
            "iwd",
            "avahi-daemon",
            "NetworkManager",
        ],
        cost: "they scan and probe now and then; a Wi-Fi scan takes the radio off its channel",
        remedy: "sudo systemctl disable --now ModemManager bluetooth avahi-daemon (where the robot \
                 does not need them)",
    },
    Kind {
        title: "backups or synchronisation run",
        names: &[
            "rsync",
            "borg",
            "restic",
            "duplicity",
            "syncthing",
            "dropbox",
            "nextcloud",
            "onedrive",
            "rclone",
            "timeshift",
            "fstrim",
            "btrfs-scrub",
        ],
        cost: "they read or write whole disks for minutes",
        remedy: "sudo systemctl disable --now <unit> (systemctl status <pid> names it)",
    },
];

impl Check for Daemons {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        if machine.processes().is_empty() {
            let finding = Finding::new(ID, Severity::Note, "background daemons: not known")
                .cost("not known")
                .evidence("not known here: /proc/<pid>/stat absent");
            return vec![finding];
        }
        let findings: Vec<Finding> = KINDS
            .iter()
            .filter_map(|kind| judge(machine, kind))
            .collect();
        if findings.is_empty() {
            let evidence = format!("none among {} processes", machine.processes().len());
            return vec![Finding::fine(ID, "no daemon known to disturb", evidence)];
        }
        findings
    }
}

fn judge(machine: &Machine<'_>, kind: &Kind) -> Option<Finding> {
    let running = machine.processes().iter().filter(|process| !process.kernel);
    let mut found: Vec<&str> = running
        .map(|process| process.name.as_str())
        .filter(|name| kind.names.contains(name))
        .collect();
    if found.is_empty() {
        return None;
    }
    found.sort_unstable();
    found.dedup();
    Some(
        Finding::new(ID, Severity::Costs, kind.title)
            .cost(format!(
                "{}; a SCHED_FIFO loop loses caches and memory bus to them, an ordinary one its \
                 CPU too (F. Enner's blog post on latency in robotics: indexing is among the \
                 causes of hiccups, and its real-time machine had no desktop)",
                kind.cost
            ))
            .evidence(format!("/proc/<pid>/stat: {}", found.join(", ")))
            .remedy(kind.remedy),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_the_kernel_cuts_them() {
        for name in KINDS.iter().flat_map(|kind| kind.names) {
            assert!(name.len() <= 15, "the kernel keeps 15 characters of {name}");
        }
    }
}
