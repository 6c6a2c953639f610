//! `kadenz log recover`.

use std::path::PathBuf;

use clap::Args;

use super::copying::{self, Fate};
use super::input::LimitOptions;
use super::output_file::LogOutputOptions;
use crate::commands::interrupt;
use crate::output::Outcome;

/// Make a whole log of one that is damaged, or whose recorder was killed.
///
/// Every whole chunk of MCAP and of ROS 1's bags, and every whole event of LCM's event log is taken
/// over; what was lost is said. The old log stays as it is.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz log recover drive.mcap --out whole.mcap
  kadenz log recover broken.lcmlog --out whole.lcmlog")]
pub(crate) struct Options {
    /// The log
    #[arg(value_name = "LOG")]
    log: PathBuf,

    #[command(flatten)]
    output: LogOutputOptions,

    #[command(flatten)]
    limits: LimitOptions,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut reader = options.limits.open(&options.log)?;
    let stop = interrupt::stop_on_interrupt()?;
    let writer = options.output.create(&[&options.log])?;
    let copied = copying::copy(
        reader.as_mut(),
        writer,
        options.limits.limits(),
        &stop,
        &mut |_| Fate::Keep,
    )?;
    copying::tell(&copied, &options.output.out)?;
    Ok(Outcome::Kept)
}
