//! `kadenz export`.

use std::path::{Path, PathBuf};

use clap::Args;
use kadenz::report::export::{self, ExportError, ExportFormat};

use crate::options::{complete, waiting};
use crate::output::{self, Outcome};

/// Write a run in another format.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz export night --format hgrm                        percentiles as HdrHistogram's tools plot
  kadenz export run --series lateness --format parquet     raw samples for pandas, polars, DuckDB
  kadenz export run --series lateness --format csv --out samples.csv
  kadenz export run --format csv --out samples                      a folder with a file for each series
  kadenz export run --format gnuplot --out plot.gp && gnuplot plot.gp")]
pub(crate) struct Options {
    /// Run folder
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// The format; hgrm is in milliseconds
    #[arg(long, value_name = "FORMAT", value_parser = complete::<ExportFormat>(ExportFormat::ALL))]
    format: ExportFormat,

    /// One series only [default: all]
    #[arg(long, value_name = "NAME")]
    series: Option<String>,

    /// File to write, or a folder for several series in a format with one series per file [default: named after the
    /// run, in this folder]
    #[arg(long = "out", short, value_name = "PATH")]
    output: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let series = options.series.as_deref();
    let export = |out: &Path| {
        waiting("exporting", || {
            export::export(&options.run, series, options.format, out)
        })
    };
    let named = |separator| named_after(&options.run, series, separator, options.format);
    let exported = match &options.output {
        Some(out) => export(out),
        None => match export(&named(".")) {
            Err(ExportError::SeveralSeries { .. }) => export(&named("-")),
            other => other,
        },
    }?;
    for note in &exported.notes {
        output::note(&format!("note: {note}"));
    }
    for file in &exported.files {
        output::say(&file.display().to_string());
    }
    Ok(Outcome::Kept)
}

/// `night.hgrm`, `night-lateness.hgrm` for one series, or `night-hgrm` for a folder.
fn named_after(run: &Path, series: Option<&str>, separator: &str, format: ExportFormat) -> PathBuf {
    let absolute = std::path::absolute(run).unwrap_or_else(|_| run.to_owned());
    let mut name = absolute.file_name().unwrap_or_default().to_owned();
    if let Some(series) = series {
        name.push("-");
        name.push(series);
    }
    name.push(separator);
    name.push(format.ending());
    name.into()
}
