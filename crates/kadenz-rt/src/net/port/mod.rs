//! A UDP port for real-time loops.
//!
//! A [`UdpPort`] takes many datagrams by one system call into an [`Inbox`] that was made before the loop, waits for
//! them until a deadline on the sleep clock, and reports for each when the kernel or the network card saw it.
//! [`GrantedPort`] lists the requests that the kernel refused, each with the command that fixes it.
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
pub use options::{Fragmentation, GrantedPort, MembershipState, Multicast, PortOptions, Stamping};
pub use outbox::{Outbox, OutboxFull, SendCounts};

use crate::clock::{MonotonicTime, PhcTime, WallTime};
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use portable as system;

/// A UDP socket for one real-time loop.
///
/// One thread owns it; [`UdpPort::waker`] lets other threads end its wait, and [`UdpPort::try_clone`] gives a
/// second handle for a thread that only receives.
#[derive(Debug)]
pub struct UdpPort {
    system: system::Port,
    local: SocketAddr,
    peer: Option<SocketAddr>,
    granted: GrantedPort,
}

impl UdpPort {
    /// Opens a port with the requested options. [`UdpPort::granted`] lists the options that the kernel refuses and
    /// a loop can do without.
    ///
    /// # Errors
    /// Where the system has no socket left, or refuses the address, interface or peer.
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

    /// The address that peers send to; its port is never zero.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// The address that [`UdpPort::send`] sends to, and the only one that the port receives from; `None` for a port
    /// without a peer.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// The properties that the kernel granted.
    #[must_use]
    pub fn granted(&self) -> &GrantedPort {
        &self.granted
    }

    /// Returns a handle that ends this port's wait from another thread.
    #[must_use]
    pub fn waker(&self) -> PortWaker {
        self.system.waker()
    }

    /// Returns a second handle of the same socket, to receive on a thread of its own while this one sends.
    ///
    /// Both handles draw from one queue of datagrams and one of transmit stamps. Keys of transmit stamps count the
    /// datagrams of *one* handle, so only one of them may send; a waker ends the wait of the handle that made it.
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

    /// Takes the datagrams that have come, up to the number of slots; the previous datagrams of the inbox are lost,
    /// also after an error.
    ///
    /// # Errors
    /// When the network reported an error of datagrams that were sent before ([`ReceiveError::Refused`]), or when
    /// the interface is gone. The port stays usable: the next call tries again.
    ///
    /// # Real-time safety
    /// Real-time safe. One system call where a datagram waits already. Otherwise, where no [`PortWaker`] exists and
    /// the deadline is more than two ticks of the kernel away, usually one more, and one for each two ticks of
    /// silence; in other cases one to three more for each time the kernel wakes the thread. The wait outlasts the
    /// deadline only by the scheduler's lateness, and ends early for a [`PortWaker`] and for a signal.
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
    /// The key finds the datagram's transmit stamp, where those were requested.
    ///
    /// # Errors
    /// When the port has no peer, or the datagram cannot be sent.
    ///
    /// # Real-time safety
    /// Real-time safe; one system call, which never waits, and some more each 64 datagrams where transmit stamps
    /// are enabled and the caller does not take them.
    pub fn send(&mut self, bytes: &[u8]) -> Result<TransmitKey, SendError> {
        if self.peer.is_none() {
            return Err(SendError::NoPeer);
        }
        self.system.send([bytes, &[]], None)
    }

    /// Sends one datagram to an address.
    ///
    /// # Errors
    /// When the datagram cannot be sent.
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
    /// When the datagram cannot be sent.
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

    /// Waits until the send buffer has room again after [`SendError::BufferFull`], for at most a span, and returns
    /// whether it has.
    ///
    /// # Real-time safety
    /// Real-time safe except for the wait: one system call.
    pub fn wait_for_room(&mut self, at_most: Duration) -> bool {
        self.system.wait_for_room(at_most)
    }

    /// Checks whether the interface of this port's multicast is still there, and joins the group again where it came
    /// back or the routes lead elsewhere. The caller should call this about once a second, since the kernel reports
    /// no such change: a port whose interface is gone just receives no more datagrams.
    ///
    /// Returns [`MembershipState::Kept`] on a port without [`Multicast`], and always on systems other than Linux.
    ///
    /// # Real-time safety
    /// It makes two to six system calls, and allocates only where it joins again.
    pub fn renew_membership(&mut self) -> MembershipState {
        self.system.renew_membership()
    }

    /// Tries to send each datagram of the outbox once, in order, and notes the result at each. The outbox stays
    /// filled, so that the next beat can send it again.
    ///
    /// # Real-time safety
    /// Real-time safe. One system call, and one or two more for each datagram that is refused; one a
    /// datagram where transmit stamps are wanted and Linux is older than 6.13.
    pub fn send_batch(&mut self, outbox: &mut Outbox) -> SendCounts {
        self.system.send_batch(outbox);
        outbox.departures()
    }

    /// Returns the stamps that have come since the last call, in their order: when datagrams left. A port takes
    /// them out of the kernel while it waits and, at the latest, before it has sent 65 datagrams without a wait;
    /// this call returns them. Before Linux 6.13, stamps of datagrams that wait in a queue while others are refused
    /// may be missing.
    ///
    /// # Real-time safety
    /// Real-time safe. One system call, and one more for each 16 stamps.
    pub fn transmit_stamps(&mut self) -> impl Iterator<Item = TransmitStamp> + '_ {
        self.system.transmit_stamps()
    }

    /// Transmit stamps that were dropped because the caller did not take them and the port keeps at most
    /// [`PortOptions::transmit_stamps_kept`]. Stamps that the kernel itself drops, while the receive buffer is
    /// full, are missing without being counted.
    #[must_use]
    pub fn transmit_stamps_lost(&self) -> u64 {
        self.system.transmit_stamps_lost()
    }

    /// Returns the errors that the network reported of datagrams that this port sent: a closed port, no route to a
    /// host. At most the last 64 since the last call; none on systems other than Linux.
    ///
    /// A port with many destinations finds here which of them does not listen; these errors do not disturb its
    /// other calls.
    ///
    /// # Real-time safety
    /// Real-time safe. One system call, and one more for each 16 messages.
    pub fn network_errors(&mut self) -> impl Iterator<Item = NetworkError> + '_ {
        self.system.network_errors()
    }

    /// Datagrams that came to this port and that the kernel dropped since the port was opened, mostly because its
    /// receive buffer was full. `None` where the system does not count.
    ///
    /// Exact at the moment of the call, whereas [`Datagram::dropped_before`] gives the count at the time when that
    /// datagram was queued.
    ///
    /// # Real-time safety
    /// Real-time safe; one system call.
    pub fn dropped(&mut self) -> Option<u64> {
        self.system.dropped()
    }
}

/// How long [`receive_batch`](UdpPort::receive_batch) waits when no datagram is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Not at all: one look, for loops that spin. Wakers are not checked.
    Poll,
    /// Until a point on the sleep clock. A point that has passed means one look, as the port reads the socket first
    /// and the clock afterwards.
    Until(MonotonicTime),
    /// Until a datagram comes, a waker is used or a signal arrives.
    Forever,
}

/// What ended a wait without error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reception {
    /// That many datagrams are in the inbox; at least one.
    Datagrams(usize),
    /// Nothing came until the deadline.
    Nothing,
    /// A [`PortWaker`] was used. Datagrams that wait stay for the next call.
    Woken,
    /// This thread handled a signal, and no datagram had come.
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

/// The source of a time stamp.
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

/// The stamps that one received datagram carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Stamps {
    /// When the driver handed it to the kernel.
    pub software: Option<WallTime>,
    /// When the card saw it on the wire.
    pub hardware: Option<PhcTime>,
}

/// Identifies a datagram of a port: the first that the port tried to send is 0, and each one counts on, also a
/// refused one.
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
    /// The datagram that left.
    pub key: TransmitKey,
    /// When it was handed to the driver, or when the card saw it.
    pub when: KernelStamp,
}

#[cfg(test)]
mod tests;
