//! `kadenz log info`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use kadenz_msg::log::{self, ChannelInfo, Info};
use kadenz_report::numbers;
use serde::Serialize;

use super::input::LimitOptions;
use super::moment;
use crate::output::{self, Outcome};

/// Say what is in a log: its format, span and channels, and whether it is whole.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz log info drive.mcap             from the index, however long the log is
  kadenz log info drive.mcap --thorough  every message is read: damage, fingerprints, sizes
  kadenz log info old.lcmlog bag.bag     several, of any format
  kadenz log info drive.mcap --json      for scripts

Exit code 1 says that a log is damaged, or that its recorder did not come to its end.")]
pub(crate) struct Options {
    /// Logs, or folders of ROS 2
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// Read every message, also where there is an index
    #[arg(long)]
    thorough: bool,

    #[command(flatten)]
    limits: LimitOptions,
}

#[derive(Serialize)]
struct Told {
    version: u32,
    logs: Vec<ToldLog>,
}

#[derive(Serialize)]
struct ToldLog {
    path: PathBuf,
    format: String,
    library: String,
    bytes: u64,
    messages: u64,
    /// Nanoseconds since 1970 of the first and last message.
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    /// Whether its writer came to its end; `null` where the format does not tell.
    complete: Option<bool>,
    damaged_places: u64,
    skipped_bytes: u64,
    chunks: Vec<ToldChunks>,
    channels: Vec<ToldChannel>,
    /// Messages of channels beyond those that are told apart.
    other_messages: u64,
}

#[derive(Serialize)]
struct ToldChunks {
    compression: String,
    count: u64,
}

#[derive(Serialize)]
struct ToldChannel {
    channel: String,
    encoding: String,
    #[serde(rename = "type")]
    type_name: Option<String>,
    type_encoding: Option<String>,
    messages: u64,
    payload_bytes: Option<u64>,
    fingerprints: Vec<String>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut logs = Vec::new();
    for path in &options.logs {
        let said = || format!("cannot read {}", path.display());
        let mut reader = options.limits.open(path)?;
        let info = if options.thorough {
            log::survey(reader.as_mut())
        } else {
            reader.info()
        };
        logs.push((path.clone(), info.with_context(said)?));
    }
    let broken = |info: &Info| !info.damage.is_none() || info.complete == Some(false);
    let any_broken = logs.iter().any(|(_, info)| broken(info));
    if output::is_json() {
        let logs = logs.into_iter().map(|(path, info)| told(path, info));
        output::json(&Told {
            version: 1,
            logs: logs.collect(),
        })?;
    } else {
        for (path, info) in &logs {
            output::say(&format!("{}\n{}", path.display(), shown(info)));
        }
    }
    Ok(if any_broken {
        Outcome::Missed
    } else {
        Outcome::Kept
    })
}

fn told(path: PathBuf, info: Info) -> ToldLog {
    ToldLog {
        path,
        format: info.format.to_string(),
        library: info.library,
        bytes: info.bytes,
        messages: info.messages,
        first_ns: info.span.map(|(first, _)| first.as_unix_ns()),
        last_ns: info.span.map(|(_, last)| last.as_unix_ns()),
        complete: info.complete,
        damaged_places: info.damage.places,
        skipped_bytes: info.damage.skipped_bytes,
        chunks: info
            .chunks
            .into_iter()
            .map(|(compression, count)| ToldChunks { compression, count })
            .collect(),
        channels: info.channels.into_iter().map(told_channel).collect(),
        other_messages: info.other_messages,
    }
}

fn told_channel(info: ChannelInfo) -> ToldChannel {
    let schema = info.channel.schema.as_deref();
    let fingerprints = info.fingerprints.iter();
    ToldChannel {
        type_name: schema.map(|it| it.name.clone()),
        type_encoding: schema.map(|it| it.encoding.clone()),
        channel: info.channel.name,
        encoding: info.channel.encoding,
        messages: info.messages,
        payload_bytes: info.payload_bytes,
        fingerprints: fingerprints.map(|it| format!("0x{it:016x}")).collect(),
    }
}

fn shown(info: &Info) -> String {
    let mut lines = vec![format!(
        "  {}, {}",
        info.format,
        numbers::counted(info.bytes, "byte")
    )];
    if !info.library.is_empty() {
        lines.push(format!("  written by {}", info.library));
    }
    for (compression, count) in &info.chunks {
        let by = if compression.is_empty() {
            "not compressed".to_owned()
        } else {
            format!("compressed by {compression}")
        };
        lines.push(format!("  {}, {by}", numbers::counted(*count, "chunk")));
    }
    let mut seconds = 0.0;
    if let Some((first, last)) = info.span {
        let ns = last.as_unix_ns().saturating_sub(first.as_unix_ns());
        seconds = ns as f64 / 1e9;
        lines.push(format!("  from   {}", moment::shown(first)));
        lines.push(format!(
            "  until  {}, {}",
            moment::shown(last),
            numbers::span(ns as f64)
        ));
    }
    lines.push(format!("  {}", numbers::counted(info.messages, "message")));
    if info.complete == Some(false) {
        let remedy = "`kadenz log recover` makes a whole log of it";
        lines.push(format!(
            "  NOT COMPLETE: its recorder did not come to its end; {remedy}"
        ));
    }
    if !info.damage.is_none() {
        lines.push(format!(
            "  DAMAGED at {}, {} passed over",
            numbers::counted(info.damage.places, "place"),
            numbers::counted(info.damage.skipped_bytes, "byte")
        ));
    }
    lines.push(table(&info.channels, seconds));
    if info.other_messages > 0 {
        lines.push(format!(
            "  {} of further channels; only so many are told apart",
            numbers::counted(info.other_messages, "message")
        ));
    }
    lines.join("\n")
}

fn table(channels: &[ChannelInfo], seconds: f64) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["Channel", "Type", "Encoding", "Messages", "Hz", "Bytes"]);
    for info in channels {
        let schema = info.channel.schema.as_ref().map(|it| it.name.clone());
        let type_name = schema.unwrap_or_else(|| {
            let seen = info.fingerprints.iter();
            seen.map(|it| format!("0x{it:016x}"))
                .collect::<Vec<_>>()
                .join(" ")
        });
        let hertz = (info.messages.saturating_sub(1)) as f64 / seconds;
        table.add_row([
            info.channel.name.clone(),
            type_name,
            info.channel.encoding.clone(),
            numbers::thousands(info.messages),
            if seconds > 0.0 {
                numbers::three_digits(hertz)
            } else {
                String::new()
            },
            info.payload_bytes
                .map(numbers::thousands)
                .unwrap_or_default(),
        ]);
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}
