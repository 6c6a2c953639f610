//! Scheduling: threads that send each other messages, and processes that come and go.
//!
//! The groups are those of Linux's `hackbench --threads`. Yoon runs `hackbench 20` in a loop
//! and kills it every five seconds, so all groups are ended and made anew as often. Short-lived
//! processes come beside.

#[cfg(unix)]
mod groups;
#[cfg(not(unix))]
mod groups {
    //! Where there are no socket pairs.

    use crate::load::rates::Tally;
    use crate::load::workers::{Trouble, Workers};
    use crate::load::{LoadKind, StartLoadError};

    pub(super) fn spawn(
        _workers: &mut Workers,
        _groups: usize,
        _messages: &Tally,
        _trouble: &Trouble,
    ) -> Result<(), StartLoadError> {
        let missing = "socket pairs";
        Err(StartLoadError::Unsupported(LoadKind::Processes, missing))
    }
}

use std::io;
use std::process::{Command, Stdio};

use super::options::{LoadOptions, StartLoadError, cpus};
use super::rates::{Counter, Tally};
use super::workers::{Site, Trouble, Workers};
use super::{Generator, LoadKind};
use crate::stop::Stop;

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
        spawn(&mut workers, &started, &trouble).map_err(|error| StartLoadError::Thread {
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

/// A program that ends at once, with the same result everywhere. It needs nobody to end it: none is
/// left when this process is killed.
const PROGRAM: &str = "true";

/// Starts one process after the other and waits for each.
fn spawn(workers: &mut Workers, started: &Tally, trouble: &Trouble) -> io::Result<()> {
    let (started, trouble) = (started.clone(), trouble.clone());
    workers.spawn("processes", move |stop: &Stop| {
        while !stop.requested() {
            match come_and_go() {
                Ok(()) => started.add(0, 1),
                Err(error) => trouble.note(|| format!("cannot start `{PROGRAM}`: {error}")),
            }
        }
    })
}

fn come_and_go() -> io::Result<()> {
    Command::new(PROGRAM)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map(|_| ())
}
