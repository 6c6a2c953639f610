use super::FakeFile;

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
