//! The interface behind an address, and what is known of it.

mod facts;
mod route;

use std::net::Ipv4Addr;

use crate::host::Root;

pub use facts::{
    Coalescing, Duplex, HardwareStamps, InterfaceFacts, InterfaceKind, Queues, facts, facts_at,
};
pub use route::{Route, RouteError, route_to};

/// Whether the files under `/sys/class/net` are those of this thread's network. They belong to the
/// network in which they were mounted: in a container, or a testbed's host, an interface of the same
/// name may be another one.
pub(in crate::net) fn files_are_ours(root: &Root, interface: &str) -> bool {
    #[cfg(target_os = "linux")]
    if root.is_live() {
        let number = root.read_number(&format!("/sys/class/net/{interface}/ifindex"));
        let ours = crate::os::linux::addresses::number_of(interface).map(i64::from);
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
/// Empty where the system does not tell: on systems other than Linux. Not for a real-time path.
#[must_use]
pub fn list_broadcast() -> Vec<Broadcast> {
    #[cfg(target_os = "linux")]
    return crate::os::linux::addresses::list()
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

#[cfg(test)]
mod tests;
