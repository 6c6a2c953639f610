//! `kadenz msg`, a file a command.

mod doctor;

use clap::Subcommand;

use crate::output::Outcome;

/// What do this robot's programs say to each other, how often, and what is lost?
///
/// Messages are LCM's, over any transport that the URL names; unmodified LCM programs in any language
/// are seen, heard and answered.
#[derive(Debug, Subcommand)]
pub(crate) enum Msg {
    Doctor(doctor::Options),
}

pub(crate) fn run(msg: &Msg) -> anyhow::Result<Outcome> {
    match msg {
        Msg::Doctor(options) => doctor::run(options),
    }
}
