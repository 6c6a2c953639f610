//! Other systems than Linux.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use super::{Launch, LaunchError};
use crate::tuning::{CpuSet, Measure, Note};

/// A program that runs under a tuning; there is none on this system.
#[derive(Debug)]
pub struct Program(Infallible);

impl Program {
    /// Number of its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        match self.0 {}
    }

    /// The requested tuning, and the tuning that the program has.
    #[must_use]
    pub fn measures(&self) -> &[Measure] {
        match self.0 {}
    }

    /// Kills the program and what it started.
    pub fn kill(&self) {
        match self.0 {}
    }

    /// How the program has ended; `None` while it runs.
    ///
    /// # Errors
    /// When the system cannot report it.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match self.0 {}
    }

    /// Waits until the program ends.
    ///
    /// # Errors
    /// When the system cannot report it.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        match self.0 {}
    }
}

/// Passes termination signals on; on this system it only waits.
#[derive(Debug)]
pub struct SignalRelay(());

impl SignalRelay {
    /// Notes no signals.
    #[must_use]
    pub fn install() -> Self {
        Self(())
    }

    /// Waits until a program ends.
    ///
    /// # Errors
    /// When the system cannot report how the program ended.
    pub fn wait(&self, child: &mut Child) -> io::Result<ExitStatus> {
        child.wait()
    }
}

/// Keeps CPUs awake; unavailable on this system.
#[derive(Debug)]
pub struct Awake(());

impl Awake {
    /// Refuses, with the measure that says so.
    #[must_use]
    pub fn hold(_cpus: Option<&CpuSet>, _enter: Option<&Path>) -> (Self, Vec<Measure>) {
        let (awake, measure) = Self::limit(0);
        (awake, vec![measure])
    }

    /// Refuses, with the measure that says so.
    #[must_use]
    pub fn limit(latency_us: u32) -> (Self, Measure) {
        let note = Note::new(
            "only Linux lets a process keep CPUs awake",
            "choose the power plan for highest performance",
        );
        let requested = format!("{latency_us} us");
        let measure = Measure::noted("cpu_dma_latency", requested, "nothing", false, Some(note));
        (Self(()), measure)
    }
}

pub(super) fn start(_command: Command, _launch: &Launch) -> Result<Program, LaunchError> {
    Err(LaunchError::Unsupported)
}
