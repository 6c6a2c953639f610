use super::FakeFile;

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
