//! The checks that judge the value in one file.

use super::finding::{Unknown, costs, fine, found, note};
use super::{Finding, Machine, Severity, finding};

/// One file of the kernel, its good value, and the meaning of the other values.
pub(super) struct Setting {
    /// The name of the setting, for the finding that its file cannot be read.
    pub(super) what: &'static str,
    path: &'static str,
    good: ExpectedValue,
    /// The title where the value is good.
    fine: &'static str,
    /// The finding for another value. Its evidence, if any, stands behind the file and the value.
    otherwise: fn(&Machine<'_>, &str) -> Finding,
}

/// How the file is read, and which values are good.
enum ExpectedValue {
    Number(fn(i64) -> bool),
    Seconds(fn(i64) -> bool),
    Text(fn(&str) -> bool),
}

impl Setting {
    pub(super) fn judge(&self, machine: &Machine<'_>) -> Result<Finding, Unknown> {
        let number = || machine.root.read_number(self.path);
        let (value, unit, is_good) = match self.good {
            ExpectedValue::Number(good) => number().map(|n| (n.to_string(), "", good(n)))?,
            ExpectedValue::Seconds(good) => number().map(|n| (n.to_string(), " s", good(n)))?,
            ExpectedValue::Text(good) => {
                let text = machine.root.read(self.path)?;
                let is_good = good(&text);
                (text, "", is_good)
            }
        };
        let evidence = format!("{}: {value}{unit}", self.path);
        if is_good {
            return Ok(fine(self.fine, evidence));
        }
        let finding = (self.otherwise)(machine, &value);
        let evidence = if finding.evidence.is_empty() {
            evidence
        } else {
            format!("{evidence}; {}", finding.evidence)
        };
        Ok(finding.evidence(evidence))
    }
}

/// The word in brackets: `always [madvise] never`.
pub(super) fn chosen(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

pub(super) static SMT: Setting = Setting {
    what: "simultaneous multithreading",
    path: "/sys/devices/system/cpu/smt/active",
    good: ExpectedValue::Text(|active| active == "0"),
    fine: "each CPU is a whole core",
    otherwise: |machine, _| {
        let path = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list";
        let siblings = machine.root.read(path);
        costs("two hardware threads share each core")
            .cost(
                "whatever runs on the sibling takes execution units and cache from the loop: its code \
                 takes longer by an amount that depends on the neighbour, and to shield a CPU its \
                 sibling must be shielded too",
            )
            .evidence(siblings.map_or(String::new(), |list| format!("{path}: {list}")))
            .remedy(finding::now_and_for_good(
                "echo off | sudo tee /sys/devices/system/cpu/smt/control",
                &finding::kernel_parameter(machine, "nosmt"),
            ))
    },
};

pub(super) static POWER_PROFILE: Setting = Setting {
    what: "power profile",
    path: "/sys/firmware/acpi/platform_profile",
    good: ExpectedValue::Text(|profile| profile == "performance"),
    fine: "the power profile is performance",
    otherwise: |_, profile| {
        note(format!("the power profile is {profile}"))
            .cost("the firmware trades speed for heat and noise by its own rules")
            .remedy(finding::sysfs(
                "/sys/firmware/acpi/platform_profile",
                "performance",
            ))
    },
};

pub(super) static TIMER_MIGRATION: Setting = Setting {
    what: "timer migration",
    path: "/proc/sys/kernel/timer_migration",
    good: ExpectedValue::Number(|value| value == 0),
    fine: "timers stay on their CPU",
    otherwise: |machine, _| {
        // On shielded CPUs it always happens: their timers go to the others.
        let shielded =
            !machine.isolated_cpus().is_empty() || machine.parameter("nohz_full").is_some();
        found(Severity::costs_if(shielded), "timers may move to another CPU")
            .cost(
                "the timer that wakes a loop on an idle or nohz_full CPU may be served by another one, \
                 which then has to wake the loop's CPU, and does so late when it has interrupts off \
                 itself (kernel/time/hrtimer.c; NVIDIA's guide to its real-time kernel sets it to 0)",
            )
            .remedy(finding::sysctl("kernel.timer_migration", "0"))
    },
};

pub(super) static HARD_LOCKUP_DETECTOR: Setting = Setting {
    what: "hard lockup detector",
    path: "/proc/sys/kernel/nmi_watchdog",
    good: ExpectedValue::Number(|value| value == 0),
    fine: "the hard lockup detector is off",
    otherwise: |machine, _| {
        let threshold = watchdog_threshold(machine);
        note("the hard lockup detector is on")
            .cost(format!(
                "a short non-maskable interrupt about every {threshold} s on each busy CPU, which no \
                 priority holds off (kernel documentation lockup-watchdogs)"
            ))
            .evidence(format!("{WATCHDOG_THRESHOLD}: {threshold}"))
            .remedy(finding::sysctl("kernel.nmi_watchdog", "0"))
    },
};

pub(super) static SOFT_LOCKUP_DETECTOR: Setting = Setting {
    what: "soft lockup detector",
    path: "/proc/sys/kernel/soft_watchdog",
    good: ExpectedValue::Number(|value| value == 0),
    fine: "the soft lockup detector is off",
    otherwise: |machine, _| {
        let threshold = watchdog_threshold(machine);
        note("the soft lockup detector is on")
            .cost(format!(
                "every {:.1} s a timer wakes, for a moment, a thread that stands above SCHED_FIFO 99 on \
                 each CPU (kernel documentation lockup-watchdogs)",
                threshold as f64 * 2.0 / 5.0
            ))
            .evidence(format!("{WATCHDOG_THRESHOLD}: {threshold}"))
            .remedy(finding::sysctl("kernel.soft_watchdog", "0"))
    },
};

const WATCHDOG_THRESHOLD: &str = "/proc/sys/kernel/watchdog_thresh";

/// In seconds; the kernel's documentation names 10 as the default.
fn watchdog_threshold(machine: &Machine<'_>) -> i64 {
    machine.root.read_number(WATCHDOG_THRESHOLD).unwrap_or(10)
}

pub(super) static OVERCOMMIT: Setting = Setting {
    what: "memory overcommitment",
    path: "/proc/sys/vm/overcommit_memory",
    good: ExpectedValue::Number(|value| value == 2),
    fine: "memory is not overcommitted",
    otherwise: |_, _| {
        note("more memory is promised than there is")
            .cost(
                "none until memory runs out; then the out-of-memory killer ends a process, perhaps \
                 the controller (kernel documentation sysctl/vm, overcommit_memory; [Yoon2009], 4, \
                 has it spare the robot's processes)",
            )
            .remedy(finding::now_and_for_good(
                "sudo choom -n -1000 -p <controller>",
                "in the controller's unit: OOMScoreAdjust=-1000",
            ))
    },
};

pub(super) static NUMA_BALANCING: Setting = Setting {
    what: "NUMA balancing",
    path: "/proc/sys/kernel/numa_balancing",
    good: ExpectedValue::Number(|value| value == 0),
    fine: "memory is not moved between nodes",
    otherwise: |_, _| {
        costs("memory is moved between nodes on its own")
            .cost(
                "the kernel unmaps pages now and then and moves them at the page fault that follows \
                 (kernel documentation sysctl/kernel, numa_balancing): faults in memory that was \
                 locked and touched",
            )
            .remedy(finding::sysctl("kernel.numa_balancing", "0"))
    },
};

pub(super) static SAME_PAGE_MERGING: Setting = Setting {
    what: "same-page merging",
    path: "/sys/kernel/mm/ksm/run",
    good: ExpectedValue::Number(|value| value != 1),
    fine: "equal pages are not merged",
    otherwise: |machine, _| {
        let shared = machine.root.read("/sys/kernel/mm/ksm/pages_shared");
        costs("the kernel merges equal pages")
            .cost(
                "ksmd uses CPU time to compare memory, and writing to a merged page costs a page fault \
                 that copies it; only programs that ask for it are merged, virtual machines above all \
                 (kernel documentation ksm)",
            )
            .evidence(shared.map_or(String::new(), |n| format!("pages_shared: {n}")))
            // 2 also takes apart what was merged; 0 keeps it.
            .remedy(finding::now_and_for_good(
                "echo 2 | sudo tee /sys/kernel/mm/ksm/run",
                "sudo systemctl disable --now ksm ksmtuned",
            ))
    },
};

pub(super) static COMPACTION: Setting = Setting {
    what: "memory compaction",
    path: "/proc/sys/vm/compaction_proactiveness",
    good: ExpectedValue::Number(|value| value == 0),
    fine: "memory is not compacted in advance",
    otherwise: |_, _| {
        note("memory is compacted in the background")
            .cost(
                "pages of all processes are moved around, which the kernel's documentation says can lead \
                 to latency spikes in unsuspecting applications (sysctl/vm, compaction_proactiveness)",
            )
            .remedy(finding::sysctl("vm.compaction_proactiveness", "0"))
    },
};

pub(super) static COMPACTION_OF_LOCKED_PAGES: Setting = Setting {
    what: "compaction of locked pages",
    path: "/proc/sys/vm/compact_unevictable_allowed",
    good: ExpectedValue::Number(|value| value == 0),
    fine: "compaction leaves locked pages alone",
    otherwise: |_, _| {
        note("compaction may move locked pages")
            .cost(
                "a locked page that is being moved costs a minor page fault when it is touched, and the \
                 task is held up meanwhile (kernel documentation sysctl/vm, \
                 compact_unevictable_allowed; PREEMPT_RT kernels have 0 for that reason)",
            )
            .remedy(finding::sysctl("vm.compact_unevictable_allowed", "0"))
    },
};

pub(super) static VM_STATISTICS: Setting = Setting {
    what: "memory statistics",
    path: "/proc/sys/vm/stat_interval",
    // As network and telecommunication profiles of tuned set it.
    good: ExpectedValue::Seconds(|value| value >= 10),
    fine: "memory statistics are gathered seldom",
    otherwise: |_, seconds| {
        note("memory statistics are gathered often")
            .cost(format!(
                "every {seconds} s a kernel worker runs for a moment on each CPU that touched memory; it \
                 preempts ordinary threads, real-time ones not (kernel documentation \
                 kernel-per-CPU-kthreads, vmstat_update)"
            ))
            .remedy(finding::sysctl("vm.stat_interval", "60"))
    },
};

pub(super) static PCIE_POWER: Setting = Setting {
    what: "PCI Express power saving",
    path: "/sys/module/pcie_aspm/parameters/policy",
    good: ExpectedValue::Text(|text| chosen(text).unwrap_or(text) == "performance"),
    fine: "PCI Express links do not save power",
    otherwise: |machine, text| {
        let policy = chosen(text).unwrap_or(text);
        let title = format!("PCI Express links save power by the policy {policy}");
        found(Severity::costs_if(policy != "default"), title)
            .cost(
                "a link that sleeps must wake before a network or fieldbus card answers: each card \
                 states how long in lspci -vv, `Exit Latency L1` (PCI Express, Link Capabilities: from \
                 below 1 us to more than 64 us)",
            )
            .remedy(finding::now_and_for_good(
                "echo performance | sudo tee /sys/module/pcie_aspm/parameters/policy",
                &finding::kernel_parameter(machine, "pcie_aspm.policy=performance"),
            ))
    },
};

pub(super) static SPLIT_LOCK: Setting = Setting {
    what: "split lock penalty",
    path: "/proc/sys/kernel/split_lock_mitigate",
    good: ExpectedValue::Number(|value| value == 0),
    fine: "split locks are not punished",
    otherwise: |machine, _| {
        let detects = |flag: &String| flag == "split_lock_detect" || flag == "bus_lock_detect";
        if !machine
            .cpu_flags()
            .is_some_and(|flags| flags.iter().any(detects))
        {
            return fine("split locks are not punished", "");
        }
        note("split locks are punished")
            .cost(
                "a thread whose atomic operation crosses a cache line is made to sleep 10 ms (kernel \
                 arch/x86 split_lock_warn; sysctl/kernel, split_lock_mitigate); code with packed \
                 structures may do so, Rust's atomics do not; the kernel log names the program",
            )
            .remedy(finding::sysctl("kernel.split_lock_mitigate", "0"))
    },
};
