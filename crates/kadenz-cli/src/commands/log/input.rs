//! The input logs of a command.

use std::path::Path;

use anyhow::Context as _;
use clap::Args;
use kadenz::msg::log::{self, Limits, LogReader};

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
        let reader = log::open(path);
        let mut reader = reader.with_context(|| format!("cannot read {}", path.display()))?;
        reader.set_limits(self.limits());
        Ok(reader)
    }
}
