//! Waiting for several descriptors: ppoll(2).

use std::ptr;

use super::clock::timespec_of_ns;
use super::errno;

/// Descriptors to wait for, by their places.
#[derive(Debug, Default)]
pub(crate) struct Polled(Vec<libc::pollfd>);

impl Polled {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a descriptor that is to be read, and also to be written where that is said.
    pub(crate) fn push(&mut self, fd: i32, writes: bool) {
        let writing = if writes { libc::POLLOUT } else { 0 };
        self.0.push(libc::pollfd {
            fd,
            events: libc::POLLIN | writing,
            revents: 0,
        });
    }

    /// Waits until one is ready, or so long; how many are. An error of `EINTR` tells of a signal.
    pub(crate) fn wait(&mut self, span_ns: Option<u64>) -> Result<usize, i32> {
        let span = timespec_of_ns(span_ns.unwrap_or(0));
        let timeout = if span_ns.is_some() {
            &raw const span
        } else {
            ptr::null()
        };
        let count = self.0.len() as libc::nfds_t;
        // SAFETY: the array is live and has as many entries as are told; the time is live and
        // normalised, or null for no limit; a null mask leaves the signal mask as it is. A
        // descriptor that is not open is marked, not followed.
        let ready = unsafe { libc::ppoll(self.0.as_mut_ptr(), count, timeout, ptr::null()) };
        if ready < 0 {
            self.0.iter_mut().for_each(|one| one.revents = 0);
            return Err(errno());
        }
        Ok(ready.unsigned_abs() as usize)
    }

    /// Whether something can be read there, or has ended or failed, which reading tells.
    pub(crate) fn reads(&self, place: usize) -> bool {
        self.0
            .get(place)
            .is_some_and(|one| one.revents & !libc::POLLOUT != 0)
    }

    /// Whether something can be written there.
    pub(crate) fn writes(&self, place: usize) -> bool {
        self.0
            .get(place)
            .is_some_and(|one| one.revents & libc::POLLOUT != 0)
    }
}
