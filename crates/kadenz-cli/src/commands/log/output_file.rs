//! The output file of a command that writes a log.

use std::fs::{self, File};
use std::iter;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use kadenz::msg::log::compression::Compression;
use kadenz::msg::log::mcap::{McapOptions, McapWriter};
use kadenz::msg::log::{Format, LogWriter, write_to};

use crate::options::complete;

/// Output of a log.
#[derive(Args, Debug)]
pub(crate) struct LogOutputOptions {
    /// The log to write: MCAP where the name ends in .mcap, LCM's event log where it ends in .lcmlog or has no ending
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// Overwrite an existing file
    #[arg(short, long)]
    pub(crate) force: bool,

    /// Compression of MCAP's chunks
    #[arg(long, value_name = "NAME", default_value = "lz4",
          value_parser = complete::<Compression>(Compression::WRITTEN))]
    pub(crate) compression: Compression,
}

/// Format of a log by its name. The names of lcm-logger end in nothing or in a number.
pub(crate) fn format_of(path: &Path) -> anyhow::Result<Format> {
    let Some(ending) = path.extension() else {
        return Ok(Format::EventLog);
    };
    match ending.to_string_lossy().as_ref() {
        "mcap" => Ok(Format::Mcap),
        "lcmlog" | "lcm" | "log" => Ok(Format::EventLog),
        number if number.bytes().all(|it| it.is_ascii_digit()) => Ok(Format::EventLog),
        table @ ("csv" | "parquet") => anyhow::bail!(
            "{}: a .{table} is a table and no log; `kadenz log convert` makes one of a log",
            path.display()
        ),
        other => anyhow::bail!(
            "{}: no log is written as .{other}; .mcap is MCAP, and .lcmlog, .lcm, .log, a number or \
             no ending is LCM's event log",
            path.display()
        ),
    }
}

/// Whether an input is that file, or a folder with it, under whatever name.
fn holds(input: &Path, file: &Path) -> bool {
    let inside = fs::read_dir(input).into_iter().flatten().flatten();
    let mut all = iter::once(input.to_owned()).chain(inside.map(|it| it.path()));
    all.any(|it| is_same(&it, file))
}

#[cfg(unix)]
fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same(one: &Path, other: &Path) -> bool {
    let paths = (fs::canonicalize(one), fs::canonicalize(other));
    matches!(paths, (Ok(one), Ok(other)) if one == other)
}

impl LogOutputOptions {
    /// Creates the file. It is never an input file, even where overwriting is allowed.
    pub(crate) fn create(&self, inputs: &[&Path]) -> anyhow::Result<Box<dyn LogWriter>> {
        for input in inputs {
            anyhow::ensure!(
                !holds(input, &self.out),
                "{} is read and cannot be written as well; name another --out",
                self.out.display()
            );
        }
        let format = format_of(&self.out)?;
        let mut options = File::options();
        // The MCAP writer reads the file's index back at its end.
        options.read(true).write(true);
        let file = if self.force {
            options.create(true).truncate(true).open(&self.out)
        } else {
            options.create_new(true).open(&self.out)
        };
        let file = file.with_context(|| {
            let remedy = if self.out.exists() {
                "; --force overwrites it"
            } else {
                ""
            };
            format!("cannot make {}{remedy}", self.out.display())
        })?;
        Ok(match format {
            Format::Mcap => {
                let options = McapOptions {
                    compression: self.compression,
                    ..McapOptions::default()
                };
                Box::new(McapWriter::new(Box::new(file), &options)?)
            }
            other => write_to(Box::new(file), other)?,
        })
    }
}
