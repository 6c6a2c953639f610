//! Waiting for many descriptors, of which few are ready: epoll(7), told of changes alone.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::errno;

/// At most so many descriptors are told of by one call.
const MAX_EVENTS: usize = 256;

/// Descriptors, each with a number of its owner's, which wait for changes.
pub(crate) struct Epoll {
    descriptor: OwnedFd,
    events: [libc::epoll_event; MAX_EVENTS],
    ready: usize,
}

/// What became of one descriptor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    pub(crate) token: u64,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The peer sends no more, or the connection failed.
    pub(crate) ended: bool,
}

impl std::fmt::Debug for Epoll {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Epoll");
        shown.field("descriptor", &self.descriptor);
        shown.finish_non_exhaustive()
    }
}

impl Epoll {
    pub(crate) fn create() -> Result<Self, i32> {
        // SAFETY: the call takes a number.
        let number = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if number < 0 {
            return Err(errno());
        }
        Ok(Self {
            // SAFETY: the call above has just opened this descriptor, and nothing else owns it.
            descriptor: unsafe { OwnedFd::from_raw_fd(number) },
            events: [libc::epoll_event { events: 0, u64: 0 }; MAX_EVENTS],
            ready: 0,
        })
    }

    /// Waits also for this descriptor, until it is closed.
    pub(crate) fn add(&self, fd: i32, token: u64) -> Result<(), i32> {
        let flags = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP;
        self.register(fd, token, flags)
    }

    /// The same, but for reading alone: an event that is read can be written again, which is no news.
    pub(crate) fn add_reading(&self, fd: i32, token: u64) -> Result<(), i32> {
        self.register(fd, token, libc::EPOLLIN)
    }

    fn register(&self, fd: i32, token: u64, flags: i32) -> Result<(), i32> {
        let flags = flags | libc::EPOLLET;
        let mut event = libc::epoll_event {
            events: flags.cast_unsigned(),
            u64: token,
        };
        // SAFETY: the event is live; a descriptor that is not open is refused.
        let outcome = unsafe {
            libc::epoll_ctl(
                self.descriptor.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                fd,
                &raw mut event,
            )
        };
        if outcome < 0 { Err(errno()) } else { Ok(()) }
    }

    /// Waits until something has changed, or so many milliseconds, or without end for `None`. An error
    /// of `EINTR` tells of a signal.
    pub(crate) fn wait(&mut self, span_ms: Option<u32>) -> Result<usize, i32> {
        self.ready = 0;
        let span = span_ms.map_or(-1, |span| i32::try_from(span).unwrap_or(i32::MAX));
        // SAFETY: the array is live and has as many entries as are told.
        let ready = unsafe {
            libc::epoll_wait(
                self.descriptor.as_raw_fd(),
                self.events.as_mut_ptr(),
                MAX_EVENTS as i32,
                span,
            )
        };
        if ready < 0 {
            return Err(errno());
        }
        self.ready = ready.unsigned_abs() as usize;
        Ok(self.ready)
    }

    /// What the last wait has found.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change> + '_ {
        self.events[..self.ready].iter().map(|event| {
            let has = |flags: i32| event.events & flags.cast_unsigned() != 0;
            let ended = has(libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR);
            Change {
                token: event.u64,
                readable: has(libc::EPOLLIN) || ended,
                writable: has(libc::EPOLLOUT),
                ended,
            }
        })
    }
}
