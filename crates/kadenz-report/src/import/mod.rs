//! Runs of other programs, made into ordinary run folders, so that one report shows them all.
//!
//! A format is one file here and one [`Importer`]: it recognises its files by their content and
//! reads them, as they stream by, into a [`Sink`]. What a format does not tell (the order of values,
//! the start, the machine) stays absent in the run; what a reader must know before believing the
//! numbers becomes a warning of the run.
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

use std::fmt;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use kadenz_record::run::model::Run;
use thiserror::Error;

mod bins;
mod bmwcarit;
mod csv;
mod cyclictest;
mod encoded;
mod error;
mod folder;
mod hlog;
mod irtt;
mod jitterdebugger;
mod json;
mod sink;
mod slots;
mod sockperf;
mod source;

pub use self::error::{ImportError, ReadError, StoreError};
pub(crate) use self::folder::write_run;
pub use self::sink::{Collected, EncodedInterval, Sink};

use self::folder::Folder;
use self::source::Source;

/// A file format that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImportFormat {
    /// HdrHistogram interval log, V0 to V2, as jHiccup and others write it.
    Hlog,
    /// `cyclictest --json`.
    CyclictestJson,
    /// What `cyclictest -h` prints or `--histfile` writes.
    CyclictestText,
    /// As [`ImportFormat::CyclictestText`], in microseconds as a user states.
    CyclictestMicroseconds,
    /// As [`ImportFormat::CyclictestText`], in nanoseconds as a user states: `cyclictest -N`.
    CyclictestNanoseconds,
    /// `irtt client -o`.
    Irtt,
    /// `results.json` of jitterdebugger.
    Jitterdebugger,
    /// `sockperf --full-log`.
    Sockperf,
    /// Logs of bmwcarit's `ros_realtime_tests`.
    Bmwcarit,
    /// Samples as text: `time_ns,value_ns`, or what `kadenz export --format csv` writes.
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
            Self::CyclictestText => &cyclictest::Text::Told,
            Self::CyclictestMicroseconds => {
                &cyclictest::Text::Stated(cyclictest::Unit::Microseconds)
            }
            Self::CyclictestNanoseconds => &cyclictest::Text::Stated(cyclictest::Unit::Nanoseconds),
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

/// A name that is no format.
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

/// Reads one format.
pub trait Importer: Sync {
    /// Whether a file that begins with `head` (some ten KiB of it, or all) is of this format.
    fn recognises(&self, head: &str) -> bool;

    /// Reads a whole file into `sink`, in bounded memory where the format can be that large.
    ///
    /// # Errors
    /// When the file cannot be read, is not well-formed, holds nothing to import, or the sink
    /// refuses what was read.
    fn read(&self, source: &mut dyn BufRead, sink: &mut dyn Sink) -> Result<(), ReadError>;
}

/// Why the format of a file cannot be told.
#[derive(Debug, Error)]
pub enum DetectError {
    /// The operating system refused the file.
    #[error("cannot read {}: {source}; check the path and its rights", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// No importer knows the content.
    #[error(
        "{} is of no format that can be imported (it begins with {head:?}): say which it is, one \
         of {known}", path.display(), known = known()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
        /// Its first characters.
        head: String,
    },
}

/// Tells the format of a file from its content; its name does not matter.
///
/// # Errors
/// [`DetectError`] when the file cannot be read or no importer knows it.
pub fn detect(path: &Path) -> Result<ImportFormat, DetectError> {
    let open = |source| DetectError::Open {
        path: path.to_owned(),
        source,
    };
    let head = Source::open(path)
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

/// Imports a file as a run: writes the folder `out`, which must be absent or empty, and gives back
/// what its `run.json` says. An import that fails leaves no folder behind.
///
/// # Errors
/// [`ImportError`] when the file cannot be read as `format`, naming line or field and cause, or the
/// folder cannot be written.
pub fn import(path: &Path, format: ImportFormat, out: &Path) -> Result<Run, ImportError> {
    let open = |source| ImportError::Open {
        path: path.to_owned(),
        source,
    };
    let mut source = Source::open(path).map_err(open)?;
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
