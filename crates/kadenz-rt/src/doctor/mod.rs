//! The doctor: everything that spoils real time on this machine, what it costs, how it was seen
//! and the command that mends it.
//!
//! One file a check, all behind [`Check`]; the page `docs/doctor.md` says where each cost and each
//! remedy comes from. A check reads files under a [`Root`] and judges; it changes nothing, and what
//! it cannot read it calls not known.

mod finding;
#[cfg(not(target_os = "linux"))]
mod foreign;
mod machine;
mod remedy;

mod cpu_governor;
mod preemption;
mod rt_throttling;

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
        &preemption::Preemption,
        &rt_throttling::RtThrottling,
        &cpu_governor::CpuGovernor,
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
