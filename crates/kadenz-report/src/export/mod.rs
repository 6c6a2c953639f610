//! Runs for other programs.
//!
//! Each format has one file here. Formats of single values need raw samples; those of distributions are made from the
//! interval log, which every series has.
//!
//! | format | holds | of a run with several series |
//! |---|---|---|
//! | `hlog` | interval log 1.3, for jHiccup's and HdrHistogram's viewers | one log, each series a tag |
//! | `hgrm` | percentile distribution in milliseconds, as HdrHistogram prints it | a folder, a file a series |
//! | `csv` | samples, or buckets where no samples were kept | a folder, a file a series |
//! | `parquet` | samples | a folder, a file a series |
//! | `gnuplot` | script and data: percentile curve, histogram with log counts | one script with all |
//!
//! ```
//! use kadenz_report::{export, import};
//!
//! let folder = tempfile::tempdir()?;
//! let csv = folder.path().join("wakeups.csv");
//! std::fs::write(&csv, "time_ns,value_ns\n0,52000\n1000000,61000\n")?;
//! let run = folder.path().join("run");
//! import::import(&csv, import::ImportFormat::Csv, &run)?;
//!
//! let out = folder.path().join("wakeups.hgrm");
//! export::export(&run, Some("values"), "hgrm".parse()?, &out)?;
//! let text = std::fs::read_to_string(&out)?;
//! assert!(text.contains("#[Max     =        0.061, Total count    =            2]"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod csv;
mod gnuplot;
mod hgrm;
mod hlog;
#[cfg(feature = "parquet")]
mod parquet;
mod series;

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, io};

#[cfg(feature = "parquet")]
use ::parquet::errors::ParquetError;
use kadenz_record::hlog::reader::ReadLogError;
use kadenz_record::hlog::writer::EncodeLineError;
use kadenz_record::run::folder::{OpenRunError, OpenSeriesError, RunReader};
use kadenz_record::samples::reader::ReadSamplesError;
use thiserror::Error;

use self::series::SeriesReader;
use crate::new_file::NewFile;

pub use hgrm::Unit;

/// A file format that a run can be exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExportFormat {
    /// HdrHistogram interval log 1.3.
    Hlog,
    /// Percentile distribution as HdrHistogram prints it, values in the given unit.
    Hgrm(Unit),
    /// Text: samples, or buckets where no samples were kept.
    Csv,
    /// Apache Parquet: samples.
    Parquet,
    /// A script for gnuplot with the data in it.
    Gnuplot,
}

impl ExportFormat {
    /// Every format, files of percentiles in each unit.
    pub const ALL: [Self; 7] = [
        Self::Hlog,
        Self::Hgrm(Unit::Milliseconds),
        Self::Hgrm(Unit::Microseconds),
        Self::Hgrm(Unit::Nanoseconds),
        Self::Csv,
        Self::Parquet,
        Self::Gnuplot,
    ];

    /// The ending of a file of this format, without the dot.
    #[must_use]
    pub fn ending(self) -> &'static str {
        match self {
            Self::Hlog => "hlog",
            Self::Hgrm(_) => "hgrm",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Gnuplot => "gp",
        }
    }

    /// Whether a file holds all series of a run.
    fn joins_series(self) -> bool {
        matches!(self, Self::Hlog | Self::Gnuplot)
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hlog => "hlog",
            Self::Hgrm(Unit::Milliseconds) => "hgrm",
            Self::Hgrm(Unit::Microseconds) => "hgrm-us",
            Self::Hgrm(Unit::Nanoseconds) => "hgrm-ns",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Gnuplot => "gnuplot",
        })
    }
}

/// A name that is not a format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{name:?} is not a valid format to export to; known are hlog, hgrm (milliseconds), hgrm-us, hgrm-ns, \
     csv, parquet, gnuplot"
)]
pub struct ParseExportFormatError {
    name: String,
}

impl FromStr for ExportFormat {
    type Err = ParseExportFormatError;

    /// Takes what [`ExportFormat`] displays as.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL
            .into_iter()
            .find(|format| format.to_string() == name);
        found.ok_or_else(|| ParseExportFormatError {
            name: name.to_owned(),
        })
    }
}

/// What an export wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Paths of the written files.
    pub files: Vec<PathBuf>,
    /// Notes for the user: what was left out, or what replaces it.
    pub notes: Vec<String>,
}

/// Exports one series of a run, or all of them, to `out`; an existing file is replaced, of a link the file to which it
/// points, and a device or a pipe is written itself. An export that fails leaves nothing behind.
///
/// With a series named, or only one in the run, `out` is a file. Else it is a file too for formats
/// that hold several series (see the table above), and a folder for the others.
///
/// # Errors
/// [`ExportError`] when the run or the series cannot be read, has no samples where the format needs them, `out` has the
/// ending of a file where several would result, or it cannot be written.
pub fn export(
    run: &Path,
    series: Option<&str>,
    format: ExportFormat,
    out: &Path,
) -> Result<Exported, ExportError> {
    let reader = RunReader::open(run)?;
    let chosen: Vec<SeriesReader<'_>> = match series {
        Some(name) => vec![SeriesReader::find(&reader, name)?],
        None => SeriesReader::all(&reader),
    };
    if chosen.is_empty() {
        return Err(ExportError::NoSeries {
            run: run.to_owned(),
        });
    }
    let mut exported = Exported::default();
    if !reader.complete() {
        let note = "the run was not ended: what is exported may lack its last interval";
        exported.notes.push(note.to_owned());
    }
    if chosen.len() == 1 || format.joins_series() {
        let new = write_file(&chosen, format, out, &mut exported)?;
        persist(out, new)?;
    } else {
        write_folder(&chosen, format, out, &mut exported)?;
    }
    Ok(exported)
}

/// Writes a file for each series into a folder, which is created if it is missing.
fn write_folder(
    chosen: &[SeriesReader<'_>],
    format: ExportFormat,
    out: &Path,
    exported: &mut Exported,
) -> Result<(), ExportError> {
    let is_file_name = out
        .extension()
        .is_some_and(|ending| ending == format.ending());
    if is_file_name && !out.is_dir() {
        let names = chosen.iter().map(|series| series.name().to_owned());
        return Err(ExportError::SeveralSeries {
            format,
            series: names.collect(),
        });
    }
    let is_new = !out.exists();
    fs::create_dir_all(out).map_err(|source| unwritable(out, source))?;
    let written: Result<Vec<_>, ExportError> = chosen
        .iter()
        .map(|series| {
            let file = out.join(format!("{}.{}", series.name(), format.ending()));
            let new = write_file(std::slice::from_ref(series), format, &file, exported)?;
            Ok((file, new))
        })
        .collect();
    let persisted = written.and_then(|files| {
        let mut files = files.into_iter();
        files.try_for_each(|(file, new)| persist(&file, new))
    });
    if persisted.is_err() && is_new {
        // Only an empty folder is removed.
        let _ = fs::remove_dir(out);
    }
    persisted
}

fn persist(out: &Path, new: NewFile) -> Result<(), ExportError> {
    new.persist().map_err(|source| unwritable(out, source))
}

fn write_file(
    series: &[SeriesReader<'_>],
    format: ExportFormat,
    out: &Path,
    exported: &mut Exported,
) -> Result<NewFile, ExportError> {
    let io = |source| unwritable(out, source);
    if out.file_name().is_none() {
        return Err(ExportError::NoFileName {
            out: out.to_owned(),
        });
    }
    let new = NewFile::of(out, ".new").map_err(io)?;
    let created = new.create();
    let file = created.map_err(|source| unwritable(new.path(), source))?;
    let mut file = BufWriter::with_capacity(1 << 16, file);
    write(series, format, out, &mut file, &mut exported.notes).map_err(|error| error.at(out))?;
    file.flush().map_err(io)?;
    exported.files.push(out.to_owned());
    Ok(new)
}

fn write(
    series: &[SeriesReader<'_>],
    format: ExportFormat,
    path: &Path,
    out: &mut (dyn Write + Send),
    notes: &mut Vec<String>,
) -> Result<(), ExportError> {
    match (format, series) {
        (ExportFormat::Hlog, series) => hlog::write(series, out, notes),
        (ExportFormat::Gnuplot, series) => gnuplot::write(series, path, out),
        (_, []) => Ok(()),
        (ExportFormat::Hgrm(unit), [one, ..]) => hgrm::write(one, unit, out),
        (ExportFormat::Csv, [one, ..]) => csv::write(one, out, notes),
        #[cfg(feature = "parquet")]
        (ExportFormat::Parquet, [one, ..]) => parquet::write(one, out, notes),
        #[cfg(not(feature = "parquet"))]
        (ExportFormat::Parquet, _) => Err(ExportError::WithoutParquet),
    }
}

fn unwritable(path: &Path, source: std::io::Error) -> ExportError {
    ExportError::Write {
        path: path.to_owned(),
        source,
    }
}

/// Why a run was not exported.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The run cannot be opened.
    #[error(transparent)]
    Run(#[from] OpenRunError),
    /// The series, or a file of it, cannot be opened.
    #[error(transparent)]
    Series(#[from] OpenSeriesError),
    /// The run holds no series at all.
    #[error("{} holds no series: it was ended before anything was measured", run.display())]
    NoSeries {
        /// Path of the run folder.
        run: PathBuf,
    },
    /// The format holds samples, and none were kept.
    #[error(
        "series {series:?} has no raw samples, which {format} is made of: measure again with \
         samples kept, or export it as csv (buckets), hgrm or hlog"
    )]
    NeedsSamples {
        /// Name of the series.
        series: String,
        /// The requested format.
        format: &'static str,
    },
    /// The interval log cannot be read on.
    #[error(transparent)]
    Intervals(#[from] ReadLogError),
    /// An interval of the run does not fit an interval log.
    #[error("an interval of the run cannot be written to a log: {0}")]
    Line(#[from] EncodeLineError),
    /// The samples cannot be read on.
    #[error(transparent)]
    Samples(#[from] ReadSamplesError),
    /// Parquet refused its input, or its output.
    #[error("cannot write Parquet: {0}; make room on the disk or choose another folder")]
    #[cfg(feature = "parquet")]
    Parquet(#[from] ParquetError),
    /// Built without Parquet, a feature of this crate.
    #[cfg(not(feature = "parquet"))]
    #[error("this build has no Parquet (a feature of the crate); export csv")]
    WithoutParquet,
    /// The output is named as one file, and one file per series results.
    #[error(
        "a {format} file holds one series, and the run has {}: choose one by --series, or name a \
         folder by --out", series.join(", ")
    )]
    SeveralSeries {
        /// The requested format.
        format: ExportFormat,
        /// The series of the run.
        series: Vec<String>,
    },
    /// The output is not the path of a file.
    #[error("{} names no file: give the path of the file to write", out.display())]
    NoFileName {
        /// The path given.
        out: PathBuf,
    },
    /// The output cannot be written.
    #[error(
        "cannot write {}: {source}; make room on the disk or choose another folder", path.display()
    )]
    Write {
        /// The file; empty while it is not known.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

impl From<io::Error> for ExportError {
    fn from(source: io::Error) -> Self {
        Self::Write {
            path: PathBuf::new(),
            source,
        }
    }
}

impl ExportError {
    /// The error with the file that could not be written.
    fn at(self, file: &Path) -> Self {
        match self {
            Self::Write { source, .. } => Self::Write {
                path: file.to_owned(),
                source,
            },
            other => other,
        }
    }
}
