//! The surroundings of a loop that runs with its axes: its threads, and the socket by which other processes reach
//! it.
//!
//! - [`threads`]: the loop's thread and those beside it, and how they end together.
//! - [`fault_codes`]: why drives failed, read from the drives beside the loop.
//! - `control_socket`: the socket by which other processes reach a running loop.

#[cfg(target_os = "linux")]
pub mod control_socket;
pub mod fault_codes;
pub mod threads;
