//! The doctor: everything that spoils real time on this machine, what it costs, how it was seen
//! and the command that mends it.
//!
//! One file a check, all behind [`Check`]; the page `docs/doctor.md` says where each cost and each
//! remedy comes from. A check reads files under a [`Root`] and judges; it changes nothing, and what
//! it cannot read it calls not known.

// What the checks share.
mod cgroup;
mod ethtool;
pub mod fake;
mod finding;
#[cfg(not(target_os = "linux"))]
mod foreign;
mod limits;
mod machine;
mod nic;
pub mod processes;
mod remedy;

// The checks.
mod c_states;
mod clock_source;
mod compaction;
mod cpu_boost;
mod cpu_governor;
mod cpu_quota;
mod daemons;
mod free_memory;
mod high_resolution_timers;
mod interrupts;
mod isolated_cpus;
mod kernel_build;
mod kernel_log;
mod kernel_tracing;
mod ksm;
mod leftovers;
mod load;
mod memory_lock;
mod mitigations;
mod network_coalescing;
mod network_eee;
mod network_offloads;
mod numa_balancing;
mod overcommit;
mod pcie_power;
mod power_supply;
mod preemption;
mod rcu;
mod realtime_neighbours;
mod rights;
mod rt_groups;
mod rt_throttling;
mod scheduled_jobs;
mod serial_console;
mod smi;
mod smt;
mod split_lock;
mod steal_time;
mod swap;
mod thermal;
mod tick;
mod time_synchronisation;
mod timer_migration;

mod transparent_hugepages;
mod virtualisation;
mod vm_statistics;
mod watchdogs;
mod wifi;

pub use crate::host::Root;
pub use finding::{Finding, Severity};
pub use machine::Machine;

/// One thing that the doctor looks at.
pub trait Check: Sync {
    /// Stable name, for example `cpu-governor`; every finding of the check carries it.
    fn id(&self) -> &'static str;

    /// Looks at the machine: at least one finding, several where there are several things of the
    /// kind (network interfaces, daemons).
    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding>;
}

/// All checks for Linux, in the order in which a reader should take them.
#[must_use]
pub fn checks() -> &'static [&'static dyn Check] {
    &[
        &virtualisation::Virtualisation,
        &steal_time::StealTime,
        &preemption::Preemption,
        &rights::Rights,
        &memory_lock::MemoryLock,
        &rt_groups::RtGroups,
        &rt_throttling::RtThrottling,
        &cpu_quota::CpuQuota,
        &realtime_neighbours::RealtimeNeighbours,
        &isolated_cpus::IsolatedCpus,
        &interrupts::Interrupts,
        &cpu_governor::CpuGovernor,
        &cpu_boost::CpuBoost,
        &c_states::CStates,
        &smt::Smt,
        &thermal::Thermal,
        &power_supply::PowerSupply,
        &smi::Smi,
        &clock_source::ClockSource,
        &high_resolution_timers::HighResolutionTimers,
        &timer_migration::TimerMigration,
        &tick::Tick,
        &rcu::Rcu,
        &watchdogs::Watchdogs,
        &swap::Swap,
        &transparent_hugepages::TransparentHugepages,
        &free_memory::FreeMemory,
        &overcommit::Overcommit,
        &numa_balancing::NumaBalancing,
        &ksm::Ksm,
        &compaction::Compaction,
        &vm_statistics::VmStatistics,
        &network_coalescing::NetworkCoalescing,
        &network_eee::NetworkEee,
        &network_offloads::NetworkOffloads,
        &wifi::Wifi,
        &pcie_power::PciePower,
        &leftovers::Leftovers,
        &load::Load,
        &daemons::Daemons,
        &scheduled_jobs::ScheduledJobs,
        &time_synchronisation::TimeSynchronisation,
        &mitigations::Mitigations,
        &split_lock::SplitLock,
        &kernel_build::KernelBuild,
        &kernel_tracing::KernelTracing,
        &serial_console::SerialConsole,
        &kernel_log::KernelLog,
    ]
}

/// Examines the machine this runs on. Needs no rights; with more rights less stays unknown.
/// Allocates and reads files: not for a real-time path.
///
/// ```
/// for finding in kadenz_rt::doctor::examine() {
///     println!("{:?} {}: {}", finding.severity, finding.title, finding.cost);
/// }
/// ```
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
