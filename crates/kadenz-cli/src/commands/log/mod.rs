//! `kadenz log`, one file per command, and the limits within which all of them read a log.

mod convert;
mod copying;
mod cut;
mod info;
mod merge;
mod moment;
mod output_file;
mod play;
mod record;
mod recover;
mod tables;

use std::path::Path;

use clap::Args;
use kadenz::msg::log::{Limits, LogError, LogReader};

commands! {
    /// Record messages, play them again, and work on logs.
    ///
    /// Reads LCM's event logs, MCAP, and the bags of ROS 1 and ROS 2, whatever their names are; writes MCAP, and
    /// LCM's event log where the file's name does not end in .mcap.
    enum Log in log {
        Info(info::Options) = info::run => "info": info::Logs;
        Record(Box<record::Options>) = record::run => "record": record::RecordedLog;
        Play(Box<play::Options>) = play::run => "play": play::PlayedLog;
        Cut(cut::Options) = cut::run => "copy": copying::CopiedLog;
        Merge(merge::Options) = merge::run;
        Convert(convert::Options) = convert::run => "tables": tables::WrittenTables;
        Recover(recover::Options) = recover::run;
    }
}

/// Limits against logs that are made to harm their reader.
#[derive(Args, Debug, Clone, Copy)]
pub(crate) struct LimitOptions {
    /// End with an error where a log expands to more than this many times its own length: such logs are made to fill
    /// a disk
    #[arg(
        long,
        value_name = "TIMES",
        default_value_t = Limits::default().expansion,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    max_expansion: u64,
}

impl LimitOptions {
    pub(crate) fn limits(self) -> Limits {
        Limits {
            expansion: self.max_expansion,
        }
    }

    /// Opens a log within these limits.
    pub(crate) fn open(self, path: &Path) -> anyhow::Result<Box<dyn LogReader>> {
        let mut reader = kadenz::msg::log::open(path).map_err(|error| cannot_read(path, error))?;
        reader.set_limits(self.limits());
        Ok(reader)
    }
}

/// Names the file once, with a remedy.
fn cannot_read(path: &Path, error: LogError) -> anyhow::Error {
    match error {
        LogError::File { path, source } => {
            anyhow::anyhow!("cannot read {}: {source}; check the path", path.display())
        }
        error => anyhow::Error::new(error).context(format!("cannot read {}", path.display())),
    }
}
