//! `kadenz log record`.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use kadenz::lab::stop::Stop;
use kadenz::msg::bus::Bus;
use kadenz::msg::channel::{ChannelFilter, Pattern};
use kadenz::msg::log::LogError;
use kadenz::msg::log::compression::Compression;
use kadenz::msg::log::record::{
    ChannelCounts, FurtherCounts, Naming, RecordOptions, Recorded, SetBack, Split, host_facts,
    next_free,
};
use kadenz::msg::recording::{
    BusRecording, BusRecordingError, BusRecordingOptions, RecordingNotice,
};
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use kadenz::rt::units::ParseQuantityError;
use schemars::JsonSchema;
use serde::Serialize;

use super::output_file;
use crate::commands::msg::bus;
use crate::commands::msg::types::TypesOption;
use crate::options::{Size, Span, StdinOption, complete};
use crate::output::{self, Outcome, Reply};

/// Record a bus's messages into a log.
///
/// Receiving never waits for the disk: messages that a slow or full disk cannot take are dropped and counted for
/// their channel, and writing continues when the disk can take more. A log whose recorder was killed is readable up
/// to its last whole chunk, at most a flush interval before the kill.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz log record --out drive.mcap                         LCM's default bus, until Ctrl-C
  kadenz log record --out drive.mcap --types msgs/           a log that decodes itself
  kadenz log record --url 'udpm://239.255.76.67:7667?ttl=1' --out drive.lcmlog --channel 'ARM_.*'
  kadenz log record --out black-box.mcap --split-mb 1000 --rotate 10
  kadenz log record --out drive-%F.mcap --strftime --split-every 1h
  kadenz log record --out drive.mcap --disk-quota 10GB       stops writing while less is free

Exit code 1: messages were dropped.")]
pub(crate) struct Options {
    #[command(flatten)]
    bus: bus::BusOptionOrUrl,

    /// The log to write: MCAP where the name ends in .mcap, else LCM's event log; with --strftime, strftime's %
    /// sequences are replaced
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,

    /// Channels, by a regular expression that matches the whole name (repeatable)
    #[arg(short, long = "channel", value_name = "REGEX", value_parser = Pattern::new)]
    channels: Vec<Pattern>,

    /// All channels but those of --channel
    #[arg(short = 'v', long, requires = "channels")]
    invert: bool,

    /// Print more on standard error; without the letter of other commands, which inverts here as in lcm-logger
    #[arg(long, action = clap::ArgAction::Count)]
    verbose: u8,

    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    #[command(flatten)]
    types: TypesOption,

    /// Overwrite existing files
    #[arg(short, long, help_heading = "Files")]
    force: bool,

    /// Use the next free number where the file exists
    #[arg(short, long, conflicts_with_all = ["force", "rotate"], help_heading = "Files")]
    increment: bool,

    /// Append to the end of an existing event log
    #[arg(short, long, conflicts_with_all = ["force", "increment", "rotate"], help_heading = "Files")]
    append: bool,

    /// Format FILE by strftime, as drive-%Y-%m-%d.mcap
    #[arg(short, long, help_heading = "Files")]
    strftime: bool,

    /// Begin the next file once this one has this size: a number of MB, or with another unit, as 1GiB
    #[arg(long, value_name = "MB", value_parser = megabytes, help_heading = "Files")]
    split_mb: Option<Size>,

    /// Begin the next file once this one is this old, as 1h
    #[arg(long, value_name = "SPAN", value_parser = lasting, help_heading = "Files")]
    split_every: Option<Span>,

    /// Keep this many files: number 0 is written, older ones are renamed upwards
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Files")]
    rotate: Option<u32>,

    /// Write nothing while the disk has less free space than this
    #[arg(long, value_name = "SIZE", help_heading = "Files")]
    disk_quota: Option<Size>,

    /// Flush data into the file at this interval
    #[arg(
        long,
        value_name = "SPAN",
        default_value = "1s",
        help_heading = "Files"
    )]
    flush_interval: Span,

    /// Compression of MCAP's chunks
    #[arg(
        long,
        value_name = "NAME",
        value_parser = complete::<Compression>(Compression::WRITTEN),
        default_value = "lz4",
        help_heading = "Files"
    )]
    compression: Compression,

    /// Memory for messages that wait for the disk, allocated at the start
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    queue: Size,

    /// The same in MB, as lcm-logger takes it, or with a unit
    #[arg(short, long, value_name = "MB", value_parser = megabytes, conflicts_with = "queue")]
    max_unwritten_mb: Option<Size>,

    #[command(flatten)]
    ends: StdinOption,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct RecordedLog {
    version: Version<1>,
    /// Those that are there, in the order of their start.
    files: Vec<PathBuf>,
    /// Files of this recording that rotation deleted.
    deleted_files: u64,
    /// Also those in deleted files.
    messages: u64,
    /// Also those in deleted files.
    payload_bytes: u64,
    dropped: u64,
    /// The last error of the disk, where it persists.
    trouble: Option<String>,
    /// How often the wall clock was set back; the times in the log continue without the step.
    clock_set_back: u64,
    /// By how much in total.
    clock_set_back_ns: u64,
    channels: Vec<ChannelCounts>,
    /// Counts of all channels beyond the 4,096 that are counted one by one.
    further_channels: FurtherCounts,
    /// Messages dropped since no log can hold the name of their channel.
    dropped_unnamed: u64,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let url = options.bus.url();
    let provider = bus::open(&url)?;
    // A wait for a type's description must not keep a message in memory beyond a flush.
    let longest = options.flush_interval.0;
    let bus = Bus::over(&url, Arc::clone(&provider));
    let describe = options.types.describe(&bus, longest)?;
    let request = options.request(&options.ends.stop()?)?;
    let recording = BusRecording::start(&*provider, request, describe).map_err(with_remedy)?;
    output::note(&format!("recording {url}; Ctrl-C ends it"));
    let recorded = recording.run(&mut |notice| {
        output::note(&match notice {
            RecordingNotice::Trouble(trouble) => format!("trouble: {trouble}"),
            RecordingNotice::FurtherChannels => further_channels(),
            RecordingNotice::ClockSetBack(set_back) => clock_set_back(set_back),
        });
    });
    let outcome = Outcome::missed_if(recorded.dropped() > 0 || recorded.trouble.is_some());
    let reply = Reply::summary(RecordedLog::of(&recorded));
    Ok(reply.complaints(complaints(&recorded)).with(outcome))
}

impl Options {
    fn path(&self) -> PathBuf {
        let mut path = self.out.clone();
        if self.strftime {
            let name = self.out.to_string_lossy().into_owned();
            path = PathBuf::from(jiff::Zoned::now().strftime(&name).to_string());
        }
        match self.increment {
            true => next_free(&path),
            false => path,
        }
    }

    fn request(&self, stop: &Stop) -> anyhow::Result<BusRecordingOptions> {
        let path = self.path();
        let split = Split {
            bytes: self.split_mb.map(|size| size.0),
            every: self.split_every.map(|span| span.0),
        };
        anyhow::ensure!(
            self.rotate.is_none() || split.is_asked_for(),
            "--rotate keeps files that were split; say --split-mb or --split-every as well"
        );
        let queue = self.max_unwritten_mb.unwrap_or(self.queue);
        let record = RecordOptions {
            format: output_file::format_of(&path)?,
            compression: self.compression,
            queue_bytes: queue.in_memory("--queue")?,
            flush_interval: self.flush_interval.0,
            split,
            naming: self.rotate.map_or(Naming::Numbered, Naming::Rotating),
            overwrite: self.force,
            append: self.append,
            keep_free_bytes: self.disk_quota.map_or(0, |size| size.0),
            facts: host_facts(),
            ..RecordOptions::default()
        };
        Ok(BusRecordingOptions {
            path,
            record,
            channels: ChannelFilter {
                patterns: self.channels.clone(),
                inverted: self.invert,
            },
            duration: self.duration.map(|span| span.0),
            stop: stop.flag(),
        })
    }
}

/// Adds the remedy to the error of a file that cannot be created.
fn with_remedy(error: BusRecordingError) -> anyhow::Error {
    let BusRecordingError::Log(LogError::File { path, source }) = error else {
        return error.into();
    };
    let path = path.display();
    match source.kind() {
        ErrorKind::AlreadyExists => {
            let remedy = "--force overwrites it, --increment takes the next free number";
            anyhow::anyhow!("{path} is there already; {remedy}")
        }
        ErrorKind::ResourceBusy => {
            let remedy = "wait for its end, or give this recording another --out";
            anyhow::anyhow!("{path}: {source}; {remedy}")
        }
        ErrorKind::NotFound => {
            anyhow::anyhow!("{path} cannot be made: its folder is not there")
        }
        ErrorKind::PermissionDenied => {
            anyhow::anyhow!(
                "{path} cannot be made: this user may not write there; choose another --out"
            )
        }
        _ => anyhow::anyhow!("{path} cannot be made: {source}"),
    }
}

/// Parses a size above 0; a number without a unit is in MB, as lcm-logger takes it.
fn megabytes(text: &str) -> Result<Size, String> {
    let with_unit = text.parse().or_else(|_| format!("{text}MB").parse());
    let size = with_unit.ok().filter(|size| *size > Size(0));
    size.ok_or_else(|| {
        format!("`{text}` is not a valid size; write MB above 0 in digits, as 500 or 0.5, or 1GiB")
    })
}

/// Parses a span greater than zero.
fn lasting(text: &str) -> Result<Span, String> {
    let span: Span = text
        .parse()
        .map_err(|error: ParseQuantityError| error.to_string())?;
    if span.0.is_zero() {
        return Err("it must be longer than nothing, for example 1h".to_owned());
    }
    Ok(span)
}

fn further_channels() -> String {
    format!(
        "more than {} channels: messages of further ones are recorded, and counted together; --channel \
         takes those you want alone",
        RecordOptions::default().most_channels
    )
}

fn clock_set_back(set_back: SetBack) -> String {
    format!(
        "the wall clock was set back by {} in all; the log's times go on as if it had not been, so that \
         spans stay right",
        numbers::span(set_back.ns as f64)
    )
}

/// The problems of a recording, for people; JSON has their counts.
fn complaints(recorded: &Recorded) -> Vec<String> {
    if output::is_json() {
        return Vec::new();
    }
    let further = recorded.further;
    let lossy = recorded.channels.iter();
    let lossy = lossy.filter(|it| it.queue_full + it.disk_full > 0);
    let mut all: Vec<String> = lossy
        .map(|it| {
            format!(
                "{}: {} dropped as the queue was full, {} as the disk was",
                it.channel, it.queue_full, it.disk_full
            )
        })
        .collect();
    if further.offered > 0 {
        all.push(format!(
            "{}: {} written, {} dropped as the queue was full, {} as the disk was",
            further_channels(),
            further.written,
            further.queue_full,
            further.disk_full
        ));
    }
    if recorded.unnamed > 0 {
        let count = numbers::counted(recorded.unnamed, "message");
        all.push(format!(
            "{count} dropped, whose channel has no name that a log holds"
        ));
    }
    if recorded.given_up > 0 {
        all.push(format!(
            "{} of those given up for the index on a full disk",
            recorded.given_up
        ));
    }
    if recorded.set_back.times > 0 {
        all.push(clock_set_back(recorded.set_back));
    }
    all
}

impl RecordedLog {
    fn of(recorded: &Recorded) -> Self {
        Self {
            version: Version,
            files: recorded.files.clone(),
            deleted_files: recorded.deleted_files,
            messages: recorded.written(),
            payload_bytes: recorded.bytes,
            dropped: recorded.dropped(),
            trouble: recorded.trouble.clone(),
            clock_set_back: recorded.set_back.times,
            clock_set_back_ns: recorded.set_back.ns,
            channels: recorded.channels.clone(),
            further_channels: recorded.further,
            dropped_unnamed: recorded.unnamed,
        }
    }
}

impl Answer for RecordedLog {
    fn document(&self) -> Document {
        let counts = format!(
            "{} on {}, {}",
            numbers::counted(self.messages, "message"),
            numbers::counted(self.channels.len() as u64, "channel"),
            numbers::counted(self.payload_bytes, "byte")
        );
        let files = self.files.iter();
        let files = files.map(|it| format!("  {}", it.display()));
        let document = Document::from(counts).sentences(files);
        match self.deleted_files {
            0 => document,
            deleted => document.sentence(format!(
                "  {} deleted by --rotate; their messages are counted",
                numbers::counted(deleted, "older file")
            )),
        }
    }
}
