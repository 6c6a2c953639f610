//! A network without hardware: the effect of plain Ethernet on datagrams, computed and emulated.
//!
//! | module | what it is |
//! |---|---|
//! | [`wire`] | how long a datagram is on Ethernet: pure arithmetic |
//! | [`topology`] | hosts, switches, links, faults and cuts, from a file |
//! | [`fabric`] | the network itself, sans-IO: links, store-and-forward switches, queues, faults |
//! | [`model`] | round trips over a topology in virtual time, exact to the picosecond |
//! | [`inside`] | what a program on one of its hosts can know of it |
//! | `live` | the topology as network namespaces of this machine (Linux) |
//!
//! The model is the oracle: the result of a network of ideal hosts. Hosts add everything that a measurement finds
//! beyond it.

pub mod fabric;
pub mod inside;
#[cfg(target_os = "linux")]
pub mod live;
pub mod model;
mod quantity;
pub mod topology;
pub mod wire;

use std::net::Ipv4Addr;

pub use quantity::{ByteSize, LinkSpeed, ParseQuantityError, Picoseconds};
use topology::Topology;

// The addresses of hosts.

/// The network of a testbed: `10.75.N.0/24`, N from 1 to 254 by the topology's name, so that two testbeds of one user
/// can be distinguished, and a script finds its devices again.
#[must_use]
pub fn network(topology: &Topology) -> Ipv4Addr {
    // FNV-1a: a name's hash that stays the same with every compiler.
    let hash = topology.name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let subnet = u8::try_from(hash % 254).unwrap_or(0) + 1;
    Ipv4Addr::new(10, 75, subnet, 0)
}

/// The address of a host: the network's, and its place from 1 on.
#[must_use]
pub fn address(topology: &Topology, host: usize) -> Ipv4Addr {
    let [a, b, c, _] = network(topology).octets();
    // A topology has fewer hosts than a network has addresses.
    Ipv4Addr::new(a, b, c, u8::try_from(host + 1).unwrap_or(254))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::topology::{READY, ready};

    #[test]
    fn every_built_in_topology_has_a_network_of_its_own() {
        let mut networks: Vec<Ipv4Addr> = READY
            .iter()
            .map(|(_, text)| network(&Topology::parse(text).unwrap()))
            .collect();
        networks.sort();
        networks.dedup();
        assert_eq!(networks.len(), READY.len());
        let forty = Topology::parse(ready("forty-devices").unwrap()).unwrap();
        assert_eq!(address(&forty, 40).octets()[3], 41);
        let baseline = Topology::parse(ready("baseline").unwrap()).unwrap();
        let device = address(&baseline, 1).to_string();
        let page = include_str!("../../../../docs/testbed.md");
        assert!(page.contains(&format!("ping {device}")), "{device}");
    }
}
