use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::StampSource;
use crate::tuning::Measure;

/// The requested properties of a port. The default is a free port on the loopback address and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortOptions {
    /// The address to listen on; port 0 lets the kernel choose. The default is `127.0.0.1:0`, so that the port
    /// receives from other hosts only on request.
    pub local: SocketAddr,
    /// The only address to send to and to receive from: a connected port. Such a port also learns that the peer's
    /// port is closed.
    pub peer: Option<SocketAddr>,
    /// Send and receive only through this interface, whatever the routes are.
    pub interface: Option<String>,
    /// Let other sockets listen at the same address, too. Each then receives every datagram to a group, and one of
    /// them each other datagram. On Linux all sockets that share must set this.
    pub share_address: bool,
    /// Take part in multicast.
    pub multicast: Option<Multicast>,
    /// Let a [`PortWaker`](super::PortWaker) end a wait up to two ticks of the kernel late, so that a wait that
    /// may be woken costs no more system calls, and no more latency, than one that may not.
    pub wakers_may_be_late: bool,
    /// Allow datagrams to broadcast addresses.
    pub broadcast: bool,
    /// Room for datagrams that wait to be read, in bytes. The kernel also counts its own bookkeeping
    /// against it, several hundred bytes a datagram.
    pub receive_buffer: Option<usize>,
    /// Room for datagrams that wait to be sent, in bytes.
    pub send_buffer: Option<usize>,
    /// How long a receiver that found nothing polls the card's queue itself before it waits for the
    /// interrupt; in whole microseconds. Works where the driver supports it (`SO_BUSY_POLL`).
    pub busy_poll: Option<Duration>,
    /// The byte that switches and routers may prefer a datagram by: `DSCP << 2` (RFC 2474).
    pub type_of_service: Option<u8>,
    /// Priority among what this host sends, 0 to 6 (7 and more need `CAP_NET_ADMIN`); queueing
    /// disciplines and VLAN tags go by it.
    pub priority: Option<u32>,
    /// Whether datagrams longer than the path's MTU are cut into fragments.
    pub fragmentation: Fragmentation,
    /// The stamps of received datagrams.
    pub receive_stamps: Stamping,
    /// The stamps of sent datagrams.
    pub transmit_stamps: Stamping,
    /// How many transmit stamps are kept for [`UdpPort::transmit_stamps`] while the port receives.
    ///
    /// [`UdpPort::transmit_stamps`]: super::UdpPort::transmit_stamps
    pub transmit_stamps_kept: usize,
}

impl Default for PortOptions {
    fn default() -> Self {
        Self {
            local: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            peer: None,
            interface: None,
            share_address: false,
            multicast: None,
            wakers_may_be_late: false,
            broadcast: false,
            receive_buffer: None,
            send_buffer: None,
            busy_poll: None,
            type_of_service: None,
            priority: None,
            fragmentation: Fragmentation::default(),
            receive_stamps: Stamping::default(),
            transmit_stamps: Stamping::default(),
            transmit_stamps_kept: 1024,
        }
    }
}

/// The treatment of a datagram that is longer than the path's MTU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fragmentation {
    /// The system's default; Linux learns a path's MTU from the answers of routers (RFC 1191).
    #[default]
    SystemDefault,
    /// It is cut into fragments wherever necessary, also by routers.
    Allow,
    /// It is refused with [`SendError::TooLong`](super::SendError::TooLong): each datagram is one
    /// frame on the wire.
    Forbid,
}

/// The requested source of time stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Stamping {
    /// No time stamps.
    #[default]
    Off,
    /// The kernel: for a received datagram when the driver handed it to the kernel, for a sent one when the kernel
    /// handed it to the driver.
    Software,
    /// The network card, and the kernel as well. Where the card cannot, the kernel alone, and [`GrantedPort`] gives
    /// the reason. Enabling the card's stamps needs `CAP_NET_ADMIN` and applies to the whole interface; the setting
    /// is restored when the port is dropped.
    Hardware,
}

/// How a port takes part in multicast.
///
/// ```
/// use std::net::{Ipv4Addr, SocketAddr};
/// use kadenz_rt::net::port::{Inbox, Multicast, PortOptions, Reception, UdpPort, Wait};
///
/// let group = Ipv4Addr::new(239, 255, 77, 1);
/// let on_loopback = Multicast { interface: Some("lo".to_owned()), ..Multicast::default() };
/// let receiver = UdpPort::open(&PortOptions {
///     local: SocketAddr::from((group, 0)),
///     multicast: Some(Multicast { join: Some(group.into()), ..on_loopback.clone() }),
///     ..PortOptions::default()
/// });
/// # #[cfg(target_os = "linux")] {
/// let mut receiver = receiver?;
/// let mut sender = UdpPort::open(&PortOptions {
///     local: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
///     multicast: Some(on_loopback),
///     ..PortOptions::default()
/// })?;
/// sender.send_parts([b"he", b"llo"], receiver.local_address())?;
/// let mut inbox = Inbox::new(4, 1500);
/// assert_eq!(receiver.receive_batch(&mut inbox, Wait::Forever)?, Reception::Datagrams(1));
/// assert_eq!(inbox.datagram(0).unwrap().bytes, b"hello");
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Multicast {
    /// The group to receive; `None` for a port that only sends. A receiving port is best bound to the group's
    /// address, else it receives datagrams to any group of the host.
    pub join: Option<IpAddr>,
    /// The only interface to receive and send by; `None` for the one that the routes choose.
    pub interface: Option<String>,
    /// How many networks a datagram may pass (time to live, hop limit): 0 keeps it on this host, 1 in
    /// its network.
    pub hops: u8,
    /// Whether this host's own programs receive what it sends.
    pub loopback: bool,
}

impl Default for Multicast {
    /// Sends on this host alone, and receives nothing.
    fn default() -> Self {
        Self {
            join: None,
            interface: None,
            hops: 0,
            loopback: true,
        }
    }
}

/// The state of a port's membership in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MembershipState {
    /// The membership is as it was.
    Kept,
    /// The interface is gone or down, or there is no route to the group.
    Lost,
    /// It is back, or another one leads to the group, and the port has joined there.
    Regained,
}

/// What the kernel granted, read back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GrantedPort {
    /// Room for datagrams that wait to be read, in bytes, as requested; Linux keeps as much again for its
    /// bookkeeping (socket(7)). `None` where the system does not report it.
    pub receive_buffer: Option<usize>,
    /// Room for datagrams that wait to be sent, in bytes. `None` where the system does not report it.
    pub send_buffer: Option<usize>,
    /// How long an empty receiver polls the card; zero for not at all.
    pub busy_poll: Duration,
    /// The best stamp that received datagrams may carry; `None` for none.
    pub receive_stamps: Option<StampSource>,
    /// The best stamp that sent datagrams may get; `None` for none.
    pub transmit_stamps: Option<StampSource>,
    /// One measure for each requested option, with the reason and the remedy of a refusal: the same that a run
    /// records of a thread's tuning.
    pub measures: Vec<Measure>,
}

impl GrantedPort {
    /// Whether every requested option was granted.
    ///
    /// # Real-time safety
    /// Real-time safe.
    #[must_use]
    pub fn all_granted(&self) -> bool {
        self.measures.iter().all(|measure| measure.ok)
    }
}
