//! A UDP port for real-time loops.
//!
//! A [`UdpPort`] takes many datagrams by one system call into an [`Inbox`] that was made before the
//! loop, waits for them until a deadline on the sleep clock, and tells for each when the kernel or
//! the network card saw it. What was asked of the kernel and refused stands in [`GrantedPort`], with the
//! command that mends it.
//!
//! On systems other than Linux the port is an ordinary socket of the standard library: it gives no
//! stamps, and [`GrantedPort`] says so.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_rt::clock;
//! use kadenz_rt::net::port::{Inbox, PortOptions, Reception, UdpPort, Wait};
//!
//! let mut device = UdpPort::open(&PortOptions::default())?;
//! let mut controller = UdpPort::open(&PortOptions {
//!     peer: Some(device.local_address()),
//!     ..PortOptions::default()
//! })?;
//! controller.send(b"where are you?")?;
//!
//! let mut inbox = Inbox::new(16, 1500);
//! let wait = Wait::Until(clock::now() + Duration::from_secs(30));
//! assert_eq!(device.receive_batch(&mut inbox, wait)?, Reception::Datagrams(1));
//! let question = inbox.datagram(0).unwrap();
//! assert_eq!(question.bytes, b"where are you?");
//! assert_eq!(question.from, controller.local_address());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Real-time safety
//! After their creation a port, its inbox and its outbox allocate nothing, lock nothing and log
//! nothing. Each method says how many system calls it makes.

mod error;
mod inbox;
#[cfg(target_os = "linux")]
mod linux;
mod options;
mod outbox;
#[cfg(not(target_os = "linux"))]
mod portable;

use std::net::SocketAddr;
use std::time::Duration;

pub use error::{NetworkError, OpenPortError, ReceiveError, SendError};
pub use inbox::{Datagram, Inbox};
pub use options::{Fragmentation, GrantedPort, Multicast, PortOptions, Stamping, Standing};
pub use outbox::{Departures, Outbox, OutboxFull};

use crate::clock::{MonotonicTime, PhcTime, WallTime};
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use portable as system;

/// A UDP socket for one real-time loop.
///
/// One thread owns it; [`UdpPort::waker`] gives others a way to end its wait, and
/// [`UdpPort::try_clone`] a second handle for a thread that only receives.
#[derive(Debug)]
pub struct UdpPort {
    system: system::Port,
    local: SocketAddr,
    peer: Option<SocketAddr>,
    granted: GrantedPort,
}

impl UdpPort {
    /// Opens a port and asks the kernel for what the options want. What it refuses but a loop can do
    /// without is told by [`UdpPort::granted`].
    ///
    /// # Errors
    /// Where there is no socket to be had, or its address, interface or peer is refused.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    pub fn open(options: &PortOptions) -> Result<Self, OpenPortError> {
        let (system, granted) = system::Port::open(options)?;
        let local = system.local_address()?;
        Ok(Self {
            system,
            local,
            peer: options.peer,
            granted,
        })
    }

    /// The address datagrams must be sent to; its port is never zero.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Where [`UdpPort::send`] sends to, and the only one that is heard; `None` for everyone.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// What the kernel granted of what was asked.
    #[must_use]
    pub fn granted(&self) -> &GrantedPort {
        &self.granted
    }

    /// A way to end this port's wait from another thread.
    #[must_use]
    pub fn waker(&self) -> PortWaker {
        self.system.waker()
    }

    /// A second handle on the same socket, to receive on a thread of its own while this one sends.
    ///
    /// Both handles draw from one queue of datagrams and one of transmit stamps. Keys of transmit
    /// stamps count what *one* handle sends, so only one of them may send; a waker ends the wait of
    /// the handle that gave it.
    ///
    /// # Errors
    /// Where the process may open no further descriptor.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    pub fn try_clone(&self) -> Result<Self, OpenPortError> {
        Ok(Self {
            system: self.system.try_clone()?,
            local: self.local,
            peer: self.peer,
            granted: self.granted.clone(),
        })
    }

    /// Takes what has come, as many datagrams as the inbox has slots; what was in the inbox before is
    /// gone, also after an error.
    ///
    /// # Errors
    /// What the network said of datagrams that were sent before ([`ReceiveError::Refused`]), or
    /// that the interface is gone. The port stays usable: the next call tries again.
    ///
    /// # Real-time safety
    /// Real-time safe. One system call where something waits already. Else, where nobody holds a
    /// [`PortWaker`] and the deadline is more than two ticks of the kernel away, mostly one more, and one
    /// for each two ticks of silence; otherwise one to three more for each time the kernel wakes the
    /// thread. Waiting never outlasts the deadline but by the scheduler's lateness, and ends early for
    /// a [`PortWaker`] and for a signal.
    pub fn receive_batch(
        &mut self,
        inbox: &mut Inbox,
        wait: Wait,
    ) -> Result<Reception, ReceiveError> {
        inbox.clear();
        self.system.receive(inbox, wait)
    }

    /// Sends one datagram to the peer.
    ///
    /// The key finds the datagram's transmit stamp, where those were asked for.
    ///
    /// # Errors
    /// Without a peer, and whatever keeps the datagram from being sent.
    ///
    /// # Real-time safety
    /// Real-time safe; one system call, which never waits, and some more each 64 datagrams where
    /// transmit stamps are wanted and nobody took them.
    pub fn send(&mut self, bytes: &[u8]) -> Result<TransmitKey, SendError> {
        if self.peer.is_none() {
            return Err(SendError::NoPeer);
        }
        self.system.send([bytes, &[]], None)
    }

    /// Sends one datagram to an address.
    ///
    /// # Errors
    /// Whatever keeps the datagram from being sent.
    ///
    /// # Real-time safety
    /// Real-time safe; one system call, which never waits.
    pub fn send_to(&mut self, bytes: &[u8], to: SocketAddr) -> Result<TransmitKey, SendError> {
        self.system.send([bytes, &[]], Some(to))
    }

    /// Sends one datagram whose bytes lie in two places, without putting them together first: a header,
    /// and what follows it.
    ///
    /// # Errors
    /// Whatever keeps the datagram from being sent.
    ///
    /// # Real-time safety
    /// Real-time safe; one system call, which never waits.
    pub fn send_parts(
        &mut self,
        parts: [&[u8]; 2],
        to: SocketAddr,
    ) -> Result<TransmitKey, SendError> {
        self.system.send(parts, Some(to))
    }

    /// Waits until the send buffer has room again after [`SendError::BufferFull`], no longer than a
    /// span; whether it has.
    ///
    /// # Real-time safety
    /// Real-time safe except for the wait: one system call.
    pub fn wait_for_room(&mut self, at_most: Duration) -> bool {
        self.system.wait_for_room(at_most)
    }

    /// Looks whether the interface of this port's multicast is still there, and joins the group anew
    /// where it came back or the routes lead elsewhere. To be called about once a second, for the kernel
    /// tells nobody: a port whose interface is gone only hears nothing any more.
    ///
    /// [`Standing::Kept`] on a port without [`Multicast`], and always on systems other than Linux.
    /// Two to six system calls; allocates only where it joins anew.
    pub fn renew_membership(&mut self) -> Standing {
        self.system.renew_membership()
    }

    /// Tries to send each datagram of the outbox once, in order, and notes at each what became of
    /// it. The outbox stays filled, so that the next beat can send it again.
    ///
    /// # Real-time safety
    /// Real-time safe. One system call, and one or two more for each datagram that is refused; one a
    /// datagram where transmit stamps are wanted and Linux is older than 6.13.
    pub fn send_batch(&mut self, outbox: &mut Outbox) -> Departures {
        self.system.send_batch(outbox);
        outbox.departures()
    }

    /// When datagrams left, for those whose stamps have come since the last call; in the order of
    /// their stamps. A port takes them out of the kernel while it waits and, at the latest, before it
    /// has sent 65 datagrams without; this call hands them over. Before Linux 6.13, stamps of datagrams
    /// that wait in a queue while others are refused may be missing.
    ///
    /// # Real-time safety
    /// Real-time safe. One system call, and one more for each 16 stamps.
    pub fn transmit_stamps(&mut self) -> impl Iterator<Item = TransmitStamp> + '_ {
        self.system.transmit_stamps()
    }

    /// Transmit stamps that were thrown away because nobody took them and no more than
    /// [`PortOptions::transmit_stamps_kept`] are kept. Those that the kernel itself throws away, while
    /// the receive buffer is full, are missing without being counted.
    #[must_use]
    pub fn transmit_stamps_lost(&self) -> u64 {
        self.system.transmit_stamps_lost()
    }

    /// What the network said of datagrams that this port sent: a closed port, no way to a host. At
    /// most the last 64 since the last call; none on systems other than Linux.
    ///
    /// A port with many destinations learns here which of them does not listen; its other calls are
    /// not disturbed by it.
    ///
    /// # Real-time safety
    /// Real-time safe. One system call, and one more for each 16 messages.
    pub fn network_errors(&mut self) -> impl Iterator<Item = NetworkError> + '_ {
        self.system.network_errors()
    }

    /// Datagrams that came to this port and that the kernel threw away, mostly because its receive
    /// buffer was full; since the port was opened. `None` where the system does not count.
    ///
    /// Exact at the moment of the call, where [`Datagram::dropped_before`] tells what had been
    /// dropped when that datagram was queued.
    ///
    /// # Real-time safety
    /// Real-time safe; one system call.
    pub fn dropped(&mut self) -> Option<u64> {
        self.system.dropped()
    }
}

/// How long [`receive_batch`](UdpPort::receive_batch) waits when nothing is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Not at all: one look, for loops that spin. Wakers are not looked at.
    Poll,
    /// Until a point on the sleep clock. One that has passed means one look, as the kernel is asked
    /// first and the clock afterwards.
    Until(MonotonicTime),
    /// Until something comes, a waker is used or a signal arrives.
    Forever,
}

/// What ended a wait without error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reception {
    /// That many datagrams are in the inbox; at least one.
    Datagrams(usize),
    /// Nothing came until the deadline.
    Nothing,
    /// A [`PortWaker`] was used. Datagrams that wait are left for the next call.
    Woken,
    /// A signal was handled by this thread, and nothing had come.
    Interrupted,
}

impl Reception {
    /// How many datagrams came.
    #[must_use]
    pub const fn count(self) -> usize {
        match self {
            Self::Datagrams(count) => count,
            Self::Nothing | Self::Woken | Self::Interrupted => 0,
        }
    }
}

/// Ends a port's wait from another thread.
///
/// Using it while the port does not wait ends its next wait; using it several times before that counts
/// once. It outlives the port without harm.
///
/// ```
/// use kadenz_rt::net::port::{Inbox, PortOptions, Reception, UdpPort, Wait};
///
/// let mut port = UdpPort::open(&PortOptions::default())?;
/// let waker = port.waker();
/// let thread = std::thread::spawn(move || waker.wake());
/// let mut inbox = Inbox::new(1, 1500);
/// assert_eq!(port.receive_batch(&mut inbox, Wait::Forever)?, Reception::Woken);
/// # thread.join().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PortWaker(system::SystemPortWaker);

impl PortWaker {
    /// Ends the wait.
    ///
    /// # Real-time safety
    /// Real-time safe: no lock, at most one system call.
    pub fn wake(&self) {
        self.0.wake();
    }
}

/// Who noted when a datagram passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StampSource {
    /// The kernel, on the wall clock.
    Software,
    /// The network card, on its own clock.
    Hardware,
}

/// One stamp, with the clock that it is on.
///
/// [`WallBridge`](crate::clock::WallBridge) brings a software stamp to the sleep clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KernelStamp {
    /// The kernel's, on the wall clock.
    Software(WallTime),
    /// The network card's, on its own clock.
    Hardware(PhcTime),
}

impl KernelStamp {
    /// Who took it.
    #[must_use]
    pub const fn source(self) -> StampSource {
        match self {
            Self::Software(_) => StampSource::Software,
            Self::Hardware(_) => StampSource::Hardware,
        }
    }
}

/// The stamps that one received datagram carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Stamps {
    /// When the driver handed it to the kernel.
    pub software: Option<WallTime>,
    /// When the card saw it on the wire.
    pub hardware: Option<PhcTime>,
}

impl Stamps {
    /// The stamp that was taken closest to the wire.
    #[must_use]
    pub fn closest(self) -> Option<KernelStamp> {
        let software = self.software.map(KernelStamp::Software);
        self.hardware.map(KernelStamp::Hardware).or(software)
    }
}

/// Which datagram of a port: the first it tried to send is 0, and each one counts on, also one that was
/// refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TransmitKey(u64);

impl TransmitKey {
    /// The key of the datagram number `ordinal`, from 0.
    #[must_use]
    pub const fn new(ordinal: u64) -> Self {
        Self(ordinal)
    }

    /// How many datagrams the port had tried to send before this one.
    #[must_use]
    pub const fn ordinal(self) -> u64 {
        self.0
    }
}

/// When a datagram left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransmitStamp {
    /// Which datagram.
    pub key: TransmitKey,
    /// When it was handed to the driver, or seen by the card.
    pub when: KernelStamp,
}

#[cfg(test)]
mod tests;
