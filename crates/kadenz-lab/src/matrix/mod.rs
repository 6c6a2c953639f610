//! Which real-time measure buys what, on this machine?
//!
//! The matrix of H. Yoon, J. Song and J. Lee, "Real-Time Performance Analysis in Linux-Based Robotic
//! Systems" (2009), section 3: a beat is kept under each combination of priority, locked memory, CPU
//! shield and spinning sleep, on an idle machine and on one under heavy load. Yoon measured its
//! cells one after another; here they take turns in short rounds, so that a machine that drifts
//! spoils none of them alone.
//!
//! This module plans the rounds, gathers what they give into one run, and goes on where an earlier
//! attempt ended. How a round is measured is the caller's: [`Rounds`].

mod experiment;
mod lock;
mod schedule;

pub use experiment::{MatrixError, MatrixPlan, Rounds, measure, series_names};
pub use lock::LockError;
pub use schedule::{Schedule, Visit};
