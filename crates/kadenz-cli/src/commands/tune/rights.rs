//! Checks before the measurement which measures are available here.

use kadenz::record::run::matrix::{Combination, Measure};
use kadenz::record::run::tune::NotGranted;
use kadenz::rt::host::{Root, idle};
use kadenz::rt::shield;
use kadenz::rt::tuning::{self, CpuSet, Policy, Tuning};

/// An unavailable measure, with the reason.
pub(super) struct Refused {
    measure: Measure,
    reason: String,
    remedy: Option<String>,
    /// Whether this machine has nothing that the measure could change: then no right is missing.
    pub(super) moot: bool,
}

impl Refused {
    /// Whether a cell includes it.
    pub(super) fn concerns(&self, cell: Combination) -> bool {
        cell.has(self.measure)
    }

    /// The measure, the reason, and the remedy.
    pub(super) fn words(&self) -> String {
        let remedy = self.remedy.as_deref().map(|it| format!("; remedy: {it}"));
        let verdict = if self.moot {
            "is not available here"
        } else {
            "cannot be had here"
        };
        format!(
            "{} {verdict}, combinations with it are left out: {}{}",
            self.measure.letter(),
            self.reason,
            remedy.unwrap_or_default()
        )
    }

    /// The refusal in the form of the run.
    pub(super) fn noted(&self) -> NotGranted {
        NotGranted {
            measure: self.measure,
            sentence: self.words(),
        }
    }

    fn new(measure: Measure, reason: String, remedy: Option<String>) -> Self {
        Self {
            measure,
            reason,
            remedy,
            moot: false,
        }
    }

    fn of(measure: Measure, refusal: &tuning::Measure) -> Self {
        let reason = refusal.reason.clone();
        let reason = reason.unwrap_or_else(|| "no reason was given".to_owned());
        Self::new(measure, reason, refusal.remedy.clone())
    }
}

/// The measures of `cells` that are unavailable to this user on this machine.
pub(super) fn refused(
    priority: u8,
    shield: Option<&CpuSet>,
    cells: &[Combination],
) -> Vec<Refused> {
    let wanted = |taken: fn(&Combination) -> bool| cells.iter().any(taken);
    let mut refused = Vec::new();
    let tuning = Tuning {
        policy: Policy::Fifo(priority),
        lock_memory: true,
        ..Tuning::default()
    };
    // The guard restores everything before the first round.
    let applied = tuning::apply(&tuning);
    for measure in applied.measures.iter().filter(|measure| !measure.ok) {
        match measure.name {
            "policy" if wanted(|cell| cell.has(Measure::Priority)) => {
                refused.push(Refused::of(Measure::Priority, measure));
            }
            "memory_lock" if wanted(|cell| cell.has(Measure::Memory)) => {
                refused.push(Refused::of(Measure::Memory, measure));
            }
            _ => {}
        }
    }
    if wanted(|cell| cell.has(Measure::Cpu)) {
        refused.extend(shield_refused(shield));
    }
    if wanted(|cell| cell.has(Measure::Idle)) {
        refused.extend(idle_refused(&Root::system()));
    }
    refused
}

/// Why idle states cannot be held off: there are none, or this user lacks the right.
fn idle_refused(root: &Root) -> Option<Refused> {
    if let Some(reason) = idle::nothing_to_hold_off(root) {
        return Some(Refused {
            moot: true,
            ..Refused::new(Measure::Idle, reason, None)
        });
    }
    let tuning = Tuning {
        cpu_dma_latency_us: Some(0),
        ..Tuning::default()
    };
    // Held off and released before the first round.
    let applied = tuning::apply(&tuning);
    let mut measures = applied.measures.iter();
    let refusal = measures.find(|measure| measure.name == "cpu_dma_latency" && !measure.ok)?;
    Some(Refused::of(Measure::Idle, refusal))
}

fn shield_refused(cpus: Option<&CpuSet>) -> Option<Refused> {
    let Some(cpus) = cpus else {
        let reason = "this machine has one CPU, and none to give away".to_owned();
        return Some(Refused::new(Measure::Cpu, reason, None));
    };
    // Raised and lowered again before the first round.
    let refusal = shield::raise(cpus).err()?;
    let (reason, remedy) = (refusal.to_string(), refusal.remedy());
    Some(Refused::new(Measure::Cpu, reason, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kadenz::rt::doctor::fake;

    #[test]
    fn missing_idle_states_differ_from_a_missing_right() {
        let folder = tempfile::tempdir().expect("a folder for a test");
        let root = fake::virtual_machine(folder.path()).expect("the files of a machine");
        let refused = idle_refused(&root).expect("nothing to hold off");
        let words = refused.words();
        assert!(
            refused.moot && words.starts_with("I is not available here"),
            "{words}"
        );
        assert!(words.contains("cpuidle absent"), "{words}");
    }
}
