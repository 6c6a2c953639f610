//! `kadenz show`.

use std::path::PathBuf;

use clap::Args;

use super::outcome::{self, Reading, RunsAnswer};
use crate::output::Reply;

/// Show runs in the terminal, or as JSON.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz show night
  kadenz show night --details
  kadenz show night --json | jq '.series[0].percentiles'
  kadenz show night --modes                       with periodic patterns, as from `kadenz modes`
  kadenz show night --deadline 400us              judged by this deadline instead of its own
  kadenz show cyclictest.json                     another program's file

Exit code 1 if the run did not keep its deadline, as its page says: misses (of a check, at the requested \
tuning), beats that were given up, lost packets or messages; of a run of `kadenz tune`, if no combination keeps \
it. Exit code 2 if no value of a series with a deadline can be read.")]
pub(crate) struct Options {
    /// Run folders, or files that `kadenz import` takes
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    #[command(flatten)]
    reading: Reading,

    /// Show every figure, not only the answer on one screen; --modes implies this
    #[arg(long)]
    details: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let paths = options.runs.iter().map(PathBuf::as_path);
    let runs = outcome::read_with(paths, options.reading)?;
    let taken = RunsAnswer::of(runs, options.details || options.reading.modes);
    let outcome = taken.outcome();
    Ok(Reply::from(taken).with(outcome))
}
