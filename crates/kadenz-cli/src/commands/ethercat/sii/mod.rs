//! `kadenz ethercat sii`.

pub(super) mod read;
pub(super) mod write;

use clap::Subcommand;

use crate::output::Outcome;

/// Read or write the SII of a device.
///
/// The slave information interface, SII: its EEPROM, from which the controller takes how it is wired and its
/// alias when power comes, and every MainDevice the identity of the device and what it has.
#[derive(Debug, Subcommand)]
pub(crate) enum Sii {
    Read(read::Read),
    Write(write::Write),
}

pub(crate) fn run(sii: &Sii) -> anyhow::Result<Outcome> {
    match sii {
        Sii::Read(options) => read::run(options),
        Sii::Write(options) => write::run(options),
    }
}
