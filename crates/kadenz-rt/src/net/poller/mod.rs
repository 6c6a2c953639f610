//! Waiting for thousands of sockets of which few are ready, for servers.
//!
//! [`watch`](super::watch) passes every socket to the kernel for each wait, which is the quickest for a few; here
//! each is registered once, and a wait costs as much as there are sockets that changed.
//!
//! ```
//! use std::net::{TcpListener, TcpStream};
//! use kadenz_rt::net::poller::Poller;
//! use kadenz_rt::net::port::Wait;
//!
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let mut poller = Poller::new()?;
//! poller.add(&listener, 7)?;
//! let _peer = TcpStream::connect(listener.local_addr()?)?;
//! poller.wait(Wait::Forever)?;
//! assert!(poller.changes().any(|change| change.token == 7 && change.readable));
//! # Ok::<(), std::io::Error>(())
//! ```

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod portable;

use std::io;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use portable as system;

use super::port::Wait;
use super::watch::{Waker, Watched};

/// A change of a socket. The poller reports each change once: the caller then reads (or writes, or accepts) until
/// the call would block, or remembers that it has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    /// The number that the socket was added with.
    pub token: u64,
    /// Data arrived, or the connection ended, which a read shows.
    pub readable: bool,
    /// The send buffer has room again.
    pub writable: bool,
    /// The peer sends no more, or the connection failed: the caller must read to the end, even after a read that
    /// returned less than requested.
    pub ended: bool,
}

/// Waits for the sockets that were added. They must not block.
///
/// On Linux this is edge-triggered `epoll`; elsewhere every socket counts as changed once a
/// millisecond.
#[derive(Debug)]
pub struct Poller(system::SystemPoller);

impl Poller {
    /// Makes a poller without sockets.
    ///
    /// # Errors
    /// Where the process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        system::SystemPoller::create().map(Self)
    }

    /// Returns a handle that ends this poller's wait from another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.0.waker()
    }

    /// Adds a socket to the wait, until [`Poller::remove`]. `token` is any number but `u64::MAX`.
    ///
    /// # Errors
    /// Where the kernel has no memory for it, or the socket was added already.
    pub fn add(&mut self, socket: &impl Watched, token: u64) -> io::Result<()> {
        self.0.add(socket.number(), token)
    }

    /// Removes the socket with that number from the wait and closes it.
    pub fn remove(&mut self, token: u64) {
        self.0.remove(token);
    }

    /// Waits until a socket has changed, the waker was used, a signal was handled or the time is over,
    /// rounded up to a millisecond.
    ///
    /// # Errors
    /// Where the kernel refuses, which it does not for an open poller.
    ///
    /// # Real-time safety
    /// Real-time safe: one system call, no allocation, no lock.
    pub fn wait(&mut self, wait: Wait) -> io::Result<()> {
        self.0.wait(wait)
    }

    /// The changes that the last wait found: where there are many, some of them; the next wait reports others.
    pub fn changes(&self) -> impl Iterator<Item = Readiness> + '_ {
        self.0.changes()
    }
}

#[cfg(test)]
mod tests;
