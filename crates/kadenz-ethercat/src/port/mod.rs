//! What frames cross between a MainDevice and a segment.
//!
//! A [`Port`] also keeps the time, so that one whose time is virtual lets everything above it be tested
//! without waiting.

#[cfg(target_os = "linux")]
mod packet;
mod pair;

use std::io;

use kadenz_rt::clock::MonotonicTime;

#[cfg(target_os = "linux")]
pub use packet::{InterfacePort, RingPort, WaitMode};
pub use pair::{PairPort, pair};

/// A network port of the MainDevice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The first.
    Primary,
    /// The second, where a ring comes back.
    Redundant,
}

/// Sends and receives whole Ethernet frames, from their header on.
///
/// # Real-time safety
/// Real-time safety of every implementation: no method allocates or locks, and none but
/// [`wait`](Port::wait) waits.
pub trait Port {
    /// The time by this port's clock.
    fn now(&self) -> MonotonicTime;

    /// Hands a frame to the wire.
    ///
    /// # Errors
    /// When the wire is down or gone, or takes no more now: the frame is not sent then.
    fn send(&mut self, frame: &[u8]) -> io::Result<()>;

    /// The next frame that has come, copied into `frame`, by its length; `None` when there is none now.
    /// What does not fit is cut.
    fn receive(&mut self, frame: &mut [u8]) -> Option<usize>;

    /// Waits until there is a frame or the time has come; whether there is a frame. May end early.
    ///
    /// # Errors
    /// When it cannot wait.
    fn wait(&mut self, until: MonotonicTime) -> io::Result<bool>;

    /// Whether it has a second side, where a ring of cables comes back.
    fn has_second(&self) -> bool {
        false
    }

    /// As [`send`](Port::send), by a side.
    ///
    /// # Errors
    /// As there, and where there is no such side.
    fn send_by(&mut self, side: Side, frame: &[u8]) -> io::Result<()> {
        match side {
            Side::Primary => self.send(frame),
            Side::Redundant => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// As [`receive`](Port::receive), with the side at which it came.
    fn receive_from(&mut self, frame: &mut [u8]) -> Option<(Side, usize)> {
        Some((Side::Primary, self.receive(frame)?))
    }
}

impl<P: Port + ?Sized> Port for Box<P> {
    fn now(&self) -> MonotonicTime {
        (**self).now()
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        (**self).send(frame)
    }

    fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        (**self).receive(frame)
    }

    fn wait(&mut self, until: MonotonicTime) -> io::Result<bool> {
        (**self).wait(until)
    }

    fn has_second(&self) -> bool {
        (**self).has_second()
    }

    fn send_by(&mut self, side: Side, frame: &[u8]) -> io::Result<()> {
        (**self).send_by(side, frame)
    }

    fn receive_from(&mut self, frame: &mut [u8]) -> Option<(Side, usize)> {
        (**self).receive_from(frame)
    }
}
