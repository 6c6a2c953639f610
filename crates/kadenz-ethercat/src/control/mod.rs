//! The control interface between the loop that drives a segment and everybody else (Yoon's ECCI).
//!
//! - [`actuators`]: outputs that other threads set, one request a cycle.
//! - [`process_image`]: what the loop read last, for any number of readers, in this and in other processes.
//! - [`catalogue`]: what lies where on a process image.
//! - [`cyclic`]: the loop itself.
//! - [`inline_loop`]: the loop and its questions in one thread, for virtual time.
//! - [`health`]: what the loop tells of each cycle, for any number of threads.
//! - [`latency`]: how many cycles lie between a sensor, the controller and an actuator.
//! - [`locked`]: a process image behind a lock that inherits priority, as Yoon's.
//! - [`notice`]: what happens on the segment, told to any number of subscribers.
//! - [`phase`]: the loop on the reference clock's time.
//! - [`supervisor`]: brings devices to OP and back there while the loop runs.
//! - [`timing`]: how well it keeps its beat, while it runs (Yoon's proc file).

pub mod actuators;
pub mod catalogue;
pub mod cyclic;
pub mod health;
pub mod inline_loop;
pub mod latency;
pub mod locked;
pub mod notice;
pub mod phase;
pub mod process_image;
pub mod supervisor;
pub mod timing;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a mutex guards, also where somebody panicked with it. Waits.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
