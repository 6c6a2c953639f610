//! Waiting for thousands of sockets of which few are ready, for servers.
//!
//! [`watch`](super::watch) asks about every socket each time, which is the quickest for a few;
//! here each is registered once, and a wait costs as much as there are sockets that changed.
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

/// What became of a socket. A change is told once: whoever hears of one reads (or writes, or accepts)
/// until there is nothing more to be done, or remembers that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    /// The number that the socket was added with.
    pub token: u64,
    /// Something came, or the connection ended, which reading tells.
    pub readable: bool,
    /// There is room again for what is to be sent.
    pub writable: bool,
    /// The peer sends no more, or the connection failed: reading must go on to its end, also where it
    /// gave less than was asked for.
    pub ended: bool,
}

/// Waits for the sockets that were added. They must not block.
///
/// On Linux this is edge-triggered `epoll`; elsewhere every socket counts as changed once a
/// millisecond.
#[derive(Debug)]
pub struct Poller(system::SystemPoller);

impl Poller {
    /// One without sockets.
    ///
    /// # Errors
    /// Where the process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        system::SystemPoller::create().map(Self)
    }

    /// A way to end its wait from another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.0.waker()
    }

    /// Waits also for this socket, until [`Poller::remove`]. `token` is any number but `u64::MAX`.
    ///
    /// # Errors
    /// Where the kernel has no memory for it, or the socket was added already.
    pub fn add(&mut self, socket: &impl Watched, token: u64) -> io::Result<()> {
        self.0.add(socket.number(), token)
    }

    /// Waits no more for the socket with that number, which is then closed.
    pub fn remove(&mut self, token: u64) {
        self.0.remove(token);
    }

    /// Waits until a socket has changed, the waker was used, a signal was handled or the time is over,
    /// rounded up to a millisecond.
    ///
    /// # Errors
    /// Where the kernel refuses, which it does not for a poller that was made.
    ///
    /// # Real-time safety
    /// Real-time safe: one system call, no allocation, no lock.
    pub fn wait(&mut self, wait: Wait) -> io::Result<()> {
        self.0.wait(wait)
    }

    /// What the last wait has found: some of the changes, where there are many; the next wait tells
    /// others.
    pub fn changes(&self) -> impl Iterator<Item = Readiness> + '_ {
        self.0.changes()
    }
}

#[cfg(test)]
mod tests;
