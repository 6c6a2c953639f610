//! Scheduling: threads that send each other messages, and processes that come and go.
//!
//! The groups are those of Linux's `hackbench --threads`. Yoon runs `hackbench 20` in a loop
//! and kills it every five seconds, so all groups are ended and made again as often. Short-lived
//! processes come beside.

#[cfg(unix)]
mod groups;
#[cfg(not(unix))]
mod groups {
    //! Where there are no socket pairs.

    use crate::load::rates::Tally;
    use crate::load::workers::Workers;
    use crate::load::{LoadKind, StartLoadError};

    pub(super) fn spawn(
        _workers: &mut Workers,
        _groups: usize,
        _messages: &Tally,
    ) -> Result<(), StartLoadError> {
        let missing = "socket pairs";
        Err(StartLoadError::Unsupported(LoadKind::Processes, missing))
    }
}

use std::io;
use std::process::{Command, Stdio};

use super::options::{LoadOptions, StartLoadError, cpus};
use super::rates::{Counter, Tally};
use super::workers::{Site, Workers};
use super::{LoadGenerator, LoadKind};

/// Yoon's `hackbench 20` on four CPUs.
const GROUPS_A_CPU: usize = 5;
/// The default takes no more groups than Yoon's.
const YOON2009_GROUPS: usize = 20;
/// Receivers of a group, and senders: hackbench's `--fds=20`.
const RECEIVERS: usize = 20;

/// Groups of senders and receivers, and a thread that starts processes.
pub(super) fn start(options: &LoadOptions, site: &Site) -> Result<LoadGenerator, StartLoadError> {
    let default = (GROUPS_A_CPU * cpus()).min(YOON2009_GROUPS);
    let groups = options.groups.unwrap_or(default);
    let (messages, started) = (Tally::new(groups * RECEIVERS), Tally::new(1));
    let mut workers = Workers::new(LoadKind::Processes, site);
    groups::spawn(&mut workers, groups, &messages)?;
    let counters = vec![
        Counter::new("delivered", "messages/s", &messages),
        Counter::new("started", "processes/s", &started),
    ];
    workers.repeat("processes", move |_| {
        let ended = run_one_process();
        ended.map_err(|error| format!("cannot start `{PROGRAM}`: {error}"))?;
        started.add(0, 1);
        Ok(())
    })?;
    Ok(LoadGenerator {
        asked: format!(
            "{groups} groups of {RECEIVERS} senders and {RECEIVERS} receivers, messages of 100 bytes; \
             short-lived processes, one at a time"
        ),
        counters,
        workers,
    })
}

/// A program that ends at once, with the same result everywhere. Because it ends by itself, none is left when this
/// process is killed.
const PROGRAM: &str = "true";

/// Starts one process and waits for it.
fn run_one_process() -> io::Result<()> {
    Command::new(PROGRAM)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map(|_| ())
}
