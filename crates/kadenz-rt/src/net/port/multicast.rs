use std::net::IpAddr;

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
