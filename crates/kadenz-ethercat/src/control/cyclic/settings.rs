//! The settings of a loop, and how it ended.

use std::time::Duration;

pub use kadenz_rt::beat::Overrun;
use kadenz_rt::beat::{Interval, IntervalError};
use kadenz_rt::clock::MonotonicTime;

/// The mode in which the loop takes in the answers of a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoopMode {
    /// In the next cycle, as in \[Yoon2009\]: nothing waits for the wire. The controller sees inputs that are a
    /// cycle old, and its outputs go out at once.
    #[default]
    Pipelined,
    /// In the same cycle: the loop waits for the answers, and the controller sees what was just read. Its
    /// outputs go out with the next beat, free of the jitter of its own computing.
    Synchronous {
        /// How long after the wake-up the loop waits for the answers.
        wait: Duration,
    },
}

/// The settings of a loop.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopSettings {
    /// Time between two beats.
    pub interval: Interval,
    /// The mode in which answers are taken in.
    pub mode: LoopMode,
    /// How long before each beat a [`RealTime`](super::RealTime) stops sleeping and begins to spin; zero for
    /// no spinning.
    pub spin: Duration,
    /// The policy when a cycle was not done as the next beat was due. [`Overrun::Stop`] ends the loop after its
    /// [shutdown cycles](Self::shutdown_cycles), in which it skips missed beats. With [`Overrun::Relative`] beats are
    /// numbered as the ideal signal has them by then, so that all cycles end when its cycles would, and a
    /// [`Phase`](super::Phase) moves nothing.
    pub overrun: Overrun,
    /// The time of beat 0; the first cycle is at beat 1. `None` for the loop's beginning.
    pub start: Option<MonotonicTime>,
    /// The loop ends after that many cycles; `None` for never.
    pub cycles: Option<u64>,
    /// How many cycles go on after the flag or an overrun stops the loop, so that a controller can bring its axes
    /// to rest: [`CycleContext::is_ending`](super::CycleContext::is_ending) reports this stage, and the controller
    /// ends it when it is done.
    pub shutdown_cycles: u64,
}

impl LoopSettings {
    /// Settings of a pipelined loop with 50 us of spinning, which skips missed beats.
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

/// The cause of the loop's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// The stop flag was set.
    Flag,
    /// The controller ended the loop.
    Controller,
    /// The loop did all its cycles.
    Count,
    /// A cycle was not done when the next was due, and the policy was [`Overrun::Stop`]; also where the controller
    /// ended the shutdown cycles after that, or such a cycle came after the flag.
    Overrun,
}

/// The end of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The cause of its end.
    pub by: EndedBy,
    /// Cycles that were run.
    pub cycles: u64,
    /// Cycles that began late since the previous one was not done.
    pub overruns: u64,
    /// Beats that were left out.
    pub skipped: u64,
}
