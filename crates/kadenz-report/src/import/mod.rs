//! Runs of other programs, made into ordinary run folders, so that one report shows them all.
//!
//! A format is one file here and one [`Importer`]: it recognises its files by their content and reads them, as they
//! stream by, into a [`Sink`]. Facts that a format lacks (the order of values, the start, the machine) stay absent in
//! the run; limits of the numbers become warnings of the run.
//!
//! Formats with raw values (irtt, sockperf, CSV) give a samples file and an interval log; formats
//! that hold only a histogram give an interval log of one interval. Files may be gzipped.
//!
//! ```
//! use kadenz_report::import::{self, ImportFormat};
//!
//! let folder = tempfile::tempdir()?;
//! let csv = folder.path().join("wakeups.csv");
//! std::fs::write(&csv, "time_ns,value_ns\n0,52000\n1000000,61000\n")?;
//!
//! let format = import::detect(&csv)?;
//! assert_eq!(format, ImportFormat::Csv);
//! let run = import::import(&csv, format, &folder.path().join("run"))?;
//! assert_eq!(run.experiment, "import");
//! assert_eq!(run.series[0].counts.max_ns, Some(61_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bins;
mod bmwcarit;
mod csv;
mod cyclictest;
mod folder;
mod hlog;
mod irtt;
mod jitterdebugger;
mod sink;
mod slots;
mod sockperf;
mod source;

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, io};

use kadenz_record::hlog::reader::ReadLogError;
use kadenz_record::hlog::writer::AppendError;
use kadenz_record::run::model::Run;
use kadenz_record::samples::writer::WriteSamplesError;
use thiserror::Error;

use folder::Folder;
use source::ImportSource;

pub(crate) use folder::write_run;
pub use sink::{Collected, EncodedInterval, Sink};

/// Name of the warning that values are missing: of packets or messages that never came.
pub(crate) const LOST: &str = "lost";
/// Name of the warning that values may be missing.
pub(crate) const MAYBE_LOST: &str = "maybe_lost";

/// A file format that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImportFormat {
    /// HdrHistogram interval log, V0 to V2, as jHiccup and others write it.
    Hlog,
    /// The output of `cyclictest --json`.
    CyclictestJson,
    /// The output of `cyclictest -h` or `--histfile`.
    CyclictestText,
    /// As [`ImportFormat::CyclictestText`], in microseconds as the user states.
    CyclictestMicroseconds,
    /// As [`ImportFormat::CyclictestText`], in nanoseconds as the user states: `cyclictest -N`.
    CyclictestNanoseconds,
    /// `irtt client -o`.
    Irtt,
    /// `results.json` of jitterdebugger.
    Jitterdebugger,
    /// The file of `sockperf --full-log`.
    Sockperf,
    /// Logs of bmwcarit's `ros_realtime_tests`.
    Bmwcarit,
    /// Samples as text: `time_ns,value_ns`, or the output of `kadenz export --format csv`.
    Csv,
}

impl ImportFormat {
    /// Every format, in the order in which [`detect`] tries them.
    pub const ALL: [Self; 10] = [
        Self::CyclictestJson,
        Self::Irtt,
        Self::Jitterdebugger,
        Self::Sockperf,
        Self::Bmwcarit,
        Self::CyclictestText,
        Self::CyclictestMicroseconds,
        Self::CyclictestNanoseconds,
        Self::Csv,
        Self::Hlog,
    ];

    /// The name, as [`FromStr`] takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hlog => "hlog",
            Self::CyclictestJson => "cyclictest-json",
            Self::CyclictestText => "cyclictest",
            Self::CyclictestMicroseconds => "cyclictest-us",
            Self::CyclictestNanoseconds => "cyclictest-ns",
            Self::Irtt => "irtt",
            Self::Jitterdebugger => "jitterdebugger",
            Self::Sockperf => "sockperf",
            Self::Bmwcarit => "bmwcarit",
            Self::Csv => "csv",
        }
    }

    /// The reader of the format.
    #[must_use]
    pub fn importer(self) -> &'static dyn Importer {
        match self {
            Self::Hlog => &hlog::Hlog,
            Self::CyclictestJson => &cyclictest::Json,
            Self::CyclictestText => &cyclictest::CyclictestText::Reported,
            Self::CyclictestMicroseconds => {
                &cyclictest::CyclictestText::Stated(cyclictest::CyclictestUnit::Microseconds)
            }
            Self::CyclictestNanoseconds => {
                &cyclictest::CyclictestText::Stated(cyclictest::CyclictestUnit::Nanoseconds)
            }
            Self::Irtt => &irtt::Irtt,
            Self::Jitterdebugger => &jitterdebugger::Jitterdebugger,
            Self::Sockperf => &sockperf::Sockperf,
            Self::Bmwcarit => &bmwcarit::Bmwcarit,
            Self::Csv => &csv::Csv,
        }
    }
}

impl fmt::Display for ImportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not a format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name:?} is not a valid format to import; known are {known}", known = known())]
pub struct ParseImportFormatError {
    name: String,
}

impl FromStr for ImportFormat {
    type Err = ParseImportFormatError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| ParseImportFormatError {
            name: name.to_owned(),
        })
    }
}

fn known() -> String {
    ImportFormat::ALL.map(ImportFormat::name).join(", ")
}

/// An importer of one file format.
pub trait Importer: Sync {
    /// Whether a file that begins with `head` (some ten KiB of it, or all) is of this format.
    fn recognises(&self, head: &str) -> bool;

    /// Reads a whole file into `sink`, in bounded memory where the format can be that large.
    ///
    /// # Errors
    /// The file cannot be read, is not well-formed, holds nothing to import, or the sink refuses the data.
    fn read(&self, source: &mut dyn BufRead, sink: &mut dyn Sink) -> Result<(), ReadError>;
}

/// Why the format of a file cannot be determined.
#[derive(Debug, Error)]
pub enum DetectError {
    /// The operating system refused the file.
    #[error("cannot read {}: {source}; check the path and its rights", path.display())]
    Open {
        /// Path of the file to import.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A pipe or a device: its content can be read only once, and the format takes its beginning.
    #[error("{} is not a regular file; save it to a file first, or state its format with `kadenz import --format`", .0.display())]
    NotRegular(PathBuf),
    /// No importer recognises the content.
    #[error(
        "{} is of no format that can be imported (it begins with {head:?}): say which it is, one \
         of {known}, with `kadenz import --format`", path.display(), known = known()
    )]
    Unknown {
        /// Path of the file to import.
        path: PathBuf,
        /// The beginning of the file's content.
        head: String,
    },
}

/// Determines the format of a file from its content; its name does not matter.
///
/// # Errors
/// [`DetectError`] when the file cannot be read, is not regular, or no importer recognises it.
pub fn detect(path: &Path) -> Result<ImportFormat, DetectError> {
    let metadata = path.metadata();
    if metadata.is_ok_and(|it| !it.is_file() && !it.is_dir()) {
        return Err(DetectError::NotRegular(path.to_owned()));
    }
    let open = |source| DetectError::Open {
        path: path.to_owned(),
        source,
    };
    let head = ImportSource::open(path)
        .and_then(|mut source| source.head())
        .map_err(open)?;
    let found = ImportFormat::ALL
        .into_iter()
        .find(|format| format.importer().recognises(&head));
    found.ok_or_else(|| DetectError::Unknown {
        path: path.to_owned(),
        head: head.chars().take(40).collect(),
    })
}

/// Imports a file as a run: writes the folder `out`, which must be absent or empty, and returns the content of its
/// `run.json`. An import that fails leaves no folder behind.
///
/// # Errors
/// [`ImportError`] when the file cannot be read as `format`, naming line or field and cause, or the
/// folder cannot be written.
pub fn import(path: &Path, format: ImportFormat, out: &Path) -> Result<Run, ImportError> {
    let open = |source| ImportError::Open {
        path: path.to_owned(),
        source,
    };
    let mut source = ImportSource::open(path).map_err(open)?;
    let store = |source| ImportError::Store {
        folder: out.to_owned(),
        source,
    };
    let mut folder = Folder::create(out).map_err(store)?;
    source::describe(folder.run(), path, format);
    match format.importer().read(&mut source, &mut folder) {
        Ok(()) => {
            if source.cut_off() {
                (&mut folder as &mut dyn Sink).cut_off("the gzipped file is cut off");
            }
            folder.finish().map_err(store)
        }
        Err(ReadError::Store(source)) => Err(store(source)),
        Err(source) => Err(ImportError::Read {
            path: path.to_owned(),
            format,
            source,
        }),
    }
}

/// Why a file was not imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The operating system refused the file.
    #[error("cannot read {}: {source}; check the path and its rights", path.display())]
    Open {
        /// Path of the file to import.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file is not valid.
    #[error("{} cannot be imported as {format}: {source}", path.display())]
    Read {
        /// Path of the file to import.
        path: PathBuf,
        /// The format it was read as.
        format: ImportFormat,
        /// What is wrong with it.
        source: ReadError,
    },
    /// The run folder cannot be written.
    #[error("cannot write the run folder {}: {source}", folder.display())]
    Store {
        /// Path of the run folder to write.
        folder: PathBuf,
        /// What is wrong with it.
        source: StoreError,
    },
}

/// What is wrong with a file that is to be imported.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The operating system, or the compressed stream, failed while reading.
    #[error("reading failed: {0}")]
    Io(#[from] io::Error),
    /// A line is not well-formed.
    #[error("line {line}: {cause}")]
    Line {
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong with it, and how it should be.
        cause: String,
    },
    /// The JSON is not well-formed, or a field of it is missing or of the wrong type.
    #[error("line {line}, column {column}: {cause}")]
    Json {
        /// Number of the line, from 1.
        line: usize,
        /// Number of the column, from 1.
        column: usize,
        /// What is wrong there.
        cause: String,
    },
    /// A field holds an impossible value.
    #[error("{field}: {cause}")]
    Field {
        /// Path of the field, `thread.0.cycles`.
        field: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The file is well-formed but holds nothing to import.
    #[error("it holds no {what}; {remedy}")]
    Lacks {
        /// What was looked for.
        what: &'static str,
        /// How to get a file that has it.
        remedy: &'static str,
    },
    /// The file is larger than any of its format could be.
    #[error("it is larger than {} MiB, which no {what} is: check that it is the right file", limit >> 20)]
    TooLarge {
        /// What was looked for.
        what: &'static str,
        /// Bytes that are read at most.
        limit: u64,
    },
    /// The data could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReadError {
    fn line(line: u64, cause: impl Into<String>) -> Self {
        Self::Line {
            line,
            cause: cause.into(),
        }
    }

    fn field(field: impl Into<String>, cause: impl Into<String>) -> Self {
        Self::Field {
            field: field.into(),
            cause: cause.into(),
        }
    }
}

impl From<ReadLogError> for ReadError {
    fn from(error: ReadLogError) -> Self {
        match error {
            ReadLogError::Read { source, .. } => Self::Io(source),
            ReadLogError::Malformed { line, cause } => Self::line(line, cause.to_string()),
        }
    }
}

/// Why the data cannot be stored.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The folder holds something already.
    #[error("it is not empty: name another folder, or remove it")]
    NotEmpty,
    /// The operating system refused the folder or a file in it.
    #[error("{0}; make room on the disk, or name another folder")]
    Io(#[from] io::Error),
    /// An interval log could not be written.
    #[error(transparent)]
    Hlog(#[from] AppendError),
    /// A samples file could not be written.
    #[error(transparent)]
    Samples(#[from] WriteSamplesError),
    /// `run.json` could not be formed; a defect of Kadenz.
    #[error("run.json cannot be formed: {0}; please report this")]
    Json(#[from] serde_json::Error),
    /// More series than any of these programs writes.
    #[error("it holds more than {limit} series: check that it is the right file")]
    TooManySeries {
        /// The most that are taken.
        limit: usize,
    },
}
