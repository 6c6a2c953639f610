//! The calls of the operating systems, behind safe functions; a file for each system.
//!
//! `unsafe` stands here so that it need not stand elsewhere. This module makes no decisions.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
pub(crate) mod linux;
#[cfg(target_os = "macos")]
pub(crate) mod macos;
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

/// The effective user of this process, by number.
#[cfg(unix)]
#[must_use]
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The clock's name as runs record it.
#[cfg(target_os = "macos")]
pub(crate) const MONOTONIC_NAME: &str = "CLOCK_UPTIME_RAW";
/// The clock's name as runs record it.
#[cfg(windows)]
pub(crate) const MONOTONIC_NAME: &str = "QueryPerformanceCounter";
/// The clock's name as runs record it.
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
pub(crate) const MONOTONIC_NAME: &str = "std::time::Instant";

/// Nanoseconds since the first call in this process, by the clock behind [`std::time::Instant`].
#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;

    static START: OnceLock<Instant> = OnceLock::new();
    let start = *START.get_or_init(Instant::now);
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
