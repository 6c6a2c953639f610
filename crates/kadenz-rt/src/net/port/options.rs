use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::StampSource;
use crate::tuning::Measure;

/// What a port asks for. The default asks for a free port on the loopback address and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortOptions {
    /// The address to listen on; port 0 lets the kernel choose. The default is `127.0.0.1:0`, so that
    /// nobody outside is heard unless that is asked for.
    pub local: SocketAddr,
    /// The only one to send to and to hear: a connected port. Such a port also learns that the peer's
    /// port is closed.
    pub peer: Option<SocketAddr>,
    /// Send and receive through this interface alone, whatever the routes say.
    pub interface: Option<String>,
    /// Let others listen at the same address, too; each then hears every datagram to a group, and one
    /// of them each other datagram. Linux asks it of all who share.
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
    /// Stamps of what comes in.
    pub receive_stamps: Stamping,
    /// Stamps of what goes out.
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

/// What happens to a datagram that is longer than the path's MTU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fragmentation {
    /// As the system is set up; Linux learns a path's MTU from what routers say (RFC 1191).
    #[default]
    SystemDefault,
    /// It is cut into fragments wherever that is needed, also by routers.
    Allow,
    /// It is refused with [`SendError::TooLong`](super::SendError::TooLong): each datagram is one
    /// frame on the wire.
    Forbid,
}

/// Who is asked to note when a datagram passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Stamping {
    /// Nobody.
    #[default]
    Off,
    /// The kernel: of a received datagram when the driver handed it over, of a sent one when it was
    /// handed to the driver.
    Software,
    /// The network card, and the kernel as well. Where the card cannot, the kernel alone, and
    /// [`GrantedPort`] says why. Turning the card's stamps on needs `CAP_NET_ADMIN` and
    /// holds for the whole interface; it is put back when the port is dropped.
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
/// let ear = UdpPort::open(&PortOptions {
///     local: SocketAddr::from((group, 0)),
///     multicast: Some(Multicast { join: Some(group.into()), ..on_loopback.clone() }),
///     ..PortOptions::default()
/// });
/// # #[cfg(target_os = "linux")] {
/// let mut ear = ear?;
/// let mut mouth = UdpPort::open(&PortOptions {
///     local: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
///     multicast: Some(on_loopback),
///     ..PortOptions::default()
/// })?;
/// mouth.send_parts([b"he", b"llo"], ear.local_address())?;
/// let mut inbox = Inbox::new(4, 1500);
/// assert_eq!(ear.receive_batch(&mut inbox, Wait::Forever)?, Reception::Datagrams(1));
/// assert_eq!(inbox.datagram(0).unwrap().bytes, b"hello");
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Multicast {
    /// The group to hear; `None` for a port that only sends. A port that hears is best bound to the
    /// group's address, else it hears what comes to any group of the host.
    pub join: Option<IpAddr>,
    /// The interface to hear and send by, alone; `None` for the one that the routes choose.
    pub interface: Option<String>,
    /// How many networks a datagram may pass (time to live, hop limit): 0 keeps it on this host, 1 in
    /// its network.
    pub hops: u8,
    /// Whether this host's own programs hear what it sends.
    pub loopback: bool,
}

impl Default for Multicast {
    /// Sends on this host alone, and hears nothing.
    fn default() -> Self {
        Self {
            join: None,
            interface: None,
            hops: 0,
            loopback: true,
        }
    }
}

/// How a port stands to its group's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// As before.
    Kept,
    /// The interface is gone or down, or there is no way to the group.
    Lost,
    /// It is back, or another one leads to the group, and the port has joined there.
    Regained,
}

/// What a port was granted, read back from the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GrantedPort {
    /// Room for datagrams that wait to be read, in bytes, as asked for; Linux keeps as much again for
    /// its bookkeeping (socket(7)). `None` where the system does not tell.
    pub receive_buffer: Option<usize>,
    /// Room for datagrams that wait to be sent, in bytes. `None` where the system does not tell.
    pub send_buffer: Option<usize>,
    /// How long an empty receiver polls the card; zero for not at all.
    pub busy_poll: Duration,
    /// The best stamp that received datagrams may carry; `None` for none.
    pub receive_stamps: Option<StampSource>,
    /// The best stamp that sent datagrams may get; `None` for none.
    pub transmit_stamps: Option<StampSource>,
    /// One for each thing that was asked for, with why it was refused and what mends it: the same
    /// that a run records of a thread's tuning.
    pub measures: Vec<Measure>,
}

impl GrantedPort {
    /// Whether everything asked for was granted.
    #[must_use]
    pub fn all_granted(&self) -> bool {
        self.measures.iter().all(|measure| measure.ok)
    }
}
