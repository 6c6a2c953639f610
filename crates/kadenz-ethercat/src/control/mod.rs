//! The control interface between the loop that drives a segment and everybody else (the paper's ECCI).
//!
//! - [`board`]: what the loop read last, for any number of readers, in this and in other processes.

pub mod board;
