//! The carriers of frames between a MainDevice and a segment.
//!
//! A [`Port`] also keeps the time. With a port whose time is virtual, tests of everything above it need
//! not wait.

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
    /// The first port.
    Primary,
    /// The second port, where a ring comes back.
    Redundant,
}

/// Sends and receives whole Ethernet frames, from their header on.
///
/// # Real-time safety
/// Of every implementation: no method allocates, and none but [`wait`](Port::wait) waits, be it for frames or for a
/// lock.
pub trait Port {
    /// The time by this port's clock.
    fn now(&self) -> MonotonicTime;

    /// Hands a frame to the wire.
    ///
    /// # Errors
    /// When the wire is down or gone, or takes no more frames now: the frame is not sent then.
    fn send(&mut self, frame: &[u8]) -> io::Result<()>;

    /// Copies the next received frame into `frame` and returns its length; `None` when there is none
    /// now. A frame that does not fit is truncated.
    fn receive(&mut self, frame: &mut [u8]) -> Option<usize>;

    /// Waits until there is a frame, or until the time; returns whether there is a frame. May end
    /// early.
    ///
    /// # Errors
    /// When the port cannot wait.
    fn wait(&mut self, until: MonotonicTime) -> io::Result<bool>;

    /// Whether the port has a second side, where a ring of cables comes back.
    fn has_second(&self) -> bool {
        false
    }

    /// Whether other programs may send on the same wire.
    fn is_shared(&self) -> bool {
        false
    }

    /// As [`send`](Port::send), by the given side.
    ///
    /// # Errors
    /// As [`send`](Port::send), and where there is no such side.
    fn send_by(&mut self, side: Side, frame: &[u8]) -> io::Result<()> {
        match side {
            Side::Primary => self.send(frame),
            Side::Redundant => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// As [`receive`](Port::receive), with the side at which the frame came.
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

    fn is_shared(&self) -> bool {
        (**self).is_shared()
    }

    fn send_by(&mut self, side: Side, frame: &[u8]) -> io::Result<()> {
        (**self).send_by(side, frame)
    }

    fn receive_from(&mut self, frame: &mut [u8]) -> Option<(Side, usize)> {
        (**self).receive_from(frame)
    }
}
