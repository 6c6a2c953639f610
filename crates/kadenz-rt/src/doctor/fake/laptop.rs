use super::FakeFile;

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
    (
        "/proc/900/stat",
        b"900 (packagekitd) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0\n",
    ),
    (
        "/proc/901/stat",
        b"901 (irqbalance) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0\n",
    ),
    (
        "/proc/902/stat",
        b"902 (gnome-shell) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0\n",
    ),
    (
        "/proc/903/stat",
        b"903 (pipewire) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0\n",
    ),
    (
        "/proc/903/task/904/stat",
        b"904 (data-loop.0) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 -89 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 88 2 0\n",
    ),
    (
        "/proc/905/stat",
        b"905 (rtkit-daemon) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0\n",
    ),
    (
        "/proc/906/stat",
        b"906 (systemd-timesyn) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0\n",
    ),
    (
        "/proc/907/stat",
        b"907 (cron) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0\n",
    ),
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
