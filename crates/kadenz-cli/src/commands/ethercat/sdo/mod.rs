//! `kadenz ethercat sdo`.

mod address;
pub(super) mod dictionary;
mod objects;
pub(super) mod transfer;

use clap::Subcommand;

use crate::output::Outcome;
#[cfg(target_os = "linux")]
pub(super) use address::ObjectAddress;

/// Read, write and list the objects of a device.
///
/// By CoE's SDOs, through the mailbox of one device. A device that is in INIT has none yet, and is brought
/// to PREOP for it.
#[derive(Debug, Subcommand)]
pub(crate) enum Sdo {
    Read(transfer::Read),
    Write(transfer::Write),
    List(dictionary::List),
    Info(dictionary::Information),
}

pub(crate) fn run(sdo: &Sdo) -> anyhow::Result<Outcome> {
    match sdo {
        Sdo::Read(options) => transfer::read(options),
        Sdo::Write(options) => transfer::write(options),
        Sdo::List(options) => dictionary::list(options),
        Sdo::Info(options) => dictionary::info(options),
    }
}
