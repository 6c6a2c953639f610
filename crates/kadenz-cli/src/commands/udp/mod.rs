//! `kadenz udp`, a file a command.

mod address;
mod discover;
mod echo;
mod log;
mod path;
mod probe;
mod socket;
mod synchronised;
mod token;

use clap::Subcommand;

pub(super) use address::resolve;
pub(super) use path::PathOption;
pub(super) use socket::{DISCOVERY, any_like};

use crate::output::Outcome;

/// Is plain Ethernet and UDP good enough for this robot?
///
/// On each device runs `kadenz udp echo`, or firmware that answers the same protocol
/// (docs/udp-protocol.md); on the controller `kadenz udp send`, or `burst` for all devices at once.
#[derive(Debug, Subcommand)]
pub(crate) enum Udp {
    Send(Box<probe::Send>),
    Burst(Box<probe::Burst>),
    Echo(Box<echo::Options>),
    Log(Box<log::Options>),
    Discover(discover::Options),
}

pub(crate) fn run(udp: &Udp) -> anyhow::Result<Outcome> {
    match udp {
        Udp::Send(options) => probe::send(options),
        Udp::Burst(options) => probe::burst(options),
        Udp::Echo(options) => echo::run(options),
        Udp::Log(options) => log::run(options),
        Udp::Discover(options) => discover::run(options),
    }
}

/// What the commands' JSON looks like.
#[cfg(test)]
pub(crate) fn schemas() -> kadenz_report::schema::SchemaFile {
    kadenz_report::schema::SchemaFile::new("udp", 1)
        .answer::<echo::Answered>("echo")
        .answer::<discover::Discovered>("discover")
}
