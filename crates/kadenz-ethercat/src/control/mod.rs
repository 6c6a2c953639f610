//! The control interface between the loop that drives a segment and everybody else (the paper's ECCI).
//!
//! - [`board`]: what the loop read last, for any number of readers, in this and in other processes.
//! - [`cyclic`]: the loop itself.
//! - [`health`]: what the loop tells of each cycle, for any number of threads.
//! - [`phase`]: the loop on the reference clock's time.
//! - [`timing`]: how well it keeps its beat, while it runs (the paper's proc file).

pub mod board;
pub mod cyclic;
pub mod health;
pub mod phase;
pub mod timing;
