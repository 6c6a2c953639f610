//! The control interface between the loop that drives a segment and all other threads and processes: the ECCI
//! of \[Yoon2009\].
//!
//! - [`output_requests`]: outputs that other threads set, one request a cycle.
//! - [`process_image`]: what the loop read last, for any number of readers, in this and in other processes.
//! - [`catalogue`]: the layout of a process image.
//! - [`cyclic`]: the loop itself.
//! - [`inline_loop`]: the loop and its questions in one thread, for virtual time.
//! - [`health`]: the loop's record of each cycle, for any number of threads.
//! - [`latency`]: the number of cycles between a sensor, the controller and an actuator.
//! - [`locked`]: a process image behind a lock that inherits priority, as in \[Yoon2009\].
//! - [`notice`]: notices of events on the segment, for any number of subscribers.
//! - [`phase`]: the lock of the loop to the reference clock's time.
//! - [`supervisor`]: brings devices to OP and back there while the loop runs.
//! - [`timing`]: statistics of the loop's timing, while it runs (the proc file of \[Yoon2009\]).

pub mod catalogue;
pub mod cyclic;
pub mod health;
pub mod inline_loop;
pub mod latency;
pub mod locked;
pub mod notice;
pub mod output_requests;
pub mod phase;
pub mod process_image;
pub mod supervisor;
pub mod timing;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also where a thread panicked with it. Waits.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
