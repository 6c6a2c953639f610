//! `kadenz log convert`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kadenz_msg::log::{self, Dictionary};
use kadenz_msg::types::Types;

use super::copying::{self, Fate};
use super::input::LimitOptions;
use super::output_file::OutputOptions;
use crate::commands::interrupt;
use crate::output::Outcome;

/// Write a log in another format, or its messages as JSON.
///
/// With the folder of the .lcm files, MCAP gets the description of each type, so that the log decodes
/// itself for ever.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz log convert old.lcmlog --types msgs/ --out old.mcap
  kadenz log convert drive.mcap --to json --out shown.mcap      Foxglove shows its fields
  kadenz log convert drive.mcap --out drive.lcmlog              for lcm-logplayer
  kadenz log convert bag.bag --out bag.mcap                     from ROS 1; payloads stay as they are")]
pub(crate) struct Options {
    /// The log, or a folder of ROS 2
    #[arg(value_name = "LOG")]
    log: PathBuf,

    /// What becomes of the messages
    #[arg(long, value_name = "ENCODING", default_value = "same")]
    to: Encoding,

    /// Folder or file with .lcm types; may be given several times
    #[arg(long, value_name = "PATH")]
    types: Vec<PathBuf>,

    #[command(flatten)]
    output: OutputOptions,

    #[command(flatten)]
    limits: LimitOptions,

    /// Print what was done as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// What becomes of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Encoding {
    /// They stay as they are
    Same,
    /// LCM messages become JSON with a JSON schema, in MCAP
    Json,
}

/// The types in folders and files; none where none is named.
pub(crate) fn dictionary(paths: &[PathBuf]) -> anyhow::Result<Dictionary> {
    if paths.is_empty() {
        return Ok(Dictionary::default());
    }
    Ok(Dictionary::new(Types::from_files(paths)?))
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let to_json = options.to == Encoding::Json;
    anyhow::ensure!(
        !to_json || super::output_file::format_of(&options.output.out)? == log::Format::Mcap,
        "LCM's event log says nothing of encodings; JSON needs an --out that ends in .mcap"
    );
    let mut dictionary = dictionary(&options.types)?;
    let mut reader = options.limits.open(&options.log)?;
    let stop = interrupt::stop_on_interrupt()?;
    let writer = options.output.create(&[&options.log])?;
    let copied = copying::copy(
        reader.as_mut(),
        writer,
        options.limits.limits(),
        &stop,
        &mut |entry| {
            if to_json {
                return match dictionary.to_json(entry) {
                    Ok(()) => Fate::Keep,
                    Err(_) if entry.channel.encoding == "json" => Fate::Keep,
                    Err(error) => Fate::LeaveOut(error.to_string()),
                };
            }
            dictionary.complete(entry);
            Fate::Keep
        },
    )?;
    copying::tell(&copied, options.json, &options.output.out)?;
    Ok(if copied.left_out > 0 {
        Outcome::Incomplete
    } else {
        Outcome::Kept
    })
}
