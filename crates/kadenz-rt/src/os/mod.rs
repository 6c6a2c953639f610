//! What the operating system offers, behind safe functions; a file each system.
//!
//! `unsafe` stands here so that it need not stand elsewhere. Nothing here decides anything.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
pub(crate) mod linux;
#[cfg(target_os = "macos")]
pub(crate) mod macos;
#[cfg(not(target_os = "linux"))]
mod portable;
#[cfg(windows)]
pub(crate) mod windows;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64;

#[cfg(target_os = "linux")]
pub(crate) use linux::clock::{MONOTONIC_NAME, monotonic_ns, monotonic_raw_ns};
#[cfg(target_os = "linux")]
pub(crate) use linux::sleep::nanosleep_for;
#[cfg(target_os = "macos")]
pub(crate) use macos::nanosleep_for;
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::{MONOTONIC_NAME, monotonic_ns};

/// The effective user of this process, by number.
#[cfg(unix)]
#[must_use]
pub fn user() -> u32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}
