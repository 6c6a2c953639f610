//! Load: real work that keeps a machine busy while something else is measured.
//!
//! A figure taken on an idle machine says little about a robot. Each generator is a workload of one kind, bounded in
//! memory and disk, and counts what it really did: a run can report the actual load, not only the requested one. What a
//! generator made is removed when it is dropped, and also when the process is killed: its files have no name, its
//! threads and sockets are the process's.
//!
//! | kind | what it does | its rate |
//! |---|---|---|
//! | [`LoadKind::Cpu`] | counts, a thread each CPU | CPUs kept busy |
//! | [`LoadKind::Disk`] | writes one large file again and again | MB/s written |
//! | [`LoadKind::Processes`] | threads that send each other messages, processes that come and go | messages/s, processes/s |
//! | [`LoadKind::Network`] | floods the loopback with datagrams that are echoed | datagrams/s |
//! | [`LoadKind::Files`] | reads the metadata of a whole file tree | files/s |
//! | [`LoadKind::Memory`] | copies between large buffers, and asks for fresh pages | MB/s, faults/s |
//! | [`LoadKind::Timer`] | short sleeps, and wake-ups from CPU to CPU | wake-ups/s |
//! | [`LoadKind::Heavy`] | disk, processes, network and files together | as theirs |
//!
//! `Heavy` is the stress of \[Yoon2009\], figure 5.
//!
//! ```
//! use kadenz_lab::load::{self, LoadKind, LoadOptions};
//!
//! let load = load::start(&[LoadKind::Cpu], &LoadOptions::default())?;
//! std::thread::sleep(std::time::Duration::from_millis(50));
//! for did in load.stop() {
//!     println!("{}: {}", did.kind, did.asked);
//!     for rate in &did.rates {
//!         println!("  {} {:.1} {}", rate.name, rate.mean, rate.unit);
//!     }
//! }
//! # Ok::<(), kadenz_lab::load::StartLoadError>(())
//! ```
//!
//! # Real-time safety
//! None of this belongs on a real-time path. Generators run at the ordinary priority, also when the thread that
//! starts them has a real-time one.

mod cpu;
mod disk;
mod files;
mod foreign;
mod memory;
mod network;
mod options;
mod processes;
mod rates;
mod running;
mod timer;
mod workers;

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

pub use foreign::ForeignLoad;
pub use options::{
    ForeignProgram, LoadOptions, MAX_GROUPS, MAX_THREADS, ParseForeignProgramError, StartLoadError,
};
pub use rates::{LoadRates, Rate};
pub use running::{RunningLoad, start};

pub(crate) use timer::allowed_cpus;

use rates::Counter;
use workers::{Site, Workers};

/// One kind of work. Dropping it ends its work and removes what it made.
struct LoadGenerator {
    /// Its requested work, in words, with the defaults filled in.
    asked: String,
    counters: Vec<Counter>,
    workers: Workers,
}

/// Starts the threads of one kind; they wait before the site's gate.
fn open(
    kind: LoadKind,
    options: &LoadOptions,
    site: &Site,
) -> Result<LoadGenerator, StartLoadError> {
    Ok(match kind {
        LoadKind::Cpu => cpu::start(options, site)?,
        LoadKind::Disk => disk::start(options, site)?,
        LoadKind::Processes => processes::start(options, site)?,
        LoadKind::Network => network::start(options, site)?,
        LoadKind::Files => files::start(options, site)?,
        LoadKind::Memory => memory::start(options, site)?,
        LoadKind::Timer => timer::start(options, site)?,
        // `kind::parts_of` has taken it apart.
        LoadKind::Heavy => return Err(StartLoadError::Nothing),
    })
}

// The kinds of load.

/// A kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LoadKind {
    /// Work that keeps CPUs busy.
    Cpu,
    /// Large sequential writes to a disk.
    Disk,
    /// Scheduling: messages between many threads, and short-lived processes.
    Processes,
    /// A flood of datagrams on the loopback.
    Network,
    /// Metadata of a file tree.
    Files,
    /// Memory bandwidth and page faults.
    Memory,
    /// Timer interrupts and wake-ups across CPUs.
    Timer,
    /// Disk, processes, network and files together: Yoon's figure 5.
    Heavy,
}

impl LoadKind {
    /// Every kind, in the order in which they are listed.
    pub const ALL: [Self; 8] = [
        Self::Cpu,
        Self::Disk,
        Self::Processes,
        Self::Network,
        Self::Files,
        Self::Memory,
        Self::Timer,
        Self::Heavy,
    ];

    /// As users write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Disk => "disk",
            Self::Processes => "processes",
            Self::Network => "network",
            Self::Files => "files",
            Self::Memory => "memory",
            Self::Timer => "timer",
            Self::Heavy => "heavy",
        }
    }

    /// The kinds that this one is made of: itself, except for the combination.
    ///
    /// ```
    /// use kadenz_lab::load::LoadKind;
    ///
    /// assert_eq!(LoadKind::Cpu.parts(), [LoadKind::Cpu]);
    /// assert_eq!(LoadKind::Heavy.parts().len(), 4);
    /// ```
    #[must_use]
    pub const fn parts(self) -> &'static [Self] {
        match self {
            Self::Cpu => &[Self::Cpu],
            Self::Disk => &[Self::Disk],
            Self::Processes => &[Self::Processes],
            Self::Network => &[Self::Network],
            Self::Files => &[Self::Files],
            Self::Memory => &[Self::Memory],
            Self::Timer => &[Self::Timer],
            Self::Heavy => &[Self::Disk, Self::Processes, Self::Network, Self::Files],
        }
    }
}

impl fmt::Display for LoadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid load; write cpu, disk, processes, network, files, memory, timer, or heavy for \
     disk, processes, network and files together"
)]
pub struct ParseLoadKindError(String);

impl FromStr for LoadKind {
    type Err = ParseLoadKindError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == word);
        found.ok_or_else(|| ParseLoadKindError(word.to_owned()))
    }
}

/// The single kinds that `kinds` name, each once, in the order of their first mention.
fn parts_of(kinds: &[LoadKind]) -> Vec<LoadKind> {
    let mut parts = Vec::new();
    for part in kinds.iter().flat_map(|kind| kind.parts()) {
        if !parts.contains(part) {
            parts.push(*part);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_read_as_it_is_written() {
        for kind in LoadKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = "disc".parse::<LoadKind>().unwrap_err();
        assert!(error.to_string().contains("disk"), "{error}");
    }

    #[test]
    fn a_kind_that_is_named_twice_is_started_once() {
        let parts = parts_of(&[LoadKind::Network, LoadKind::Heavy, LoadKind::Disk]);
        assert_eq!(
            parts,
            [
                LoadKind::Network,
                LoadKind::Disk,
                LoadKind::Processes,
                LoadKind::Files
            ]
        );
    }
}
