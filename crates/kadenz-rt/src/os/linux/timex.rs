//! What the kernel knows of the wall clock's discipline: `adjtimex(2)`.

use std::mem::MaybeUninit;

/// What the kernel says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    /// `STA_*` of `timex.h`.
    pub(crate) status: i32,
    /// `TIME_*` of `timex.h`, what the call returned.
    pub(crate) state: i32,
    /// Largest error in microseconds, as whoever disciplines the clock set it; the kernel adds 500 a
    /// second (`ntp.c`, `MAXFREQ`).
    pub(crate) max_error_us: i64,
}

/// Reads without changing anything; `None` where that is forbidden, as in some sandboxes.
pub(crate) fn read() -> Option<Reading> {
    let mut timex = MaybeUninit::<libc::timex>::zeroed();
    // SAFETY: zeroed integers are a `timex` that asks for no change (`modes` 0); it lives while the
    // call writes to it.
    let state = unsafe { libc::adjtimex(timex.as_mut_ptr()) };
    if state < 0 {
        return None;
    }
    // SAFETY: it was all zeros, which is a valid value, before the kernel wrote its own.
    let timex = unsafe { timex.assume_init() };
    Some(Reading {
        status: timex.status,
        state,
        max_error_us: timex.maxerror,
    })
}
