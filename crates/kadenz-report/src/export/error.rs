//! Why an export fails.

use std::io;
use std::path::{Path, PathBuf};

use kadenz_record::hlog::reader::ReadLogError;
use kadenz_record::hlog::writer::EncodeLineError;
use kadenz_record::run::folder::{OpenRunError, OpenSeriesError};
use kadenz_record::samples::reader::ReadSamplesError;
use parquet::errors::ParquetError;
use thiserror::Error;

use super::ExportFormat;

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
        /// The run folder.
        run: PathBuf,
    },
    /// The format holds samples, and none were kept.
    #[error(
        "series {series:?} has no raw samples, which {format} is made of: measure again with \
         samples kept, or export it as csv (buckets), hgrm or hlog"
    )]
    NeedsSamples {
        /// The series.
        series: String,
        /// The format asked for.
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
    /// Parquet refused what it was given, or its output.
    #[error("cannot write Parquet: {0}; make room on the disk or choose another folder")]
    Parquet(#[from] ParquetError),
    /// The output is named as one file, and a file a series results.
    #[error(
        "a {format} file holds one series, and the run has {}: choose one by --series, or name a \
         folder by --out", series.join(", ")
    )]
    SeveralSeries {
        /// The format asked for.
        format: ExportFormat,
        /// The series of the run.
        series: Vec<String>,
    },
    /// The output is no path of a file.
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
        /// What the operating system said.
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
    pub(super) fn at(self, file: &Path) -> Self {
        match self {
            Self::Write { source, .. } => Self::Write {
                path: file.to_owned(),
                source,
            },
            other => other,
        }
    }
}
