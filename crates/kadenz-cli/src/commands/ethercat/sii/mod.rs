//! `kadenz ethercat sii`.

mod read;
mod write;

use clap::Subcommand;

use crate::output::Outcome;

/// What does a device's memory say of it, and what is it to say?
///
/// The slave information interface, SII: its EEPROM, from which the controller takes how it is wired and its
/// alias when power comes, and every MainDevice who the device is and what it has.
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
