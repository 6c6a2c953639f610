//! `kadenz log cut`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use kadenz::msg::channel::{ChannelFilter, Pattern};
use kadenz::msg::log::copy::{self, Decision};
use kadenz::msg::log::play::PlayOptions;
use kadenz::msg::log::{self, Entry};

use super::LimitOptions;
use super::copying;
use super::moment::{self, Moment};
use super::output_file::LogOutputOptions;
use crate::output::Reply;

/// Write a part of a log: a span of time, some of its channels.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz log cut drive.mcap --from 90s --until 100s --out fall.mcap
  kadenz log cut drive.mcap --from 2026-02-03T14:00:00Z --out later.mcap
  kadenz log cut drive.mcap --channel 'CAMERA.*' --invert --out small.mcap
  kadenz log cut old.lcmlog --from @1700000000.25 --out part.lcmlog

Exit code 1: the log is damaged; what could be read is written. Exit code 2: interrupted.")]
pub(crate) struct Options {
    /// The log
    #[arg(value_name = "LOG")]
    log: PathBuf,

    #[command(flatten)]
    part: SelectionOptions,

    #[command(flatten)]
    output: LogOutputOptions,

    #[command(flatten)]
    limits: LimitOptions,
}

/// A part of a log.
#[derive(Debug, Args)]
pub(crate) struct SelectionOptions {
    /// Begin here: a span from the log's begin, or a time
    #[arg(long, value_name = "MOMENT")]
    pub(crate) from: Option<Moment>,

    /// End before this: a span from the log's begin, or a time
    #[arg(long, value_name = "MOMENT")]
    pub(crate) until: Option<Moment>,

    /// Channels, by a regular expression that matches the whole name (repeatable)
    #[arg(short, long = "channel", value_name = "REGEX", value_parser = Pattern::new)]
    pub(crate) channels: Vec<Pattern>,

    /// All channels but those of --channel
    #[arg(short = 'v', long, requires = "channels")]
    pub(crate) invert: bool,

    /// Print more on standard error; without the letter of other commands, which inverts here as in lcm-logger
    #[arg(long, action = clap::ArgAction::Count)]
    verbose: u8,
}

impl SelectionOptions {
    /// The selected part; finds the log's begin only where the selection needs it.
    pub(crate) fn of(&self, reader: &mut dyn log::LogReader) -> anyhow::Result<PlayOptions> {
        let (from, until) = moment::part(reader, self.from, self.until)?;
        if let (Some(from), Some(until)) = (from, until) {
            anyhow::ensure!(
                from < until,
                "the part ends before it begins: {} is not before {}",
                moment::shown(from),
                moment::shown(until)
            );
        }
        Ok(PlayOptions {
            from,
            until,
            channels: ChannelFilter {
                patterns: self.channels.clone(),
                inverted: self.invert,
            },
            ..PlayOptions::default()
        })
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let said = || format!("cannot read {}", options.log.display());
    let mut reader = options.limits.open(&options.log)?;
    let part = options.part.of(reader.as_mut()).with_context(said)?;
    if let Some(from) = part.from {
        reader.seek(from)?;
    }
    let (reader, output) = (reader.as_mut(), &options.output);
    let mut judge = |entry: &mut Entry| copy::within(&part, entry, |_| Decision::Keep);
    let copied = copying::into_log(reader, &[&options.log], output, options.limits, &mut judge)?;
    Ok(copied.reply())
}
