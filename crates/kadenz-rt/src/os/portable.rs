//! The clock behind [`std::time::Instant`], for systems without a file of their own.

use std::sync::OnceLock;
use std::time::Instant;

/// The clock's name as runs record it.
#[cfg(target_os = "macos")]
pub(crate) const MONOTONIC_NAME: &str = "CLOCK_UPTIME_RAW";
/// The clock's name as runs record it.
#[cfg(windows)]
pub(crate) const MONOTONIC_NAME: &str = "QueryPerformanceCounter";
/// The clock's name as runs record it.
#[cfg(not(any(target_os = "macos", windows)))]
pub(crate) const MONOTONIC_NAME: &str = "std::time::Instant";

/// Nanoseconds since this process first asked.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = *START.get_or_init(Instant::now);
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
