//! Calls that sleep. Each returns when the kernel does, also after a signal; callers loop.

use super::clock::timespec_of_ns;
use std::ptr;

/// Sleeps until a point on `CLOCK_MONOTONIC`. False when a signal ended the sleep.
#[inline]
pub(crate) fn nanosleep_until(deadline_ns: u64) -> bool {
    let deadline = timespec_of_ns(deadline_ns);
    // SAFETY: `deadline` is a live, normalised timespec; an absolute sleep writes no remainder, so
    // the last argument may be null.
    let outcome = unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const deadline,
            ptr::null_mut(),
        )
    };
    outcome == 0
}

/// Sleeps for a span. False when a signal ended the sleep.
#[inline]
pub(crate) fn nanosleep_for(span_ns: u64) -> bool {
    let span = timespec_of_ns(span_ns);
    // SAFETY: `span` is a live, normalised timespec; the remainder may be null.
    unsafe { libc::nanosleep(&raw const span, ptr::null_mut()) == 0 }
}

/// Waits on no descriptors for a span, with `ppoll`, whose timeout is in nanoseconds.
/// False when a signal ended the wait.
#[inline]
pub(crate) fn poll_for(span_ns: u64) -> bool {
    let span = timespec_of_ns(span_ns);
    // SAFETY: with a count of zero no descriptor is read through the null pointer; `span` is a
    // live timespec; a null mask leaves the signal mask as it is.
    unsafe { libc::ppoll(ptr::null_mut(), 0, &raw const span, ptr::null()) == 0 }
}
