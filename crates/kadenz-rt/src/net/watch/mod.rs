//! Waiting for several sockets at once, with a waker, for threads that read them themselves.
//!
//! ```
//! use std::net::{TcpListener, TcpStream};
//! use kadenz_rt::net::port::Wait;
//! use kadenz_rt::net::watch::{Interest, Watch, WakeCause};
//!
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let mut watch = Watch::new()?;
//! let place = watch.add(&listener, Interest::Read);
//! let _peer = TcpStream::connect(listener.local_addr()?)?;
//! assert_eq!(watch.wait(Wait::Forever)?, WakeCause::Ready);
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

/// The readiness to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Until the socket can be read or accepted from, or has ended.
    Read,
    /// Also until the socket can be written.
    ReadAndWrite,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeCause {
    /// At least one socket is ready.
    Ready,
    /// No socket was ready until the deadline.
    Nothing,
    /// A [`Waker`] was used.
    Woken,
    /// This thread handled a signal.
    Interrupted,
}

/// Waits for the sockets that were added. They must not block.
///
/// On Linux this is `ppoll`; elsewhere every socket counts as ready once a millisecond, since there is no portable
/// way to wait for several.
#[derive(Debug)]
pub struct Watch(system::SystemWatch);

impl Watch {
    /// Makes a watch without sockets.
    ///
    /// # Errors
    /// Where the process has no descriptor left for the waker.
    pub fn new() -> io::Result<Self> {
        system::SystemWatch::create().map(Self)
    }

    /// Returns a handle that ends this watch's wait from another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(self.0.waker())
    }

    /// Removes all sockets.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a socket and returns its place.
    ///
    /// # Real-time safety
    /// It allocates only when the watch holds more sockets than ever before.
    pub fn add(&mut self, socket: &impl Watched, interest: Interest) -> usize {
        self.0.add(socket.number(), interest)
    }

    /// Waits until a socket is ready, the waker is used, a signal is handled or the time is over.
    ///
    /// # Errors
    /// Where the kernel has no memory for it.
    ///
    /// # Real-time safety
    /// Real-time safe: one system call, no allocation, no lock.
    pub fn wait(&mut self, wait: Wait) -> io::Result<WakeCause> {
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

/// Ends a wait from another thread. If no thread waits, the next wait ends at once.
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

/// The receiving side of a waker, for a thread that waits by other means.
#[derive(Debug)]
pub(super) struct Wakes(system::SystemWaker);

impl Wakes {
    pub(super) fn create() -> io::Result<Self> {
        system::SystemWaker::create().map(Self)
    }

    pub(super) fn waker(&self) -> Waker {
        Waker(self.0.clone())
    }

    /// The descriptor that becomes readable once a waker is used.
    #[cfg(target_os = "linux")]
    pub(super) fn number(&self) -> i32 {
        self.0.number()
    }

    /// Returns whether a waker was used since the last call.
    pub(super) fn take(&self) -> bool {
        self.0.take()
    }
}

/// A socket that can be waited for.
pub trait Watched: sealed::Sealed {
    /// The socket's descriptor; -1 where sockets have none.
    fn number(&self) -> i32;
}

mod sealed {
    /// Restricts [`Watched`](super::Watched) to the types of this crate's choice.
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
