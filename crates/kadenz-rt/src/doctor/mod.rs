//! The doctor: everything that spoils real time on this machine, what it costs, how it was seen
//! and the command that fixes it.
//!
//! The table `CHECKS` names every check and the functions behind it, which stand in a file for each
//! part of a machine; `settings` holds those that judge one value in one file. The page
//! `docs/doctor.md` says where each cost and each remedy comes from. A check reads files under a
//! [`Root`] and judges; it changes nothing, and what it cannot read it calls not known.

mod clock;
mod cpu;
pub mod fake;
mod finding;
#[cfg(not(target_os = "linux"))]
mod foreign;
mod hardware;
mod kernel;
mod leftovers;
mod machine;
mod memory;
mod network;
mod processes;
mod rights;
mod scheduling;
mod settings;

pub use crate::host::Root;
pub use finding::{Finding, Severity};
pub use machine::Machine;
pub use processes::Process;

use Look::{At, Each, Maybe, One};
use finding::Unknown;
use settings::Setting;

/// One thing that the doctor looks at.
pub struct Check {
    /// Stable name, for example `cpu-governor`; every finding of the check carries it.
    pub id: &'static str,
    looks: &'static [Look],
}

/// A part of a check. If a part cannot read its file, its finding says so under the name beside it.
enum Look {
    /// Judges the value in one file.
    At(&'static Setting),
    /// Judges one thing.
    One(&'static str, fn(&Machine<'_>) -> Result<Finding, Unknown>),
    /// Judges things of which there may be several: network interfaces, daemons.
    Each(
        &'static str,
        fn(&Machine<'_>) -> Result<Vec<Finding>, Unknown>,
    ),
    /// Gives a finding only where one applies.
    Maybe(fn(&Machine<'_>) -> Option<Finding>),
}

/// All checks, in the order in which a reader should take them.
#[rustfmt::skip]
static CHECKS: [Check; 48] = [
    check("virtualisation", &[Each("virtual machine or not", hardware::layers)]),
    check("steal-time", &[One("stolen time", hardware::steal_time)]),
    check("preemption", &[One("preemption model", kernel::preemption)]),
    check("realtime-rights", &[
        One("right to real-time priority", rights::priority),
        Maybe(rights::time_limit),
        Maybe(rights::rtkit),
    ]),
    check("memory-lock-rights", &[One("right to lock memory", rights::memory_lock)]),
    check("rt-group-scheduling", &[One("real-time group scheduling", scheduling::rt_groups)]),
    check("rt-throttling", &[Maybe(scheduling::throttle), Maybe(scheduling::fair_server)]),
    check("cpu-quota", &[Each("CPU quota", scheduling::cpu_quota)]),
    check("realtime-neighbours", &[One("other real-time tasks", processes::realtime_neighbours)]),
    check("isolated-cpus", &[One("isolated CPUs", cpu::isolated)]),
    check("irq-affinity", &[One("interrupts", cpu::interrupts), Maybe(cpu::interrupt_balancer)]),
    check("cpu-governor", &[One("CPU frequency governor", cpu::governor)]),
    check("cpu-boost", &[One("frequency boost", cpu::boost)]),
    check("c-states", &[One("idle states", cpu::idle_states)]),
    check("smt", &[At(&settings::SMT)]),
    check("thermal-throttling", &[Each("thermal throttling", hardware::thermal)]),
    check("power-supply", &[
        One("battery or mains", hardware::power_supply),
        Maybe(|machine| settings::POWER_PROFILE.judge(machine).ok()),
    ]),
    check("smi", &[One("system management interrupts", hardware::management_interrupts)]),
    check("clock-source", &[One("clock source", clock::source), Maybe(clock::invariant)]),
    check("high-resolution-timers", &[One("high-resolution timers", clock::high_resolution)]),
    check("timer-migration", &[At(&settings::TIMER_MIGRATION)]),
    check("tick", &[One("timer tick", kernel::tick)]),
    check("rcu-callbacks", &[One("RCU callbacks", kernel::rcu_callbacks), Maybe(kernel::rcu_expedited)]),
    check("kernel-watchdogs", &[At(&settings::HARD_LOCKUP_DETECTOR), At(&settings::SOFT_LOCKUP_DETECTOR)]),
    check("swap", &[One("swap", memory::swap)]),
    check("transparent-hugepages", &[One("transparent huge pages", memory::huge_pages)]),
    check("free-memory", &[One("free memory", memory::free)]),
    check("memory-overcommit", &[At(&settings::OVERCOMMIT)]),
    check("numa-balancing", &[One("NUMA balancing", memory::numa_balancing)]),
    check("same-page-merging", &[At(&settings::SAME_PAGE_MERGING)]),
    check("memory-compaction", &[
        At(&settings::COMPACTION),
        Maybe(|machine| settings::COMPACTION_OF_LOCKED_PAGES.judge(machine).ok()),
    ]),
    check("vm-statistics", &[At(&settings::VM_STATISTICS)]),
    check("network-coalescing", &[Each("interrupt coalescing", network::coalescing)]),
    check("network-eee", &[Each("Energy-Efficient Ethernet", network::energy_efficient)]),
    check("network-offloads", &[Each("receive offloads", network::offloads)]),
    check("wifi-power-save", &[Each("Wi-Fi", network::wifi)]),
    check("pcie-power", &[At(&settings::PCIE_POWER)]),
    check("leftovers", leftovers::LOOKS),
    check("load-average", &[One("load", processes::load)]),
    check("background-daemons", &[Each("background daemons", processes::daemons)]),
    check("scheduled-jobs", &[One("scheduled jobs", processes::scheduled_jobs)]),
    check("time-synchronisation", &[One("time synchronisation", clock::synchronisation)]),
    check("mitigations", &[One("mitigations", cpu::mitigations)]),
    check("split-lock", &[At(&settings::SPLIT_LOCK)]),
    check("kernel-debugging", &[One("debugging in the kernel", kernel::debugging)]),
    check("kernel-tracing", &[One("kernel tracing", kernel::tracing)]),
    check("serial-console", &[One("serial console", kernel::serial_console)]),
    check("kernel-log", &[Each("kernel log", kernel::log)]),
];

const fn check(id: &'static str, looks: &'static [Look]) -> Check {
    Check { id, looks }
}

impl Check {
    /// Looks at the machine: at least one finding, several where there are several things of the
    /// kind (network interfaces, daemons).
    #[must_use]
    pub fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let findings = self.looks.iter().flat_map(|look| look.examine(machine));
        let id = self.id;
        findings.map(|finding| Finding { id, ..finding }).collect()
    }
}

impl Look {
    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let unknown = |what: &str, why: Unknown| vec![why.finding(what)];
        match self {
            At(setting) => match setting.judge(machine) {
                Ok(finding) => vec![finding],
                Err(why) => unknown(setting.what, why),
            },
            One(what, examine) => match examine(machine) {
                Ok(finding) => vec![finding],
                Err(why) => unknown(what, why),
            },
            Each(what, examine) => examine(machine).unwrap_or_else(|why| unknown(what, why)),
            Maybe(examine) => examine(machine).into_iter().collect(),
        }
    }
}

/// All checks for Linux, in the order in which a reader should take them.
#[must_use]
pub fn checks() -> &'static [Check] {
    &CHECKS
}

/// Examines the machine this runs on. Needs no rights; with more rights less stays unknown.
///
/// ```
/// for finding in kadenz_rt::doctor::examine() {
///     println!("{:?} {}: {}", finding.severity, finding.title, finding.cost);
/// }
/// ```
///
/// # Real-time safety
/// Allocates and reads files: not for a real-time path.
#[must_use]
pub fn examine() -> Vec<Finding> {
    #[cfg(target_os = "linux")]
    return examine_at(&Root::system());
    #[cfg(not(target_os = "linux"))]
    return foreign::examine();
}

/// Examines the Linux machine whose files lie under `root`.
#[must_use]
pub fn examine_at(root: &Root) -> Vec<Finding> {
    let machine = Machine::read(root);
    checks()
        .iter()
        .flat_map(|check| check.examine(&machine))
        .collect()
}
