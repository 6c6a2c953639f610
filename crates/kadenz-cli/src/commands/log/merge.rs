//! `kadenz log merge`.

use std::path::{Path, PathBuf};

use clap::Args;
use kadenz::msg::log::copy::Decision;
use kadenz::msg::log::merge::Merged;

use super::LimitOptions;
use super::copying;
use super::output_file::LogOutputOptions;
use crate::output::Reply;

/// Make one log of several, in the order of their times.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz log merge drive.mcap drive-001.mcap drive-002.mcap --out whole.mcap
  kadenz log merge robot.lcmlog base-station.bag --out both.mcap   of any format

Times are those of the recording machines; Kadenz shifts no clock.

Exit code 1: a log is damaged; what could be read is written. Exit code 2: interrupted.")]
pub(crate) struct Options {
    /// Logs, or folders of ROS 2
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,

    #[command(flatten)]
    output: LogOutputOptions,

    #[command(flatten)]
    limits: LimitOptions,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let mut readers = Vec::new();
    for path in &options.logs {
        readers.push(options.limits.open(path)?);
    }
    let inputs: Vec<&Path> = options.logs.iter().map(PathBuf::as_path).collect();
    let (merged, output) = (&mut Merged::new(readers), &options.output);
    let copied = copying::into_log(merged, &inputs, output, options.limits, &mut |_| {
        Decision::Keep
    })?;
    Ok(copied.reply())
}
