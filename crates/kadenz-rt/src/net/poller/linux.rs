//! With `epoll`, and an event descriptor among the sockets.

use std::io;

use super::{Readiness, Wait, Waker};
use crate::clock;
use crate::net::watch::Wakes;
use crate::os::linux::epoll::Epoll;

/// The token of the event, among those of the sockets.
const WAKER: u64 = u64::MAX;

/// A poller with `epoll`, and the event that ends its wait.
#[derive(Debug)]
pub(super) struct SystemPoller {
    epoll: Epoll,
    wakes: Wakes,
}

impl SystemPoller {
    pub(super) fn create() -> io::Result<Self> {
        let parts = Self {
            epoll: Epoll::create().map_err(io::Error::from_raw_os_error)?,
            wakes: Wakes::create()?,
        };
        let added = parts.epoll.add_reading(parts.wakes.number(), WAKER);
        added.map_err(io::Error::from_raw_os_error)?;
        Ok(parts)
    }

    pub(super) fn waker(&self) -> Waker {
        self.wakes.waker()
    }

    pub(super) fn add(&mut self, number: i32, token: u64) -> io::Result<()> {
        let added = self.epoll.add(number, token);
        added.map_err(io::Error::from_raw_os_error)
    }

    /// Closing a socket removes it from the kernel's list.
    #[expect(clippy::unused_self, reason = "other systems must remember")]
    pub(super) fn remove(&mut self, _token: u64) {}

    pub(super) fn wait(&mut self, wait: Wait) -> io::Result<()> {
        let span_ms = match wait {
            Wait::Poll => Some(0),
            Wait::Forever => None,
            Wait::Until(end) => {
                let left = end.remaining(clock::now()).as_nanos().div_ceil(1_000_000);
                Some(u32::try_from(left).unwrap_or(u32::MAX))
            }
        };
        match self.epoll.wait(span_ms) {
            Ok(_) => {}
            Err(libc_error) => {
                let error = io::Error::from_raw_os_error(libc_error);
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
        if self.epoll.changes().any(|change| change.token == WAKER) {
            self.wakes.take();
        }
        Ok(())
    }

    pub(super) fn changes(&self) -> impl Iterator<Item = Readiness> + '_ {
        let sockets = self.epoll.changes().filter(|change| change.token != WAKER);
        sockets.map(|change| Readiness {
            token: change.token,
            readable: change.readable,
            writable: change.writable,
            ended: change.ended,
        })
    }
}
