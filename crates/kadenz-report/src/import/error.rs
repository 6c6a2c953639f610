//! Why an import fails.

use std::io;
use std::path::PathBuf;

use kadenz_record::hlog::reader::ReadLogError;
use kadenz_record::hlog::writer::AppendError;
use kadenz_record::samples::writer::WriteSamplesError;
use thiserror::Error;

use super::ImportFormat;

/// Why a file was not imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The operating system refused the file.
    #[error("cannot read {}: {source}; check the path and its rights", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file is not what it should be.
    #[error("{} cannot be imported as {format}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The format it was read as.
        format: ImportFormat,
        /// What is wrong with it.
        source: ReadError,
    },
    /// The run folder cannot be written.
    #[error("cannot write the run folder {}: {source}", folder.display())]
    Store {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        source: StoreError,
    },
}

/// What is wrong with a file that is to be imported.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The operating system, or the compressed stream, refused to be read on.
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
    /// A field holds what cannot be.
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
    /// What was read could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReadError {
    pub(super) fn line(line: u64, cause: impl Into<String>) -> Self {
        Self::Line {
            line,
            cause: cause.into(),
        }
    }

    pub(super) fn field(field: impl Into<String>, cause: impl Into<String>) -> Self {
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

/// Why what was read cannot be kept.
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
