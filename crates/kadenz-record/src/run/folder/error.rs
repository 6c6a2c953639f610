//! Why a run folder could not be written or read: one enum for each operation.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::hlog::reader::{OpenLogError, ReadLogError};
use crate::hlog::writer::EncodeLineError;
use crate::run::labels::{MAX_LABEL_NAME, MAX_LABEL_TEXT, MAX_LABELS};
use crate::run::model::Run;
use crate::samples::reader::OpenSamplesError;
use crate::samples::writer::WriteSamplesError;

/// Why a run could not be begun in a folder.
#[derive(Debug, Error)]
pub enum CreateRunError {
    /// The path belongs to something other than a folder.
    #[error("{} is not a folder; name a new folder for the run", path.display())]
    NotAFolder {
        /// The requested run folder, which exists and is not a folder.
        path: PathBuf,
    },
    /// The folder holds a run, complete or not, perhaps one that is being measured now.
    #[error(
        "{} holds a run already, perhaps one that is being measured; name another folder, or \
         remove this one if its run is not needed",
        path.display()
    )]
    HoldsRun {
        /// The folder with the other run.
        path: PathBuf,
    },
    /// The folder holds other files.
    #[error("{} is not empty; name a new folder for the run", path.display())]
    NotEmpty {
        /// The folder with the other files.
        path: PathBuf,
    },
    /// Nothing can be written there.
    #[error(
        "cannot write a run into {}: {source}; check its permissions and the room on its disk, or \
         name another folder",
        path.display()
    )]
    Unwritable {
        /// The requested run folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

/// Why a series could not be added to a run.
#[derive(Debug, Error)]
pub enum AddSeriesError {
    /// The name would not make a file name everywhere.
    #[error(
        "{name:?} cannot name a series: use up to 100 letters, digits, '.', '_' and '-', and begin \
         with a letter, a digit or '_'"
    )]
    BadName {
        /// The requested name of the series.
        name: String,
    },
    /// The run has a series of this name, or one that differs in case alone.
    #[error("the run has a series {name:?} already, upper and lower case being one; rename one")]
    Duplicate {
        /// The requested name, which another series has.
        name: String,
    },
    /// A run of more series could not be read again.
    #[error(
        "the run has {limit} series already, the most of a run; measure fewer, or in several runs"
    )]
    TooMany {
        /// The most series of a run.
        limit: usize,
    },
    /// The labels exceed what readers accept.
    #[error(
        "series {name:?} has too many labels, or too long ones; leave some out or shorten them: a series has \
         {MAX_LABELS} at most, of {MAX_LABEL_NAME} bytes, with texts of {MAX_LABEL_TEXT} bytes"
    )]
    Labels {
        /// The name of the series.
        name: String,
    },
    /// One of its files could not be created.
    #[error("cannot create {}: {source}; check the room and permissions there", path.display())]
    Create {
        /// The file that was to be created.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The header of its samples file could not be formed.
    #[error(transparent)]
    Samples(#[from] WriteSamplesError),
}

/// Why measuring could not begin.
#[derive(Debug, Error)]
pub enum StartRunError {
    /// `run.json` could not be written.
    #[error("cannot write {}: {source}; check the room and permissions there", path.display())]
    RunJson {
        /// The path of `run.json`.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The header of a samples file could not be formed.
    #[error(transparent)]
    Samples(#[from] WriteSamplesError),
    /// The writer thread could not be started.
    #[error("cannot start the writer thread: {source}; raise the limit of threads (ulimit -u)")]
    Thread {
        /// The operating system's error.
        source: io::Error,
    },
}

/// Why a run could not be ended properly.
#[derive(Debug, Error)]
pub enum FinishRunError {
    /// Some of the values could not be written; `run.json` says that the run is incomplete.
    #[error(
        "the run in {} is incomplete: {} could not be written ({cause}); what stands there is \
         good. Make room on the disk and measure again",
        path.display(), files.join(", ")
    )]
    NotWritten {
        /// The folder of the incomplete run.
        path: PathBuf,
        /// Files that lack their end.
        files: Vec<String>,
        /// The operating system's error.
        cause: String,
        /// The run, with all its counts.
        run: Box<Run>,
    },
    /// `run.json` could not be completed.
    #[error(
        "cannot complete {}: {source}; the run reads as incomplete, though its series are whole. \
         Make room on the disk and measure again",
        path.display()
    )]
    RunJson {
        /// The path of `run.json`.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
        /// The run, with all its counts.
        run: Box<Run>,
    },
    /// The writer thread panicked.
    #[error("the writer thread of the run panicked; please report this. What was flushed is kept")]
    Panicked,
}

impl FinishRunError {
    /// The run, with all its counts, even if the folder lacks them.
    #[must_use]
    pub fn run(&self) -> Option<&Run> {
        match self {
            Self::NotWritten { run, .. } | Self::RunJson { run, .. } => Some(run),
            Self::Panicked => None,
        }
    }
}

/// Why a run could not be opened.
#[derive(Debug, Error)]
pub enum OpenRunError {
    /// There is no `run.json`.
    #[error("{} is not a run folder: it has no run.json; check the path", path.display())]
    NoRun {
        /// The folder without `run.json`.
        path: PathBuf,
    },
    /// `run.json` could not be read.
    #[error("cannot read {}: {source}; check its permissions", path.display())]
    Unreadable {
        /// The path of `run.json`.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// `run.json` is empty and alone in its folder: the run was killed before it began.
    #[error("{} is empty: the run was killed before it began; remove its folder", path.display())]
    NeverBegan {
        /// The path of `run.json`.
        path: PathBuf,
    },
    /// `run.json` is empty, and the folder holds other files: the power failed.
    #[error(
        "{} is empty: the power failed while the run was measured. The files beside it hold its values: keep them, \
         and restore run.json from a copy",
        path.display()
    )]
    Emptied {
        /// The path of `run.json`.
        path: PathBuf,
    },
    /// `run.json` is malformed.
    #[error("{} is damaged: {cause}; restore it from a copy, or measure again", path.display())]
    Malformed {
        /// The path of `run.json`.
        path: PathBuf,
        /// The error and its place.
        cause: String,
    },
    /// The run is larger than any run that Kadenz writes.
    #[error("{} has {has}, more than the {limit} of the largest run: it is not read; check that it is the right file", path.display())]
    TooLarge {
        /// The path of `run.json`.
        path: PathBuf,
        /// How much the run holds, for example `300 series`.
        has: String,
        /// The most that a run may hold, in words.
        limit: String,
    },
    /// The run was written by a newer program.
    #[error("{} has format version {version}, which is newer than this program; update it", path.display())]
    Newer {
        /// The path of `run.json`.
        path: PathBuf,
        /// The format version of the file, above `FORMAT_VERSION`.
        version: u32,
    },
}

/// Why a file of a series could not be opened.
#[derive(Debug, Error)]
pub enum OpenSeriesError {
    /// The run has no series of this name.
    #[error("the run has no series {name:?}; it has {}", known.join(", "))]
    NoSuchSeries {
        /// The requested name.
        name: String,
        /// The names of the existing series.
        known: Vec<String>,
    },
    /// The series has no such file.
    #[error("series {name:?} has no {what}; measure again with them kept")]
    NotKept {
        /// The name of the series.
        name: String,
        /// The missing file: `interval log` or `raw samples`.
        what: &'static str,
    },
    /// The interval log could not be opened.
    #[error(transparent)]
    Intervals(#[from] OpenLogError),
    /// An interval of the log is damaged.
    #[error(transparent)]
    Interval(#[from] ReadLogError),
    /// The samples file could not be opened.
    #[error(transparent)]
    Samples(#[from] OpenSamplesError),
}

/// Why a run could not grow by a part.
#[derive(Debug, Error)]
pub enum AddPartError {
    /// The part has no series of that name.
    #[error("the part holds no series {name:?}")]
    NoSuchSeries {
        /// The requested name.
        name: String,
    },
    /// The name would not make a file name everywhere.
    #[error(transparent)]
    Name(#[from] AddSeriesError),
    /// A series of the part cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenSeriesError),
    /// A series of the part cannot be read.
    #[error(transparent)]
    Read(#[from] ReadLogError),
    /// An interval does not fit the format.
    #[error(transparent)]
    Line(#[from] EncodeLineError),
    /// This run cannot be written.
    #[error("cannot write {}: {source}; check its permissions and the room on its disk", path.display())]
    Write {
        /// The file that could not be written.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}
