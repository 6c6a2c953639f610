//! The interface behind an address, and what is known of it.

mod facts;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use crate::host::Root;

pub(crate) use facts::facts_at;
pub use facts::{InterfaceFacts, InterfaceKind, facts};

/// Whether the files under `/sys/class/net` belong to this thread's network namespace. They belong to the namespace
/// in which they were mounted: in a container, or a testbed's host, an interface of the same name may be another
/// one.
pub(in crate::net) fn files_are_ours(root: &Root, interface: &str) -> bool {
    #[cfg(target_os = "linux")]
    if root.is_live() {
        let number = root.read_number(&format!("/sys/class/net/{interface}/ifindex"));
        let ours = crate::os::linux::link::number_of(interface).map(i64::from);
        return number.ok() == ours;
    }
    let _ = (root, interface);
    true
}

/// An address that reaches every host of one of this host's networks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Broadcast {
    /// The interface's name.
    pub interface: String,
    /// This host's own address there.
    pub local: Ipv4Addr,
    /// The network's broadcast address.
    pub broadcast: Ipv4Addr,
}

/// The broadcast addresses of all interfaces that are up, in the order in which the system lists them.
/// Empty where the system does not list them: on systems other than Linux.
///
/// # Real-time safety
/// Not for a real-time path.
#[must_use]
pub fn list_broadcast() -> Vec<Broadcast> {
    #[cfg(target_os = "linux")]
    return crate::os::linux::link::list()
        .into_iter()
        .filter_map(|it| {
            let std::net::IpAddr::V4(local) = it.address else {
                return None;
            };
            let broadcast = it.broadcast?;
            let interface = it.interface;
            (it.up && broadcast != local).then_some(Broadcast {
                interface,
                local,
                broadcast,
            })
        })
        .collect();
    #[cfg(not(target_os = "linux"))]
    Vec::new()
}

/// The route of datagrams to an address out of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The interface they leave by; `None` where the system does not report it.
    pub interface: Option<String>,
    /// The source address that they carry.
    pub source: IpAddr,
    /// The longest IP packet that the interface takes, in bytes.
    pub mtu: Option<u32>,
    /// Whether they stay inside this host: the address is one of its own.
    pub stays_here: bool,
}

/// Why no route was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// The kernel knows no route.
    #[error(
        "there is no way to {to}: {reason}; `ip route get {to}` asks the kernel, `ip address` lists this host's networks"
    )]
    NoRoute {
        /// The address that packets were to reach.
        to: IpAddr,
        /// The system's error.
        reason: String,
    },
}

/// Returns the route to an address, as the kernel would choose it now. Sends nothing.
///
/// ```
/// use kadenz_rt::net::interface::route_to;
///
/// let route = route_to("127.0.0.1".parse()?)?;
/// assert!(route.stays_here && route.source.is_loopback());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Where the kernel knows no route.
///
/// # Real-time safety
/// Not for a real-time path.
pub fn route_to(to: IpAddr) -> Result<Route, RouteError> {
    let source = source_towards(to).map_err(|error| RouteError::NoRoute {
        to,
        reason: error.to_string(),
    })?;
    Ok(describe(to, source))
}

/// Connecting a UDP socket chooses a route and sends nothing.
fn source_towards(to: IpAddr) -> std::io::Result<IpAddr> {
    /// The port of RFC 863; any would do.
    const DISCARD: u16 = 9;
    let any: IpAddr = match to {
        IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    // Only the route is wanted: broadcast addresses have one too.
    socket.set_broadcast(true)?;
    socket.connect(SocketAddr::new(to, DISCARD))?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(target_os = "linux")]
fn describe(to: IpAddr, source: IpAddr) -> Route {
    let own = crate::os::linux::link::list();
    let stays_here = to.is_loopback() || own.iter().any(|it| it.address == to);
    let found = own.into_iter().find(|it| {
        if stays_here {
            it.loopback
        } else {
            it.address == source
        }
    });
    let interface = found.map(|it| it.interface);
    let mtu = interface.as_ref().and_then(|name| {
        let path = format!("/sys/class/net/{name}/mtu");
        let number = crate::host::Root::system().read_number(&path).ok()?;
        u32::try_from(number).ok()
    });
    Route {
        interface,
        source,
        mtu,
        stays_here,
    }
}

#[cfg(not(target_os = "linux"))]
fn describe(to: IpAddr, source: IpAddr) -> Route {
    Route {
        interface: None,
        source,
        mtu: None,
        stays_here: to.is_loopback() || to == source,
    }
}

#[cfg(test)]
mod tests;
