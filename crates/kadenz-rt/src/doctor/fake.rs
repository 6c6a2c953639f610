//! Machines made of files, for tests: code that shows findings can be tried on each of them.
//!
//! Each function writes the files of one machine into a folder and returns the [`Root`] there.
//!
//! ```
//! use kadenz_rt::doctor::{Severity, examine_at, fake};
//!
//! let folder = std::env::temp_dir().join("kadenz-fake-example");
//! let root = fake::ideal(&folder)?;
//! assert!(examine_at(&root).iter().all(|finding| finding.severity == Severity::Fine));
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io;
use std::path::Path;

use super::Root;

/// A path below the root and what the file holds. A path that ends with `/` is a folder.
pub type FakeFile = (&'static str, &'static [u8]);

/// Writes files below a folder.
///
/// # Errors
/// When the file system refuses.
pub fn write(folder: &Path, files: &[FakeFile]) -> io::Result<Root> {
    std::fs::create_dir_all(folder)?;
    for (path, bytes) in files {
        let file = folder.join(path.trim_start_matches('/'));
        if path.ends_with('/') {
            std::fs::create_dir_all(file)?;
            continue;
        }
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(file, bytes)?;
    }
    Ok(Root::at(folder))
}

/// A tuned machine with PREEMPT_RT: every finding is Fine.
///
/// # Errors
/// When the file system refuses.
pub fn ideal(folder: &Path) -> io::Result<Root> {
    write(folder, IDEAL)
}

/// A laptop on battery with a desktop, as it was installed.
///
/// # Errors
/// When the file system refuses.
pub fn laptop(folder: &Path) -> io::Result<Root> {
    write(folder, LAPTOP)
}

/// A virtual machine on a busy host.
///
/// # Errors
/// When the file system refuses.
pub fn virtual_machine(folder: &Path) -> io::Result<Root> {
    write(folder, VIRTUAL_MACHINE)
}

/// A container with a CPU quota and without rights.
///
/// # Errors
/// When the file system refuses.
pub fn container(folder: &Path) -> io::Result<Root> {
    write(folder, CONTAINER)
}

/// A container in which nothing can be read.
///
/// # Errors
/// When the file system refuses.
pub fn closed_container(folder: &Path) -> io::Result<Root> {
    write(folder, &[])
}

/// An ordinary process, started by the first one.
macro_rules! process {
    ($pid:literal, $name:literal) => {
        (
            concat!("/proc/", $pid, "/stat"),
            concat!(
                $pid,
                " (",
                $name,
                ") S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0\n"
            )
            .as_bytes(),
        )
    };
}

/// The files of a tuned machine with PREEMPT_RT, CPUs 2 and 3 set apart.
pub const IDEAL: &[FakeFile] = &[
    // Kernel
    ("/proc/sys/kernel/version", b"#1 SMP PREEMPT_RT Debian 6.12.22-1 (2025-04-10)\n"),
    ("/proc/sys/kernel/osrelease", b"6.12.22-rt-amd64\n"),
    ("/sys/kernel/realtime", b"1\n"),
    (
        "/proc/cmdline",
        b"BOOT_IMAGE=/vmlinuz root=/dev/sda1 isolcpus=managed_irq,domain,2-3 nohz_full=2-3 \
          rcu_nocbs=2-3 irqaffinity=0-1 mitigations=off intel_idle.max_cstate=1\n",
    ),
    ("/boot/config-6.12.22-rt-amd64", b"CONFIG_PREEMPT_RT=y\nCONFIG_HZ=250\nCONFIG_NO_HZ_FULL=y\n"),
    ("/etc/os-release", b"PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nID=debian\n"),
    ("/etc/default/grub", b"GRUB_CMDLINE_LINUX=\"\"\n"),
    ("/sys/kernel/tracing/current_tracer", b"nop\n"),
    ("/dev/kmsg", b"6,1,0,-;Linux version 6.12.22-rt-amd64\n6,2,0,-;tsc: Detected 3200 MHz processor\n"),
    ("/proc/sys/kernel/printk", b"4\t4\t1\t7\n"),
    // Processor
    (
        "/proc/cpuinfo",
        b"processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Core(TM) i7-4770R CPU @ \
          3.20GHz\nflags\t\t: fpu tsc msr constant_tsc nonstop_tsc\n\nprocessor\t: 1\n\n\
          processor\t: 2\n\nprocessor\t: 3\n",
    ),
    ("/sys/devices/system/cpu/online", b"0-3\n"),
    ("/sys/devices/system/cpu/isolated", b"2-3\n"),
    ("/sys/devices/system/cpu/nohz_full", b"2-3\n"),
    ("/sys/devices/system/cpu/smt/active", b"0\n"),
    ("/sys/devices/system/cpu/smt/control", b"off\n"),
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", b"1\n"),
    ("/sys/devices/system/cpu/intel_pstate/status", b"passive\n"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", b"performance\n"),
    ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", b"performance\n"),
    ("/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", b"performance\n"),
    ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", b"performance\n"),
    ("/sys/devices/system/cpu/cpuidle/current_driver", b"intel_idle\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state0/name", b"POLL\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state0/latency", b"0\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state0/disable", b"0\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state1/name", b"C1\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state1/latency", b"2\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state1/disable", b"0\n"),
    ("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", b"0\n"),
    ("/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", b"0\n"),
    ("/sys/devices/system/cpu/vulnerabilities/meltdown", b"Vulnerable\n"),
    ("/sys/devices/system/cpu/vulnerabilities/spectre_v2", b"Vulnerable; IBPB: disabled\n"),
    ("/proc/sys/kernel/split_lock_mitigate", b"0\n"),
    // The model specific registers up to 0x34, which is zero.
    ("/dev/cpu/0/msr", &[0; 0x3c]),
    ("/proc/uptime", b"86400.00 340000.00\n"),
    // Time
    ("/sys/devices/system/clocksource/clocksource0/current_clocksource", b"tsc\n"),
    ("/sys/devices/system/clocksource/clocksource0/available_clocksource", b"tsc hpet acpi_pm\n"),
    ("/proc/timer_list", b"Timer List Version: v0.10\ncpu: 0\n  .hres_active    : 1\n"),
    ("/proc/sys/kernel/timer_migration", b"0\n"),
    // Scheduling
    ("/proc/sys/kernel/sched_rt_runtime_us", b"-1\n"),
    ("/proc/sys/kernel/sched_rt_period_us", b"1000000\n"),
    ("/sys/kernel/debug/sched/fair_server/cpu0/runtime", b"0\n"),
    ("/sys/kernel/debug/sched/fair_server/cpu0/period", b"1000000000\n"),
    ("/proc/self/cgroup", b"0::/user.slice\n"),
    ("/sys/fs/cgroup/cgroup.controllers", b"cpuset cpu io memory pids\n"),
    ("/sys/fs/cgroup/user.slice/cpu.max", b"max 100000\n"),
    (
        "/proc/self/limits",
        b"Limit                     Soft Limit           Hard Limit           Units     \n\
          Max locked memory         unlimited            unlimited            bytes     \n\
          Max realtime priority     98                   98                   \n\
          Max realtime timeout      unlimited            unlimited            us        \n",
    ),
    ("/proc/self/status", b"Name:\tkadenz\nCapEff:\t0000000000000000\n"),
    ("/proc/stat", b"cpu  1000 0 500 900000 10 0 5 0 0 0\ncpu0 250 0 125 225000 3 0 1 0 0 0\n"),
    ("/proc/loadavg", b"0.05 0.03 0.01 1/120 4711\n"),
    (
        "/proc/1/stat",
        b"1 (systemd) S 0 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0\n",
    ),
    (
        "/proc/1/task/1/stat",
        b"1 (systemd) S 0 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0\n",
    ),
    ("/etc/cron.d/.placeholder", b""),
    // Interrupts
    (
        "/proc/interrupts",
        b"           CPU0       CPU1       CPU2       CPU3\n\
            24:     123456         12          0          0  PCI-MSI 0-edge  nvme0q0\n\
            25:          0     654321          0          0  PCI-MSI 1-edge  eth0\n\
           NMI:          0          0          0          0   Non-maskable interrupts\n",
    ),
    ("/proc/irq/24/effective_affinity_list", b"0\n"),
    ("/proc/irq/25/effective_affinity_list", b"1\n"),
    ("/proc/sys/kernel/nmi_watchdog", b"0\n"),
    ("/proc/sys/kernel/soft_watchdog", b"0\n"),
    ("/proc/sys/kernel/watchdog_thresh", b"10\n"),
    // Memory
    ("/proc/swaps", b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"),
    ("/proc/sys/vm/swappiness", b"0\n"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", b"always madvise [never]\n"),
    ("/sys/kernel/mm/transparent_hugepage/defrag", b"always defer defer+madvise madvise [never]\n"),
    ("/proc/meminfo", b"MemTotal:       16316412 kB\nMemFree:        14000000 kB\nMemAvailable:   15000000 kB\n"),
    ("/proc/sys/vm/overcommit_memory", b"2\n"),
    ("/sys/devices/system/node/online", b"0\n"),
    ("/proc/sys/kernel/numa_balancing", b"0\n"),
    ("/sys/kernel/mm/ksm/run", b"0\n"),
    ("/proc/sys/vm/compaction_proactiveness", b"0\n"),
    ("/proc/sys/vm/compact_unevictable_allowed", b"0\n"),
    ("/proc/sys/vm/stat_interval", b"60\n"),
    // Devices
    ("/sys/class/net/lo/operstate", b"unknown\n"),
    ("/sys/class/power_supply/", b""),
    ("/sys/module/pcie_aspm/parameters/policy", b"default [performance] powersave powersupersave\n"),
    ("/sys/devices/virtual/dmi/id/sys_vendor", b"GIGABYTE\n"),
];

/// The files of a laptop on battery with a desktop, as it was installed.
pub const LAPTOP: &[FakeFile] = &[
    // Kernel
    ("/proc/sys/kernel/version", b"#27-Ubuntu SMP PREEMPT_DYNAMIC Fri Mar 28 2025\n"),
    ("/proc/sys/kernel/osrelease", b"6.8.0-57-generic\n"),
    ("/sys/kernel/debug/sched/preempt", b"none (voluntary) full\n"),
    ("/proc/cmdline", b"BOOT_IMAGE=/vmlinuz root=UUID=0 ro quiet splash\n"),
    (
        "/boot/config-6.8.0-57-generic",
        b"CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_HZ=1000\n# CONFIG_PROVE_LOCKING is not set\n",
    ),
    ("/etc/os-release", b"PRETTY_NAME=\"Ubuntu 24.04.2 LTS\"\nID=ubuntu\n"),
    ("/etc/default/grub", b"GRUB_CMDLINE_LINUX=\"\"\n"),
    ("/usr/sbin/update-grub", b""),
    (
        "/dev/kmsg",
        b"6,1,0,-;Linux version 6.8.0-57-generic\n\
          4,900,5,-;sched: RT throttling activated\n\
          4,901,6,-;mce: CPU0: Core temperature above threshold, cpu clock throttled\n",
    ),
    // Processor
    (
        "/proc/cpuinfo",
        b"processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: 13th Gen Intel(R) Core(TM) \
          i7-1360P\nflags\t\t: fpu tsc msr constant_tsc nonstop_tsc split_lock_detect\n\n\
          processor\t: 1\n\nprocessor\t: 2\n\nprocessor\t: 3\n",
    ),
    ("/sys/devices/system/cpu/online", b"0-3\n"),
    ("/sys/devices/system/cpu/isolated", b"\n"),
    ("/sys/devices/system/cpu/nohz_full", b"(null)\n"),
    ("/sys/devices/system/cpu/smt/active", b"1\n"),
    ("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", b"0-1\n"),
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", b"0\n"),
    ("/sys/devices/system/cpu/intel_pstate/status", b"active\n"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", b"powersave\n"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/base_frequency", b"2200000\n"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", b"5000000\n"),
    ("/sys/devices/system/cpu/cpuidle/current_driver", b"intel_idle\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state0/name", b"POLL\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state0/latency", b"0\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state1/name", b"C1E\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state1/latency", b"10\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state2/name", b"C10\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state2/latency", b"230\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state2/disable", b"0\n"),
    ("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", b"17\n"),
    ("/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", b"42\n"),
    ("/sys/devices/system/cpu/vulnerabilities/spectre_v2", b"Mitigation: Enhanced IBRS\n"),
    ("/proc/sys/kernel/split_lock_mitigate", b"1\n"),
    // Time
    ("/sys/devices/system/clocksource/clocksource0/current_clocksource", b"hpet\n"),
    ("/sys/devices/system/clocksource/clocksource0/available_clocksource", b"hpet acpi_pm\n"),
    ("/proc/sys/kernel/timer_migration", b"1\n"),
    // Scheduling
    ("/proc/sys/kernel/sched_rt_runtime_us", b"950000\n"),
    ("/proc/sys/kernel/sched_rt_period_us", b"1000000\n"),
    ("/proc/self/cgroup", b"0::/user.slice/user-1000.slice\n"),
    ("/sys/fs/cgroup/cgroup.controllers", b"cpuset cpu io memory pids\n"),
    (
        "/proc/self/limits",
        b"Limit                     Soft Limit           Hard Limit           Units     \n\
          Max locked memory         8388608              8388608              bytes     \n\
          Max realtime priority     0                    0                    \n\
          Max realtime timeout      200000               200000               us        \n",
    ),
    ("/proc/self/status", b"Name:\tkadenz\nCapEff:\t0000000000000000\n"),
    ("/etc/security/limits.conf", b"# comment - rtprio 1\n@audio - rtprio 95\n"),
    ("/proc/stat", b"cpu  1000 0 500 900000 10 0 5 0 0 0\n"),
    ("/proc/loadavg", b"3.80 2.10 1.00 4/900 4711\n"),
    process!(900, "packagekitd"),
    process!(901, "irqbalance"),
    process!(902, "gnome-shell"),
    process!(903, "pipewire"),
    (
        "/proc/903/task/904/stat",
        b"904 (data-loop.0) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 -89 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 88 2 0\n",
    ),
    process!(905, "rtkit-daemon"),
    process!(906, "systemd-timesyn"),
    process!(907, "cron"),
    ("/etc/cron.daily/apt-compat", b"#!/bin/sh\n"),
    // Interrupts
    (
        "/proc/interrupts",
        b"           CPU0       CPU1       CPU2       CPU3\n\
           140:        100     999999          0          0  PCI-MSI 0-edge  i915\n",
    ),
    ("/proc/irq/140/smp_affinity_list", b"0-3\n"),
    ("/proc/sys/kernel/nmi_watchdog", b"1\n"),
    ("/proc/sys/kernel/soft_watchdog", b"1\n"),
    ("/proc/sys/kernel/watchdog_thresh", b"10\n"),
    // Memory
    (
        "/proc/swaps",
        b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/swap.img\tfile\t4194300\t2048\t-2\n",
    ),
    ("/proc/sys/vm/swappiness", b"60\n"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", b"[always] madvise never\n"),
    ("/proc/meminfo", b"MemTotal: 16000000 kB\nMemAvailable: 400000 kB\n"),
    ("/proc/sys/vm/overcommit_memory", b"0\n"),
    ("/sys/devices/system/node/online", b"0-1\n"),
    ("/proc/sys/kernel/numa_balancing", b"1\n"),
    ("/sys/kernel/mm/ksm/run", b"1\n"),
    ("/proc/sys/vm/compaction_proactiveness", b"20\n"),
    ("/proc/sys/vm/compact_unevictable_allowed", b"1\n"),
    ("/proc/sys/vm/stat_interval", b"1\n"),
    // Devices
    ("/sys/class/net/wlp0s20f3/operstate", b"up\n"),
    ("/sys/class/net/wlp0s20f3/device/", b""),
    ("/sys/class/net/wlp0s20f3/wireless/", b""),
    ("/sys/class/net/enp0s31f6/operstate", b"up\n"),
    ("/sys/class/net/enp0s31f6/device/", b""),
    ("/sys/class/net/enp0s31f6/gro_flush_timeout", b"200000\n"),
    ("/sys/class/power_supply/BAT0/type", b"Battery\n"),
    ("/sys/class/power_supply/BAT0/status", b"Discharging\n"),
    ("/sys/class/power_supply/hidpp_battery_0/status", b"Discharging\n"),
    ("/sys/class/power_supply/hidpp_battery_0/scope", b"Device\n"),
    ("/sys/firmware/acpi/platform_profile", b"balanced\n"),
    ("/sys/module/pcie_aspm/parameters/policy", b"default performance [powersave] powersupersave\n"),
];

/// The files of a virtual machine on a busy host.
pub const VIRTUAL_MACHINE: &[FakeFile] = &[
    ("/proc/sys/kernel/version", b"#1 SMP Debian 5.10.162-1 (2023-01-21)\n"),
    ("/proc/sys/kernel/osrelease", b"5.10.0-21-cloud-amd64\n"),
    ("/proc/cmdline", b"BOOT_IMAGE=/vmlinuz ro console=tty0 console=ttyS0,115200 highres=off\n"),
    ("/proc/sys/kernel/printk", b"7\t4\t1\t7\n"),
    ("/boot/config-5.10.0-21-cloud-amd64", b"CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_HZ=250\nCONFIG_PROVE_LOCKING=y\n"),
    (
        "/proc/cpuinfo",
        b"processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel Xeon Processor (Skylake)\n\
          flags\t\t: fpu tsc msr hypervisor\n",
    ),
    ("/sys/devices/system/cpu/online", b"0\n"),
    ("/sys/devices/system/cpu/isolated", b"\n"),
    ("/sys/devices/system/cpu/cpuidle/current_driver", b"none\n"),
    ("/sys/devices/virtual/dmi/id/sys_vendor", b"QEMU\n"),
    ("/sys/devices/virtual/dmi/id/product_name", b"Standard PC (Q35 + ICH9, 2009)\n"),
    ("/sys/devices/system/clocksource/clocksource0/current_clocksource", b"kvm-clock\n"),
    ("/sys/devices/system/clocksource/clocksource0/available_clocksource", b"kvm-clock tsc acpi_pm\n"),
    ("/proc/stat", b"cpu  1000 0 1000 5000 0 0 0 3000 0 0\n"),
    ("/proc/sys/kernel/sched_rt_runtime_us", b"950000\n"),
    ("/proc/sys/kernel/sched_rt_period_us", b"1000000\n"),
];

/// The files of a container with half a CPU and without rights, on a host whose kernel schedules
/// real-time groups.
pub const CONTAINER: &[FakeFile] = &[
    ("/.dockerenv", b""),
    (
        "/proc/sys/kernel/version",
        b"#1 SMP PREEMPT Tue Jan 3 2023\n",
    ),
    ("/proc/sys/kernel/osrelease", b"5.15.0-rpi\n"),
    (
        "/proc/cpuinfo",
        b"processor\t: 0\nprocessor\t: 1\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n",
    ),
    ("/sys/devices/system/cpu/online", b"0-3\n"),
    (
        "/sys/devices/platform/soc/soc:firmware/get_throttled",
        b"50005\n",
    ),
    (
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        b"arch_sys_counter\n",
    ),
    (
        "/proc/self/cgroup",
        b"4:cpu,cpuacct:/docker/abc\n0::/../outside\n",
    ),
    ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", b"50000\n"),
    ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", b"100000\n"),
    (
        "/sys/fs/cgroup/cpu,cpuacct/cpu.stat",
        b"nr_periods 100\nnr_throttled 7\nthrottled_time 1\n",
    ),
    (
        "/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.rt_runtime_us",
        b"0\n",
    ),
    (
        "/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us",
        b"-1\n",
    ),
    (
        "/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us",
        b"100000\n",
    ),
    (
        "/proc/self/limits",
        b"Limit                     Soft Limit           Hard Limit           Units     \n\
          Max locked memory         65536                65536                bytes     \n\
          Max realtime priority     0                    0                    \n",
    ),
    (
        "/proc/self/status",
        b"Name:\tkadenz\nCapEff:\t00000000a80425fb\n",
    ),
];
