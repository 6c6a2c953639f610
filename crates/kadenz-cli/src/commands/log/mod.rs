//! `kadenz log`, a file a command.

mod convert;
mod copying;
mod cut;
mod info;
mod input;
mod merge;
mod moment;
mod output_file;
mod play;
mod record;
mod recover;
mod tables;

use clap::Subcommand;

use crate::output::Outcome;

/// Record messages, play them again, and work on logs.
///
/// Reads LCM's event logs, MCAP, and the bags of ROS 1 and ROS 2, whatever they are called; writes
/// MCAP, and LCM's event log where the file's name does not end in .mcap.
#[derive(Debug, Subcommand)]
pub(crate) enum Log {
    Info(info::Options),
    Record(Box<record::Options>),
    Play(Box<play::Options>),
    Cut(cut::Options),
    Merge(merge::Options),
    Convert(convert::Options),
    Recover(recover::Options),
}

pub(crate) fn run(log: &Log) -> anyhow::Result<Outcome> {
    match log {
        Log::Info(options) => info::run(options),
        Log::Record(options) => record::run(options),
        Log::Play(options) => play::run(options),
        Log::Cut(options) => cut::run(options),
        Log::Merge(options) => merge::run(options),
        Log::Convert(options) => convert::run(options),
        Log::Recover(options) => recover::run(options),
    }
}

/// What the commands' JSON looks like.
#[cfg(test)]
pub(crate) fn schemas() -> kadenz_report::schema::SchemaFile {
    kadenz_report::schema::SchemaFile::new("log", 1)
        .answer::<info::Logs>("info")
        .answer::<record::RecordedLog>("record")
        .answer::<play::PlayedLog>("play")
        .answer::<copying::CopiedLog<'_>>("copy")
        .answer::<tables::WrittenTables>("tables")
}
