//! Scheduling: threads that send each other messages, and processes that come and go.
//!
//! The groups are those of Linux's `hackbench --threads`. Yoon runs `hackbench 20` in a loop
//! and kills it every five seconds, so all groups are ended and made anew as often. Short-lived
//! processes come beside.

mod churn;
#[cfg(unix)]
mod groups;
#[cfg(not(unix))]
#[path = "no_groups.rs"]
mod groups;

use super::options::{LoadOptions, StartLoadError, cpus};
use super::rates::{Counter, Tally};
use super::workers::{Site, Trouble, Workers};
use super::{Generator, LoadKind};

/// Yoon's `hackbench 20` on four CPUs.
const GROUPS_A_CPU: usize = 5;
/// More than Yoon's is not taken without being asked for.
const PAPERS_GROUPS: usize = 20;
/// Receivers of a group, and senders: hackbench's `--fds=20`.
const RECEIVERS: usize = 20;

/// Groups of senders and receivers, and a thread that starts processes.
pub(super) struct Processes {
    groups: usize,
    messages: Tally,
    started: Tally,
    trouble: Trouble,
    _workers: Workers,
}

impl Processes {
    pub(super) fn start(options: &LoadOptions, site: &Site) -> Result<Self, StartLoadError> {
        let default = (GROUPS_A_CPU * cpus()).min(PAPERS_GROUPS);
        let groups = options.groups.unwrap_or(default);
        let (messages, started) = (Tally::new(groups * RECEIVERS), Tally::new(1));
        let trouble = Trouble::default();
        let mut workers = Workers::new(site);
        groups::spawn(&mut workers, groups, &messages, &trouble)?;
        churn::spawn(&mut workers, &started, &trouble).map_err(|error| StartLoadError::Thread {
            kind: LoadKind::Processes,
            error,
        })?;
        Ok(Self {
            groups,
            messages,
            started,
            trouble,
            _workers: workers,
        })
    }
}

impl Generator for Processes {
    fn asked(&self) -> String {
        format!(
            "{} groups of {RECEIVERS} senders and {RECEIVERS} receivers, messages of 100 bytes; \
             short-lived processes, one at a time",
            self.groups
        )
    }

    fn counters(&self) -> Vec<Counter> {
        vec![
            Counter::new("delivered", "messages/s", &self.messages),
            Counter::new("started", "processes/s", &self.started),
        ]
    }

    fn trouble(&self) -> &Trouble {
        &self.trouble
    }
}
