//! `kadenz report`.

use std::path::{Path, PathBuf};

use clap::Args;
use kadenz::report::html;

use super::outcome::{self, Reading};
use crate::options::waiting;
use crate::output::{self, Outcome};

/// Write one self-contained HTML page of one run or several.
///
/// The page opens offline, in light and dark, and is complete: the verdict, percentiles, maxima over time, histogram,
/// jitter, the distribution against a Gaussian, the host with its warnings and the parameters that repeat the run.
/// Several runs share its diagrams. A run of `kadenz tune` gets another page: the combination to use, every cell, and
/// the gain of each measure.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz report night                            writes night/report.html
  kadenz report idle loaded --out both.html      two runs on one page
  kadenz report night --modes                    with its periodic patterns
  kadenz report jhiccup.hlog                     another program's file: jhiccup.html
  kadenz report night --deadline 400us           judged by a deadline; exit code 1 if it was missed")]
pub(crate) struct Options {
    /// Run folders, or files that `kadenz import` takes
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// The page to write [default: report.html in the first run folder, or the file's name with
    /// .html]
    #[arg(long = "out", short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let paths = options.runs.iter().map(PathBuf::as_path);
    let runs = outcome::read_with(paths, options.reading)?;
    let page = options
        .output
        .clone()
        .unwrap_or_else(|| page_for(&options.runs[0]));
    waiting("writing the page", || html::write(&runs, &page))?;
    output::note(&format!("report: {}", absolute(&page).display()));
    // The page of a run that missed its deadline is not a failure; only a deadline stated here decides the exit code.
    Ok(match options.reading.deadline {
        Some(_) => outcome::judge(&runs),
        None => Outcome::Kept,
    })
}

/// `report.html` in a run folder; `night.html` beside `night.hlog`.
fn page_for(run: &Path) -> PathBuf {
    if run.is_file() {
        run.with_extension("html")
    } else {
        run.join("report.html")
    }
}

/// The absolute path, for a browser.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
