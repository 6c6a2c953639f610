//! The control interface between the loop that drives a segment and everybody else (the paper's ECCI).
//!
//! - [`actuators`]: outputs that other threads set, one request a cycle.
//! - [`board`]: what the loop read last, for any number of readers, in this and in other processes.
//! - [`catalogue`]: what lies where on a board.
//! - [`cyclic`]: the loop itself.
//! - [`fault_codes`]: why drives failed, asked for beside the loop.
//! - [`ferry`]: the loop and its questions in one thread, for virtual time.
//! - [`health`]: what the loop tells of each cycle, for any number of threads.
//! - [`latency`]: how many cycles lie between a sensor, the controller and an actuator.
//! - [`locked`]: a board behind a lock that inherits priority, as the paper's.
//! - [`notice`]: what happens on the segment, told to any number of subscribers.
//! - [`phase`]: the loop on the reference clock's time.
//! - [`steward`]: brings devices to OP and back there while the loop runs.
//! - [`timing`]: how well it keeps its beat, while it runs (the paper's proc file).
//! - `desk`: where other processes reach a running loop.

pub mod actuators;
pub mod board;
pub mod catalogue;
pub mod cyclic;
pub mod fault_codes;
pub mod ferry;
pub mod health;
pub mod latency;
pub mod locked;
pub mod notice;
pub mod phase;
pub mod steward;
pub mod timing;

#[cfg(target_os = "linux")]
pub mod desk;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a mutex guards, also where somebody panicked with it. Waits.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
