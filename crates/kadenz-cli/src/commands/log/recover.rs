//! `kadenz log recover`.

use std::path::PathBuf;

use clap::Args;
use kadenz::msg::log::Entry;
use kadenz::msg::log::copy::Decision;

use super::LimitOptions;
use super::copying;
use super::output_file::LogOutputOptions;
use crate::output::{Outcome, Reply};

/// Recover a whole log from a damaged one, or from one whose recorder was killed.
///
/// It copies every whole chunk of MCAP and of ROS 1's bags, and every whole event of LCM's event log, and reports the
/// losses. The old log stays unchanged.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz log recover drive.mcap --out whole.mcap
  kadenz log recover broken.lcmlog --out whole.lcmlog

Exit code 0 also where the log is damaged; the losses are printed. Exit code 2: interrupted.")]
pub(crate) struct Options {
    /// The log
    #[arg(value_name = "LOG")]
    log: PathBuf,

    #[command(flatten)]
    output: LogOutputOptions,

    #[command(flatten)]
    limits: LimitOptions,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let mut reader = options.limits.open(&options.log)?;
    let (reader, output) = (reader.as_mut(), &options.output);
    let mut judge = |_: &mut Entry| Decision::Keep;
    let copied = copying::into_log(reader, &[&options.log], output, options.limits, &mut judge)?;
    // Losses are the reason for this command, not a failure of it.
    let outcome = Outcome::Kept.or_incomplete(!copied.is_complete());
    Ok(copied.reply().with(outcome))
}
