//! Why reading samples fails.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a samples file could not be opened.
#[derive(Debug, Error)]
pub enum OpenSamplesError {
    /// The operating system refused the file.
    #[error("cannot open the samples file {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file ends before its header does.
    #[error(
        "the samples file has no complete header ({bytes} bytes): the run was killed before its \
         first flush; use the interval log of the series instead"
    )]
    NoHeader {
        /// Length of the file.
        bytes: u64,
    },
    /// The file starts with something else than the schema of a samples file.
    #[error(
        "not a samples file of Kadenz: {cause}; it must be an uncompressed Arrow IPC stream with \
         the columns sequence, intended_ns, actual_ns and value_ns"
    )]
    Foreign {
        /// What was found.
        cause: String,
    },
    /// The header could not be read.
    #[error(transparent)]
    Read(#[from] ReadSamplesError),
}

/// Why a samples file could not be read on.
#[derive(Debug, Error)]
pub enum ReadSamplesError {
    /// The operating system refused to read.
    #[error("cannot read the samples file at byte {offset}: {source}")]
    Io {
        /// Where.
        offset: u64,
        /// What the operating system said.
        source: io::Error,
    },
    /// A message inside the file is damaged; what stood before it was read.
    #[error(
        "the samples file is damaged at byte {offset}: {cause}; the samples before it are good, \
         the interval log of the series is whole"
    )]
    Damaged {
        /// Where the message starts.
        offset: u64,
        /// What is wrong.
        cause: String,
    },
}
