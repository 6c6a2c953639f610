//! The network as a real-time loop meets it: a UDP port whose datagrams carry the kernel's time
//! stamps, the interface behind an address, and the kernel's counters of what was lost; and the
//! namespaces and taps of which testbeds are made.

#[cfg(target_os = "linux")]
pub mod claim;
pub mod counters;
pub mod interface;
pub mod multicast;
#[cfg(target_os = "linux")]
pub mod namespace;
pub mod port;
#[cfg(target_os = "linux")]
pub mod tap;
pub mod watch;
