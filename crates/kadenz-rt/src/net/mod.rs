//! The network from the floor: namespaces and taps, of which testbeds are made.

#[cfg(target_os = "linux")]
pub mod claim;
#[cfg(target_os = "linux")]
pub mod namespace;
#[cfg(target_os = "linux")]
pub mod tap;
