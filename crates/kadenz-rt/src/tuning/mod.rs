//! Tuning: the settings that a thread requests of the kernel, those it was granted, and the reasons for a
//! difference.
//!
//! [`apply`] tunes the calling thread and returns a guard that restores everything when dropped.
//! It never fails: what the kernel refuses stays as it was, and its [`Measure`] says why and which
//! command fixes it.
//!
//! ```
//! use kadenz_rt::tuning::{self, Tuning};
//!
//! let applied = tuning::apply(&Tuning::fifo(80).locked());
//! for measure in &applied.measures {
//!     println!("{}: {} asked, {} granted", measure.name, measure.requested, measure.granted);
//! }
//! ```

mod cpu_set;
#[cfg(target_os = "linux")]
pub(crate) mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod policy;
#[cfg(not(target_os = "linux"))]
mod portable;
mod prefault;
#[cfg(windows)]
mod windows;

use std::marker::PhantomData;

pub use cpu_set::{CpuSet, ParseCpuSetError};
pub use policy::{ParsePolicyError, Policy};

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
use portable as system;
#[cfg(windows)]
use windows as system;

/// The requested settings of a thread. The default requests only the ordinary policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tuning {
    /// P: scheduling policy and priority of the calling thread.
    pub policy: Policy,
    /// M: lock the process's memory, and touch stack and heap before they are needed.
    pub lock_memory: bool,
    /// C: the CPUs the calling thread may run on.
    pub cpus: Option<CpuSet>,
    /// The longest wake-up latency, in microseconds, that idle processors may cause. Held for the
    /// whole machine, and so it changes what is measured: it is not on by default.
    pub cpu_dma_latency_us: Option<u32>,
    /// By how much the kernel may delay the calling thread's timers, in nanoseconds. Ordinary
    /// threads have 50 us, real-time threads none.
    pub timer_slack_ns: Option<u64>,
}

impl Tuning {
    /// `SCHED_FIFO` at a priority from 1 (lowest) to 99 (highest). [`apply`] reports any other as refused.
    #[must_use]
    pub fn fifo(priority: u8) -> Self {
        Self {
            policy: Policy::Fifo(priority),
            ..Self::default()
        }
    }

    /// As before, with the process's memory locked: no page fault while the loop runs.
    #[must_use]
    pub fn locked(mut self) -> Self {
        self.lock_memory = true;
        self
    }

    /// As before, on these CPUs alone.
    #[must_use]
    pub fn on_cpus(mut self, cpus: CpuSet) -> Self {
        self.cpus = Some(cpus);
        self
    }
}

/// One requested setting, and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// `policy`, `memory_lock`, `affinity`, `cpu_dma_latency` or `timer_slack`; of a started program
    /// also `nice`, `cgroup` or `idle_spinner`.
    pub name: &'static str,
    /// The requested value, for example `SCHED_FIFO 80`.
    pub requested: String,
    /// The value in force, as read back from the kernel.
    pub granted: String,
    /// Whether the value in force satisfies the request.
    pub ok: bool,
    /// Why it was refused; or, when it was granted, what still limits it.
    pub reason: Option<String>,
    /// The command that fixes it.
    pub remedy: Option<String>,
}

/// The reason why a setting is not as requested, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) reason: String,
    pub(crate) remedy: String,
}

impl Note {
    pub(crate) fn new(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }
}

impl Measure {
    /// Adds the reason of a refusal, or a remaining limit, where there is a note.
    pub(crate) fn noted(
        name: &'static str,
        requested: impl Into<String>,
        granted: impl Into<String>,
        ok: bool,
        note: Option<Note>,
    ) -> Self {
        let (reason, remedy) = note.map(|it| (it.reason, it.remedy)).unzip();
        Self {
            name,
            requested: requested.into(),
            granted: granted.into(),
            ok,
            reason,
            remedy,
        }
    }
}

/// The result of [`apply`]. Dropping it, on the thread that it tuned, restores the previous settings.
#[derive(Debug)]
#[must_use = "dropping this restores the thread at once"]
pub struct AppliedTuning {
    /// One measure for each requested setting; always one for the policy.
    pub measures: Vec<Measure>,
    _restore: system::Restore,
    /// Scheduling belongs to a thread, so the guard must stay on it.
    _not_send: PhantomData<*const ()>,
}

impl AppliedTuning {
    /// Whether every requested setting was granted.
    #[must_use]
    pub fn all_granted(&self) -> bool {
        self.measures.iter().all(|measure| measure.ok)
    }
}

/// Locked memory as a user requests it, on every operating system.
pub(crate) const ALL_PAGES: &str = "locked memory (all current and future pages)";

/// Tunes the calling thread (and, for locked memory, its process) as far as the kernel lets it.
///
/// Threads and processes that the calling thread starts afterwards do not inherit a real-time
/// policy.
///
/// # Real-time safety
/// Not real-time safe: call it before the loop.
pub fn apply(tuning: &Tuning) -> AppliedTuning {
    let (measures, restore) = system::apply(tuning);
    AppliedTuning {
        measures,
        _restore: restore,
        _not_send: PhantomData,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wish_leaves_the_others_as_they_are() {
        let cpus: CpuSet = "1,3".parse().unwrap();
        let wished = Tuning::fifo(80).locked().on_cpus(cpus.clone());
        let expected = Tuning {
            policy: Policy::Fifo(80),
            lock_memory: true,
            cpus: Some(cpus),
            ..Tuning::default()
        };
        assert_eq!(wished, expected);
    }
}
