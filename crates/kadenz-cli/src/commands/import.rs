//! `kadenz import`.

use std::path::{Path, PathBuf};

use clap::Args;
use kadenz::report::document::{Answer, Document};
use kadenz::report::import::{self, ImportFormat};
use kadenz::report::summary;
use schemars::JsonSchema;
use serde::Serialize;

use super::outcome::{self, RunsAnswer};
use crate::options::{Span, StdinOption, complete, waiting};
use crate::output::{Outcome, Reply};

/// Convert another tool's measurement into a run, which can be shown, compared and reported.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz import hiccup.261121.2104.29783.hlog          jHiccup's log, or any HdrHistogram's
  cyclictest -m -p 80 -D 60 -h 1000 --json=ct.json; kadenz import ct.json --out ct
  kadenz import ct.json --deadline 400us               judged: exit code 1 if it was missed
  kadenz import rtt.csv --format csv                   columns time_ns,value_ns")]
pub(crate) struct Options {
    /// File of the other tool
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The format [default: detected from the content]
    #[arg(long, value_name = "FORMAT", value_parser = complete::<ImportFormat>(ImportFormat::ALL))]
    format: Option<ImportFormat>,

    /// The limit: a value above it is a miss; the run records it for every series [default: none]
    #[arg(long, value_name = "SPAN")]
    deadline: Option<Span>,

    /// Run folder to write [default: the file's name with .run, in this folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Experiments pass this option to each of their steps; an import ends by itself.
    #[command(flatten)]
    _ends: StdinOption,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let format = match options.format {
        Some(format) => format,
        None => import::detect(&options.file)?,
    };
    let out = options
        .out
        .clone()
        .unwrap_or_else(|| folder_for(&options.file));
    waiting("importing", || import::import(&options.file, format, &out))?;
    if let Some(deadline) = options.deadline {
        summary::state_deadline(&out, deadline.as_ns())?;
    }
    let runs = outcome::read(std::iter::once(out.as_path()))?;
    let imported = Imported {
        taken: RunsAnswer::of(runs, false),
        format: format.to_string(),
        run: out.clone(),
    };
    let outcome = match options.deadline {
        Some(_) => imported.taken.outcome(),
        None => Outcome::Kept,
    };
    Ok(Reply::from(imported)
        .note(format!("imported as {format}; run: {}", out.display()))
        .with(outcome))
}

/// Result of an import.
#[derive(Serialize, JsonSchema)]
pub(super) struct Imported {
    /// The imported run in the form of every measuring command.
    #[serde(flatten)]
    taken: RunsAnswer,
    /// Format of the imported file.
    format: String,
    /// The written run folder.
    run: PathBuf,
}

impl Answer for Imported {
    fn document(&self) -> Document {
        self.taken.document()
    }
}

/// `night.hlog` becomes `night.run`.
fn folder_for(file: &Path) -> PathBuf {
    let mut name = file.file_stem().unwrap_or_default().to_owned();
    name.push(".run");
    name.into()
}
