//! Waiting for a socket, and ending that wait from another thread.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use rustix::event::{EventfdFlags, eventfd};

use super::super::clock::timespec_of_ns;
use super::super::{errno, number};
use super::socket::Socket;

/// A counter that a thread can wait for.
#[derive(Debug)]
pub(crate) struct Event(OwnedFd);

impl Event {
    pub(crate) fn create() -> Result<Self, i32> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        number(eventfd(0, flags)).map(Self)
    }

    /// The number of its descriptor.
    pub(crate) fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Ends waits, until [`Event::clear`].
    pub(crate) fn signal(&self) {
        // The write fails only where the counter is full, and then it ends waits already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Lets later waits wait.
    pub(crate) fn clear(&self) {
        // The read fails only where there is nothing to clear.
        let _ = rustix::io::read(&self.0, &mut [0_u8; 8]);
    }
}

/// What ended a wait; nothing of it when its time was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ready {
    /// Something stands in the socket's error queue, or an error is to be fetched.
    pub(crate) error: bool,
    pub(crate) event: bool,
}

/// Waits until the socket has something to read or an error, or the event was signalled, where there
/// is one; no longer than a span. An error of `EINTR` tells of a signal.
pub(crate) fn wait(
    socket: &Socket,
    event: Option<&Event>,
    span_ns: Option<u64>,
) -> Result<Ready, i32> {
    let of = |fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // One with a negative number is left out (poll(2)).
    let event = event.map_or(-1, |event| event.0.as_raw_fd());
    let mut descriptors = [of(socket.number()), of(event)];
    let span = timespec_of_ns(span_ns.unwrap_or(0));
    let timeout = if span_ns.is_some() {
        &raw const span
    } else {
        ptr::null()
    };
    // SAFETY: the two descriptors are live and open; the time is live and normalised, or null for no
    // limit; a null mask leaves the signal mask as it is.
    let outcome = unsafe { libc::ppoll(descriptors.as_mut_ptr(), 2, timeout, ptr::null()) };
    if outcome < 0 {
        return Err(errno());
    }
    Ok(Ready {
        error: descriptors[0].revents & libc::POLLERR != 0,
        event: descriptors[1].revents != 0,
    })
}

/// Waits until what the socket has sent leaves room for more, no longer than a span; whether it has.
pub(crate) fn for_room(socket: &Socket, at_most: std::time::Duration) -> bool {
    let mut descriptor = libc::pollfd {
        fd: socket.number(),
        events: libc::POLLOUT,
        revents: 0,
    };
    let span = timespec_of_ns(u64::try_from(at_most.as_nanos()).unwrap_or(u64::MAX));
    // SAFETY: the descriptor and the time are live; a null mask leaves the signal mask as it is.
    let outcome = unsafe { libc::ppoll(&raw mut descriptor, 1, &raw const span, ptr::null()) };
    outcome > 0 && descriptor.revents & libc::POLLOUT != 0
}
