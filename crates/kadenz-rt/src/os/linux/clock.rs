//! Reading clocks.

use std::mem::MaybeUninit;
use std::time::Duration;

use libc::{clockid_t, timespec};
use rustix::time::{ClockId, Timespec, clock_getres};

/// The sleep clock's name as runs record it.
pub(crate) const MONOTONIC_NAME: &str = "CLOCK_MONOTONIC";

const NS_A_SECOND: u64 = 1_000_000_000;

/// Nanoseconds on `CLOCK_MONOTONIC`.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds on `CLOCK_MONOTONIC_RAW`.
#[inline]
pub(crate) fn monotonic_raw_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC_RAW)
}

/// Processor time this thread has used, in nanoseconds.
#[inline]
pub(crate) fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Resolution of `CLOCK_MONOTONIC`.
pub(crate) fn monotonic_resolution() -> Option<Duration> {
    resolution(ClockId::Monotonic)
}

/// The kernel's tick, which its coarse timers count.
pub(crate) fn tick() -> Option<Duration> {
    resolution(ClockId::MonotonicCoarse)
}

fn resolution(clock: ClockId) -> Option<Duration> {
    Duration::try_from(clock_getres(clock)).ok()
}

#[inline]
fn read(clock: clockid_t) -> u64 {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a live timespec for the call to write to. The three clocks above exist on
    // every Linux that Rust supports, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * NS_A_SECOND + time.tv_nsec as u64
}

/// A number of nanoseconds as a `timespec`.
#[inline]
pub(crate) fn timespec_of_ns(ns: u64) -> timespec {
    // Both parts fit: u64::MAX ns are 18 billion seconds, and the rest is below a billion.
    timespec {
        tv_sec: (ns / NS_A_SECOND) as libc::time_t,
        tv_nsec: (ns % NS_A_SECOND) as libc::c_long,
    }
}

/// The same span for rustix.
#[inline]
pub(crate) fn span_of_ns(ns: u64) -> Timespec {
    let time = timespec_of_ns(ns);
    Timespec {
        tv_sec: time.tv_sec,
        tv_nsec: time.tv_nsec,
    }
}

/// The kernel's state of the wall clock's discipline: `adjtimex(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Discipline {
    /// `STA_*` of `timex.h`.
    pub(crate) status: i32,
    /// `TIME_*` of `timex.h`, the call's return value.
    pub(crate) state: i32,
    /// Largest error in microseconds, as set by the daemon that disciplines the clock; the kernel adds 500 a second
    /// (`ntp.c`, `MAXFREQ`).
    pub(crate) max_error_us: i64,
}

/// Reads without changing anything; returns `None` where that is forbidden, as in some sandboxes.
pub(crate) fn discipline() -> Option<Discipline> {
    let mut timex = MaybeUninit::<libc::timex>::zeroed();
    // SAFETY: zeroed integers are a `timex` that asks for no change (`modes` 0); it lives while the
    // call writes to it.
    let state = unsafe { libc::adjtimex(timex.as_mut_ptr()) };
    if state < 0 {
        return None;
    }
    // SAFETY: it was all zeros, which is a valid value, before the kernel wrote its own.
    let timex = unsafe { timex.assume_init() };
    Some(Discipline {
        status: timex.status,
        state,
        max_error_us: timex.maxerror,
    })
}
