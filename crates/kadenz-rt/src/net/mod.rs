//! The network of a real-time loop: a UDP port whose datagrams carry the kernel's time stamps, a port of raw
//! Ethernet frames, the interface behind an address, and the kernel's counters of losses; and the namespaces, taps
//! and cables of which testbeds are made.

#[cfg(target_os = "linux")]
pub mod cable;
#[cfg(target_os = "linux")]
pub mod claim;
pub mod counters;
pub mod interface;
pub mod listener;
pub mod multicast;
#[cfg(target_os = "linux")]
pub mod namespace;
#[cfg(target_os = "linux")]
pub mod packet;
pub mod poller;
pub mod port;
#[cfg(target_os = "linux")]
pub mod tap;
pub mod watch;
