//! Load: real work that keeps a machine busy while something else is measured.
//!
//! A figure taken on an idle machine says little about a robot. Each generator is a workload of
//! one kind, bounded in memory and disk, and counts what it really did: a run can say what load
//! there was, not only what was asked for. What a generator made goes when it is dropped, and also
//! when the process is killed: its files have no name, its threads and sockets are the process's.
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
//! `Heavy` is the stress of H. Yoon, J. Song and J. Lee, *Real-Time Performance Analysis in
//! Linux-Based Robotic Systems* (Linux Symposium 2009), figure 5.
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
//! Real-time safety: none of this belongs on a real-time path. Generators run at the ordinary
//! priority, also when the thread that starts them has a real-time one.

mod cpu;
mod disk;
mod files;
mod foreign;
mod kind;
mod memory;
mod network;
mod open;
mod options;
mod place;
mod processes;
mod rates;
mod running;
mod timer;
mod workers;

pub use foreign::{ForeignLoad, ForeignProgram, ParseForeignProgramError};
pub use kind::{LoadKind, ParseLoadKindError};
pub use options::{LoadOptions, MAX_GROUPS, MAX_THREADS, StartLoadError};
pub use rates::{LoadRates, Rate};
pub use running::{RunningLoad, start};

pub(crate) use timer::allowed_cpus;

use rates::Counter;
use workers::Trouble;

/// One kind of work. Dropping it ends its work and removes what it made.
trait Generator: Send {
    /// What it was asked to do, in words, with the defaults filled in.
    fn asked(&self) -> String;

    /// What it counts.
    fn counters(&self) -> Vec<Counter>;

    /// What kept it from its work, if anything did.
    fn trouble(&self) -> &Trouble;
}
