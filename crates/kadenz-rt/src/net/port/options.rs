use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::Multicast;

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
    /// Let a [`Waker`](super::Waker) end a wait up to two ticks of the kernel late, so that a wait that
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
    /// [`Granted`](super::Granted) says why. Turning the card's stamps on needs `CAP_NET_ADMIN` and
    /// holds for the whole interface; it is put back when the port is dropped.
    Hardware,
}
