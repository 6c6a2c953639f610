//! `kadenz udp`, one file per command.

mod address;
mod discover;
mod echo;
mod log;
mod probe;
mod socket;

pub(super) use address::{PathOption, resolve};
pub(super) use socket::DISCOVERY;

#[cfg(all(test, target_os = "linux"))]
use crate::commands::outcome::Measures;

commands! {
    /// Measure round trips over Ethernet and UDP
    ///
    /// Each device runs `kadenz udp echo`, or firmware with the same protocol (docs/udp-protocol.md); the controller
    /// runs `kadenz udp send`, or `burst` for all devices at once.
    enum Udp in udp {
        Send(Box<probe::Send>) = probe::send => "send": Measures;
        Burst(Box<probe::Burst>) = probe::burst => "burst": Measures;
        Echo(Box<echo::Options>) = echo::run => "echo": echo::Answered;
        Log(Box<log::Options>) = log::run => "log": Measures;
        Discover(discover::Options) = discover::run => "discover": discover::Discovered;
    }
}
