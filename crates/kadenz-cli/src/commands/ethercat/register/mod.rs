//! `kadenz ethercat register`.

mod address;
pub(super) mod read;
pub(super) mod write;

use clap::Subcommand;

use crate::output::Outcome;

/// Read or write ESC registers.
///
/// Those of its controller, from 0x0000 on, and from 0x1000 on its process memory. Reading looks on only, and
/// disturbs no MainDevice that runs.
#[derive(Debug, Subcommand)]
pub(crate) enum Register {
    Read(read::Read),
    Write(write::Write),
}

pub(crate) fn run(register: &Register) -> anyhow::Result<Outcome> {
    match register {
        Register::Read(options) => read::run(options),
        Register::Write(options) => write::run(options),
    }
}
