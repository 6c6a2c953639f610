//! `kadenz log convert`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kadenz::msg::log::copy::{self, Decision, OWN_CHANNELS, ToJson};
use kadenz::msg::log::play::PlayOptions;
use kadenz::msg::log::table::TableFormat;
use kadenz::msg::log::{self, Dictionary, Entry, LogReader};
use kadenz::msg::types::Types;
use kadenz::report::numbers;

use super::LimitOptions;
use super::copying;
use super::cut::SelectionOptions;
use super::output_file::LogOutputOptions;
use super::tables::Target;
use crate::commands::interrupt;
use crate::output::Reply;

/// Write a log in another format, its messages as JSON, or as tables.
///
/// With the folder of the .lcm files, MCAP gets the description of each type, so that every reader can decode the log
/// without further files. A table has a row for each message and a column for each field, as pose.position.x or
/// joints[0].
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz log convert old.lcmlog --types msgs/ --out old.mcap
  kadenz log convert drive.mcap --to json --out shown.mcap      Foxglove shows its fields
  kadenz log convert drive.mcap --out drive.lcmlog              for lcm-logplayer
  kadenz log convert bag.bag --out bag.mcap                     from ROS 1; payloads stay as they are
  kadenz log convert drive.mcap --channel POSE --out pose.csv   a row for each message, for a spreadsheet
  kadenz log convert drive.mcap --channel POSE --out pose.parquet    for pandas, polars, DuckDB
  kadenz log convert drive.mcap --to parquet --out tables       a folder with a file for each channel

Exit code 1: the log is damaged; what could be read is written.
Exit code 2: interrupted, or messages could not be converted; their number and the reason are printed. With --to json, \
those of channels whose names begin with KADENZ/ count only if --channel names them.")]
pub(crate) struct Options {
    /// The log, or a folder of ROS 2
    #[arg(value_name = "LOG")]
    log: PathBuf,

    /// Encoding of the messages
    #[arg(long, value_name = "ENCODING", default_value = "same")]
    to: Encoding,

    /// Folder or file with .lcm types (repeatable)
    #[arg(long, value_name = "PATH")]
    types: Vec<PathBuf>,

    #[command(flatten)]
    part: SelectionOptions,

    #[command(flatten)]
    output: LogOutputOptions,

    #[command(flatten)]
    limits: LimitOptions,
}

/// Encoding of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Encoding {
    /// Unchanged, or a table where --out ends in .csv or .parquet
    Same,
    /// JSON with a JSON schema from LCM messages, in MCAP
    Json,
    /// Rows from LCM messages: --out is a file that ends in .csv, or a folder that gets a file for each channel
    Csv,
    /// The same in Parquet
    Parquet,
}

impl Encoding {
    /// The requested table format, by the option or by the output's name.
    fn table(self, out: &std::path::Path) -> anyhow::Result<Option<TableFormat>> {
        let named = TableFormat::of(out).filter(|_| !out.is_dir());
        let asked = match self {
            Self::Same => return Ok(named),
            Self::Json => return Ok(None),
            Self::Csv => TableFormat::Csv,
            Self::Parquet => TableFormat::Parquet,
        };
        anyhow::ensure!(
            named.is_none_or(|it| it == asked),
            "--to {} and --out {} ask for two formats; leave --to away, or name a folder",
            asked.ending(),
            out.display()
        );
        Ok(Some(asked))
    }
}

/// The types in folders and files; none if the user names none.
pub(crate) fn dictionary(paths: &[PathBuf]) -> anyhow::Result<Dictionary> {
    if paths.is_empty() {
        return Ok(Dictionary::default());
    }
    Ok(Dictionary::new(Types::from_files(paths)?))
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let table = options.to.table(&options.output.out)?;
    let to_json = options.to == Encoding::Json;
    anyhow::ensure!(
        !to_json || super::output_file::format_of(&options.output.out)? == log::Format::Mcap,
        "LCM's event log says nothing of encodings; JSON needs an --out that ends in .mcap"
    );
    let dictionary = dictionary(&options.types)?;
    let mut reader = options.limits.open(&options.log)?;
    let part = options.part.of(reader.as_mut())?;
    if let Some(from) = part.from {
        reader.seek(from)?;
    }
    let whole = Whole {
        options,
        reader: reader.as_mut(),
        part,
        dictionary,
    };
    match table {
        Some(format) => whole.into_tables(format),
        None => whole.into_log(to_json),
    }
}

/// Inputs of a conversion.
struct Whole<'a> {
    options: &'a Options,
    reader: &'a mut dyn LogReader,
    part: PlayOptions,
    dictionary: Dictionary,
}

impl Whole<'_> {
    fn into_log(self, to_json: bool) -> anyhow::Result<Reply> {
        let options = self.options;
        let (output, limits) = (&options.output, options.limits);
        let mut dictionary = self.dictionary;
        let mut to_json =
            to_json.then(|| ToJson::new(std::mem::take(&mut dictionary), &self.part.channels));
        let mut convert = |entry: &mut Entry| match &mut to_json {
            Some(to_json) => to_json.convert(entry),
            None => {
                dictionary.complete(entry);
                Decision::Keep
            }
        };
        let mut judge = |entry: &mut Entry| copy::within(&self.part, entry, &mut convert);
        let copied = copying::into_log(self.reader, &[&options.log], output, limits, &mut judge)?;
        let skipped = to_json.map_or(0, |it| it.skipped);
        let skipped = (skipped > 0).then(|| {
            let skipped = numbers::counted(skipped, "message");
            format!("{skipped} of Kadenz's own channels ({OWN_CHANNELS}...) not converted; --channel names them")
        });
        let left_out = copied.leaves_out();
        let reply = copied.reply().notes(skipped);
        Ok(reply.map_outcome(|it| it.or_incomplete(left_out)))
    }

    fn into_tables(self, format: TableFormat) -> anyhow::Result<Reply> {
        let options = self.options;
        let target = Target {
            format,
            out: &options.output.out,
            overwrite: options.output.force,
            input: &options.log,
        };
        let stop = interrupt::quietly_stop_on_interrupt()?;
        let (tables, pending) = target.create(self.dictionary)?;
        let malformed = tables.malformed();
        let writer = Box::new(tables);
        let mut judge = |entry: &mut Entry| copy::within(&self.part, entry, |_| Decision::Keep);
        let copied = copying::copy(self.reader, writer, options.limits, &stop, &mut judge)?;
        target.end(copied, &pending, malformed.get())
    }
}
