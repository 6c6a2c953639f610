//! A timer read through a file descriptor.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use super::clock::timespec_of_ns;

/// A one-shot timer on `CLOCK_MONOTONIC`.
#[derive(Debug)]
pub(crate) struct TimerFd(OwnedFd);

impl TimerFd {
    /// Creates a timer that is not armed.
    pub(crate) fn create() -> io::Result<Self> {
        // SAFETY: the call takes no pointers.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just opened and nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Arms the timer for a point on the clock; a point in the past fires at once.
    #[inline]
    pub(crate) fn arm(&self, deadline_ns: u64) {
        let timer = libc::itimerspec {
            it_interval: timespec_of_ns(0),
            // Zero would disarm it.
            it_value: timespec_of_ns(deadline_ns.max(1)),
        };
        // SAFETY: `timer` is live and normalised, the descriptor is a timerfd that `self` owns,
        // and the old value may be null. With these arguments the call cannot fail.
        unsafe {
            libc::timerfd_settime(
                self.0.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &raw const timer,
                ptr::null_mut(),
            );
        }
    }

    /// Blocks until the timer has fired. False when a signal ended the wait.
    #[inline]
    pub(crate) fn wait(&self) -> bool {
        let mut fired = 0_u64;
        // SAFETY: a timerfd writes eight bytes, which is the size of `fired`.
        let read = unsafe {
            libc::read(
                self.0.as_raw_fd(),
                (&raw mut fired).cast(),
                size_of::<u64>(),
            )
        };
        read == size_of::<u64>() as isize
    }
}
