//! Cameras for control loops: the newest frame, in the layout a program wants, with its age.
//!
//! A [`source`] receives encoded pictures from a camera, a [`decode`]r makes [`picture`]s of them, a [`layout`]
//! converts a picture into the bytes that a program wants, and a [`ring`] in shared memory holds the newest ones for
//! readers in any process and any language. [`server`] runs the four on threads of its own; a program opens a
//! [`Camera`], or a stereo pair as a [`CameraGroup`].
//!
//! The wire formats (`wire`) are sans-IO: bytes and a time in, bytes and events out. The simulator
//! ([`sim`]) is a camera for tests: it scripts jitter, loss, stalls and reboots, and paints the number and
//! the time of each frame into its pixels, so that a latency is measured from the picture itself.

pub mod barcode;
#[cfg(target_os = "linux")]
pub mod client;
pub mod decode;
pub mod layout;
pub mod picture;
#[cfg(target_os = "linux")]
pub mod ring;
#[cfg(target_os = "linux")]
pub mod server;
pub mod sim;
pub mod source;
// Public for fuzz targets alone.
#[doc(hidden)]
pub mod wire;

#[cfg(target_os = "linux")]
pub use client::{Camera, CameraGroup};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after a thread panicked with it: its counters and buffers are consistent at any time.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
