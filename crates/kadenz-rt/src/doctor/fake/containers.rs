use super::FakeFile;

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
