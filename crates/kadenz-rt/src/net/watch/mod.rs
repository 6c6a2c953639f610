//! Waiting for several sockets at once, with a waker, for threads that read them themselves.
//!
//! ```
//! use std::net::{TcpListener, TcpStream};
//! use kadenz_rt::net::port::Wait;
//! use kadenz_rt::net::watch::{Interest, Watch, Woke};
//!
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let mut watch = Watch::new()?;
//! let place = watch.add(&listener, Interest::Read);
//! let _peer = TcpStream::connect(listener.local_addr()?)?;
//! assert_eq!(watch.wait(Wait::Forever)?, Woke::Ready);
//! assert!(watch.readable(place));
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

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Until it can be read, accepted from, or has ended.
    Read,
    /// Also until it can be written.
    ReadAndWrite,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woke {
    /// At least one socket is ready.
    Ready,
    /// Nothing was, until the deadline.
    Nothing,
    /// A [`Waker`] was used.
    Woken,
    /// A signal was handled by this thread.
    Interrupted,
}

/// Waits for the sockets that were added. They must not block.
///
/// On Linux this is `ppoll`; elsewhere every socket counts as ready once a millisecond, for there is no
/// portable way to wait for several.
#[derive(Debug)]
pub struct Watch(system::SystemWatch);

impl Watch {
    /// One without sockets.
    ///
    /// # Errors
    /// Where the process has no descriptor left for the waker.
    pub fn new() -> io::Result<Self> {
        system::SystemWatch::create().map(Self)
    }

    /// A way to end its wait from another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(self.0.waker())
    }

    /// Forgets the sockets.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a socket and returns its place. Allocates only where there were never so many.
    pub fn add(&mut self, socket: &impl Watched, interest: Interest) -> usize {
        self.0.add(socket.number(), interest)
    }

    /// Waits.
    ///
    /// # Errors
    /// Where the kernel has no memory for it.
    ///
    /// # Real-time safety
    /// Real-time safe: one system call, no allocation, no lock.
    pub fn wait(&mut self, wait: Wait) -> io::Result<Woke> {
        self.0.wait(wait)
    }

    /// Whether the socket at this place could be read when the wait ended, or has ended or failed.
    #[must_use]
    pub fn readable(&self, place: usize) -> bool {
        self.0.readable(place)
    }

    /// Whether the socket at this place could be written when the wait ended.
    #[must_use]
    pub fn writable(&self, place: usize) -> bool {
        self.0.writable(place)
    }
}

/// Ends a wait from another thread. Using it while nobody waits ends the next wait.
#[derive(Debug, Clone)]
pub struct Waker(system::SystemWaker);

impl Waker {
    /// Ends the wait.
    ///
    /// # Real-time safety
    /// Real-time safe: no lock, at most one system call.
    pub fn wake(&self) {
        self.0.wake();
    }
}

/// A waker's other side, for whoever waits by other means.
#[derive(Debug)]
pub(super) struct Wakes(system::SystemWaker);

impl Wakes {
    pub(super) fn create() -> io::Result<Self> {
        system::SystemWaker::create().map(Self)
    }

    pub(super) fn waker(&self) -> Waker {
        Waker(self.0.clone())
    }

    /// The system's number of what can be read once somebody woke.
    #[cfg(target_os = "linux")]
    pub(super) fn number(&self) -> i32 {
        self.0.number()
    }

    /// Whether somebody woke since the last time.
    pub(super) fn take(&self) -> bool {
        self.0.take()
    }
}

/// A socket that can be waited for.
pub trait Watched: sealed::Sealed {
    /// The system's number of it; -1 where sockets have none.
    fn number(&self) -> i32;
}

mod sealed {
    /// Who may be [`Watched`](super::Watched).
    pub trait Sealed {}
}

macro_rules! watched {
    ($($socket:ty),*) => {
        $(
            impl sealed::Sealed for $socket {}
            impl Watched for $socket {
                #[cfg(unix)]
                fn number(&self) -> i32 {
                    std::os::fd::AsRawFd::as_raw_fd(self)
                }
                #[cfg(not(unix))]
                fn number(&self) -> i32 {
                    -1
                }
            }
        )*
    };
}

watched!(std::net::TcpStream, std::net::TcpListener);
#[cfg(unix)]
watched!(
    std::os::unix::net::UnixStream,
    std::os::unix::net::UnixListener
);

#[cfg(test)]
mod tests;
