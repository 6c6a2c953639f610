//! `kadenz log info`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use kadenz::msg::log::{self, ChannelInfo, Info};
use kadenz::msg::message::Fingerprint;
use kadenz::report::document::{Answer, Document, Table, Version};
use kadenz::report::numbers;
use kadenz::rt::clock::WallTime;
use schemars::JsonSchema;
use serde::Serialize;

use super::LimitOptions;
use super::moment;
use crate::options::waiting;
use crate::output::{self, Outcome, Reply};

/// Show the format, span and channels of a log, and whether it is whole.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz log info drive.mcap             from the index, however long the log is
  kadenz log info drive.mcap --thorough  every message is read: damage, fingerprints, sizes
  kadenz log info old.lcmlog bag.bag     several, of any format
  kadenz log info drive.mcap --json      for scripts

Exit code 1: a log is damaged or empty, or its recorder did not finish.")]
pub(crate) struct Options {
    /// Logs, or folders of ROS 2
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// Read every message, even where there is an index
    #[arg(long)]
    thorough: bool,

    #[command(flatten)]
    limits: LimitOptions,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct Logs {
    version: Version<1>,
    logs: Vec<DescribedLog>,
}

#[derive(JsonSchema, Serialize)]
struct DescribedLog {
    path: PathBuf,
    format: String,
    library: String,
    bytes: u64,
    messages: u64,
    /// Time of the first message, since 1970.
    first_ns: Option<i64>,
    /// Time of the last message.
    last_ns: Option<i64>,
    /// Whether the writer finished the log; null where the format does not record that.
    complete: Option<bool>,
    damaged_places: u64,
    skipped_bytes: u64,
    chunks: Vec<DescribedChunks>,
    channels: Vec<DescribedChannel>,
    /// Messages of further channels, beyond the 16,384 that are counted one by one.
    other_messages: u64,
}

#[derive(JsonSchema, Serialize)]
struct DescribedChunks {
    /// Empty where the log is uncompressed.
    compression: String,
    count: u64,
}

#[derive(JsonSchema, Serialize)]
struct DescribedChannel {
    channel: String,
    encoding: String,
    r#type: Option<String>,
    type_encoding: Option<String>,
    messages: u64,
    payload_bytes: Option<u64>,
    fingerprints: Vec<Fingerprint>,
    /// Time from the first message to the last, for people.
    #[serde(skip)]
    span_ns: Option<i64>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let mut logs = Vec::new();
    for path in &options.logs {
        let said = || format!("cannot read {}", path.display());
        let info = waiting(&format!("reading {}", path.display()), || {
            let mut reader = options.limits.open(path)?;
            let info = match options.thorough {
                true => log::survey(reader.as_mut()),
                false => reader.info(),
            };
            info.with_context(said)
        });
        logs.push(DescribedLog::of(path, info?));
    }
    let any_broken = logs.iter().any(DescribedLog::is_broken);
    let version = Version;
    Ok(Reply::from(Logs { version, logs }).with(Outcome::missed_if(any_broken)))
}

impl Answer for Logs {
    fn document(&self) -> Document {
        let logs = self.logs.iter();
        logs.fold(Document::new(), |document, log| log.add_to(document))
    }
}

impl DescribedLog {
    fn of(path: &Path, info: Info) -> Self {
        let chunks = info.chunks.into_iter();
        Self {
            path: path.to_owned(),
            format: info.format.to_string(),
            library: info.library,
            bytes: info.bytes,
            messages: info.messages,
            first_ns: info.span.map(|(first, _)| first.as_unix_ns()),
            last_ns: info.span.map(|(_, last)| last.as_unix_ns()),
            complete: info.complete,
            damaged_places: info.damage.places,
            skipped_bytes: info.damage.skipped_bytes,
            chunks: chunks
                .map(|(compression, count)| DescribedChunks { compression, count })
                .collect(),
            channels: info
                .channels
                .into_iter()
                .map(DescribedChannel::of)
                .collect(),
            other_messages: info.other_messages,
        }
    }

    fn is_broken(&self) -> bool {
        let damaged = self.damaged_places > 0 || self.skipped_bytes > 0;
        damaged || self.complete == Some(false) || self.is_empty()
    }

    /// Whether the file has no byte. Without messages, an event log has none; other logs have some.
    fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    fn add_to(&self, document: Document) -> Document {
        let path = self.path.display();
        if self.is_empty() {
            return document.sentence(format!("{path} is empty: nothing was recorded into it"));
        }
        let document = document.sentence(path.to_string());
        let document = document.sentences(self.lines());
        let head = ["Channel", "Type", "Encoding", "Messages", "Hz", "Bytes"];
        let rows = self.channels.iter().map(DescribedChannel::row);
        let document = document.table(Table::new(&head, 3, rows.collect()));
        if self.other_messages == 0 {
            return document;
        }
        document.sentence(format!(
            "{} of further channels; only so many are counted one by one",
            numbers::counted(self.other_messages, "message")
        ))
    }

    /// The lines about the whole log.
    fn lines(&self) -> Vec<String> {
        let bytes = numbers::counted(self.bytes, "byte");
        let mut lines = vec![format!("  {}, {bytes}", self.format)];
        if !self.library.is_empty() {
            lines.push(format!("  written by {}", output::name(&self.library)));
        }
        for DescribedChunks { compression, count } in &self.chunks {
            let by = match compression.as_str() {
                "" => "not compressed".to_owned(),
                name => format!("compressed by {}", output::name(name)),
            };
            lines.push(format!("  {}, {by}", numbers::counted(*count, "chunk")));
        }
        if let Some((first, last)) = self.first_ns.zip(self.last_ns) {
            let shown = |ns| moment::shown(WallTime::from_unix_ns(ns));
            let span = numbers::span(last.saturating_sub(first) as f64);
            lines.push(format!("  from   {}", shown(first)));
            lines.push(format!("  until  {}, {span}", shown(last)));
        }
        lines.push(format!("  {}", numbers::counted(self.messages, "message")));
        if self.complete == Some(false) {
            let remedy = "`kadenz log recover` recovers a whole log from it";
            lines.push(format!(
                "  NOT COMPLETE: its recorder did not finish; {remedy}"
            ));
        }
        if self.damaged_places > 0 || self.skipped_bytes > 0 {
            lines.push(format!(
                "  DAMAGED at {}, {} passed over",
                numbers::counted(self.damaged_places, "place"),
                numbers::counted(self.skipped_bytes, "byte")
            ));
        }
        lines
    }
}

impl DescribedChannel {
    fn of(info: ChannelInfo) -> Self {
        let schema = info.channel.schema.as_deref();
        let ns = |it: (WallTime, WallTime)| it.1.as_unix_ns().saturating_sub(it.0.as_unix_ns());
        Self {
            span_ns: info.span.map(ns),
            r#type: schema.map(|it| it.name.clone()),
            type_encoding: schema.map(|it| it.encoding.clone()),
            channel: info.channel.name,
            encoding: info.channel.encoding,
            messages: info.messages,
            payload_bytes: info.payload_bytes,
            fingerprints: info.fingerprints.into_iter().map(Fingerprint).collect(),
        }
    }

    fn row(&self) -> Vec<String> {
        let seen = self.fingerprints.iter().map(ToString::to_string);
        let seen = || seen.collect::<Vec<_>>().join(" ");
        let between = self.messages.saturating_sub(1) as f64;
        let seconds = self.span_ns.filter(|ns| *ns > 0);
        let hertz = seconds.map(|ns| numbers::three_digits(between * 1e9 / ns as f64));
        vec![
            self.channel.clone(),
            self.r#type.clone().unwrap_or_else(seen),
            self.encoding.clone(),
            numbers::thousands(self.messages),
            hertz.unwrap_or_default(),
            self.payload_bytes
                .map(numbers::thousands)
                .unwrap_or_default(),
        ]
    }
}
