//! How the loop runs, and how it ended.

use std::time::Duration;

pub use kadenz_rt::beat::Overrun;
use kadenz_rt::beat::{Interval, IntervalError};
use kadenz_rt::clock::MonotonicTime;

/// When the answers of a cycle are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoopMode {
    /// In the next cycle, as in Yoon: nothing waits for the wire. What the controller sees is a
    /// cycle old, what it writes goes out at once.
    #[default]
    Pipelined,
    /// In the same cycle: the loop waits for them, and the controller sees what was just read. What it
    /// writes goes out with the next beat, free of the jitter of its own computing.
    Synchronous {
        /// How long after the wake-up the answers are waited for.
        wait: Duration,
    },
}

/// How the loop runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopSettings {
    /// Time between two beats.
    pub interval: Interval,
    /// When answers are taken in.
    pub mode: LoopMode,
    /// How long before each beat a [`RealTime`](super::RealTime) stops sleeping and begins to spin; zero
    /// for no spinning.
    pub spin: Duration,
    /// What is done when a cycle was not done as the next beat was due. With [`Overrun::Relative`] beats are
    /// numbered as the ideal signal has them by then, so that all cycles end when its cycles would, and a
    /// [`Phase`](super::Phase) moves nothing.
    pub overrun: Overrun,
    /// Beat 0; the first cycle is at beat 1. `None` for when the loop begins.
    pub start: Option<MonotonicTime>,
    /// Ends after so many cycles; `None` for never.
    pub cycles: Option<u64>,
    /// How many cycles go on after the flag says stop, so that a controller can bring its axes to rest:
    /// [`CycleContext::is_ending`](super::CycleContext::is_ending) tells it, and it ends them when it is done.
    pub shutdown_cycles: u64,
}

impl LoopSettings {
    /// Pipelined, 50 us of spinning, beats that were missed are skipped.
    ///
    /// # Errors
    /// [`IntervalError`]: zero, or longer than a year.
    pub fn every(interval: Duration) -> Result<Self, IntervalError> {
        Ok(Self {
            interval: Interval::try_from(interval)?,
            mode: LoopMode::Pipelined,
            spin: Duration::from_micros(50),
            overrun: Overrun::Skip,
            start: None,
            cycles: None,
            shutdown_cycles: 0,
        })
    }
}

/// What ended the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// The flag.
    Flag,
    /// The controller.
    Controller,
    /// It did all cycles that it should.
    Count,
    /// A cycle was not done when the next was due, and [`Overrun::Stop`] was asked for.
    Overrun,
}

/// How the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// What ended it.
    pub by: EndedBy,
    /// Cycles that were run.
    pub cycles: u64,
    /// Cycles that began late since the one before was not done.
    pub overruns: u64,
    /// Beats that were left out.
    pub skipped: u64,
}
