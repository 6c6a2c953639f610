//! A network without a network: what plain Ethernet does to datagrams, computed and built.
//!
//! | module | what it is |
//! |---|---|
//! | [`wire`] | how long a datagram is on Ethernet: pure arithmetic |
//! | [`topology`] | hosts, switches, links, faults and cuts, from a file |
//! | [`fabric`] | the network itself, sans-IO: links, store-and-forward switches, queues, faults |
//! | [`traffic`] | what travels beside what is measured |
//! | [`model`] | round trips over a topology in virtual time, exact to the picosecond |
//! | [`inside`] | what a program on one of its hosts can know of it |
//! | `live` | the topology as network namespaces of this machine (Linux) |
//!
//! The model is the oracle: what a network of ideal hosts would do. What a measurement finds beyond
//! it, hosts have added.

mod addresses;
pub mod fabric;
pub mod inside;
#[cfg(target_os = "linux")]
pub mod live;
pub mod model;
mod quantity;
pub mod topology;
pub mod traffic;
pub mod wire;

pub use addresses::{address, network};
pub use quantity::{ByteSize, LinkSpeed, ParseQuantityError, Picos};
