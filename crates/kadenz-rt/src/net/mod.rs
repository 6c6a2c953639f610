//! The network as a real-time loop meets it: a UDP port whose datagrams carry the kernel's time
//! stamps, the interface behind an address, and the kernel's counters of what was lost.

pub mod counters;
pub mod interface;
pub mod port;
