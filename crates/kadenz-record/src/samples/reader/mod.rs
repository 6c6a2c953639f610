//! Reads a samples file in constant memory.

use std::fs::File;
use std::io;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use thiserror::Error;

mod source;

use self::source::{RandomAccessReader, Step, step};
use super::wire::{ArrowMessage, WORD};
use super::{Sample, SamplesHeader};

/// Rows that are read at a time: 64 KiB a column, which stays in the first caches.
const CHUNK: u64 = 8192;

/// The size of a samples file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Samples that were read.
    pub samples: u64,
    /// Record batches that held them.
    pub batches: u64,
    /// Whether the file ends in the middle of a message, or without its end mark: its writer was killed or its disk
    /// was full. All whole batches were read.
    pub truncated: bool,
}

/// A samples file, read from its start to its end in constant memory, whatever its length.
///
/// [`SamplesFile::next_values`] and [`SamplesFile::next_samples`] share one position and may be mixed. The first
/// seeks over every column except the value.
#[derive(Debug)]
pub struct SamplesFile<R = File> {
    source: RandomAccessReader<R>,
    header: SamplesHeader,
    /// Where the message after the schema starts.
    first: u64,
    /// Where the next message starts.
    next: u64,
    rows: Rows,
    extent: Extent,
    ended: bool,
    metadata: Vec<u8>,
    bytes: Vec<u8>,
    values: Vec<i64>,
    samples: Vec<Sample>,
}

/// Rows of a batch that are still to be read: where each column continues in the file.
#[derive(Clone, Copy, Debug, Default)]
struct Rows {
    columns: [u64; 4],
    left: u64,
}

impl SamplesFile<File> {
    /// Opens a samples file.
    ///
    /// # Errors
    /// [`OpenSamplesError`] if it cannot be read, has no whole header or is of another kind.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenSamplesError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|source| OpenSamplesError::Open {
            path: path.to_owned(),
            source,
        })?;
        Self::from_reader(file)
    }
}

impl<R: Read + Seek> SamplesFile<R> {
    /// Reads a samples file from any source that reads and seeks. It does not see bytes that are appended later.
    ///
    /// # Errors
    /// As [`SamplesFile::open`].
    pub fn from_reader(reader: R) -> Result<Self, OpenSamplesError> {
        let mut source = RandomAccessReader::new(reader)?;
        let mut metadata = Vec::new();
        let step = step(&mut source, 0, &mut metadata).map_err(|error| match error {
            ReadSamplesError::Damaged { cause, .. } => OpenSamplesError::Foreign { cause },
            io @ ReadSamplesError::Io { .. } => OpenSamplesError::Read(io),
        })?;
        let (header, first) = match step {
            Step::Message {
                content: ArrowMessage::Schema(header),
                next,
                ..
            } => (header, next),
            Step::Message { .. } => {
                let cause = "its first message is not a schema".to_owned();
                return Err(OpenSamplesError::Foreign { cause });
            }
            Step::End | Step::CutOff => {
                return Err(OpenSamplesError::NoHeader { bytes: source.len });
            }
        };
        Ok(Self {
            source,
            header,
            first,
            next: first,
            rows: Rows::default(),
            extent: Extent::default(),
            ended: false,
            metadata,
            bytes: Vec::new(),
            values: Vec::new(),
            samples: Vec::new(),
        })
    }

    /// The header of the file.
    #[must_use]
    pub fn header(&self) -> &SamplesHeader {
        &self.header
    }

    /// The size read so far; `truncated` is known at the end.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Goes back to the first sample.
    pub fn rewind(&mut self) {
        self.next = self.first;
        self.rows = Rows::default();
        self.extent = Extent::default();
        self.ended = false;
    }

    /// The next values, at most some thousands at a time; `None` at the end.
    ///
    /// # Errors
    /// [`ReadSamplesError`] if the file cannot be read or is damaged.
    pub fn next_values(&mut self) -> Result<Option<&[i64]>, ReadSamplesError> {
        let Some((columns, rows)) = self.advance()? else {
            return Ok(None);
        };
        self.source
            .read_at(columns[3], rows * WORD, &mut self.bytes)?;
        self.values.clear();
        self.values
            .extend(words(&self.bytes).map(i64::from_le_bytes));
        Ok(Some(&self.values))
    }

    /// The next samples, at most some thousands at a time; `None` at the end.
    ///
    /// # Errors
    /// [`ReadSamplesError`] if the file cannot be read or is damaged.
    pub fn next_samples(&mut self) -> Result<Option<&[Sample]>, ReadSamplesError> {
        let Some((columns, rows)) = self.advance()? else {
            return Ok(None);
        };
        self.samples.clear();
        self.source
            .read_at(columns[0], rows * WORD, &mut self.bytes)?;
        self.samples.extend(words(&self.bytes).map(|word| Sample {
            sequence: u64::from_le_bytes(word),
            ..Sample::default()
        }));
        let fields: [fn(&mut Sample) -> &mut i64; 3] = [
            |s| &mut s.intended_ns,
            |s| &mut s.actual_ns,
            |s| &mut s.value_ns,
        ];
        for (column, field) in columns[1..].iter().zip(fields) {
            self.source.read_at(*column, rows * WORD, &mut self.bytes)?;
            for (sample, word) in self.samples.iter_mut().zip(words(&self.bytes)) {
                *field(sample) = i64::from_le_bytes(word);
            }
        }
        Ok(Some(&self.samples))
    }

    /// Passes every remaining value to `take`, in order, some thousands at a time.
    ///
    /// # Errors
    /// [`ReadSamplesError`] if the file cannot be read or is damaged; the values before were passed on.
    pub fn for_each_value(
        &mut self,
        mut take: impl FnMut(&[i64]),
    ) -> Result<Extent, ReadSamplesError> {
        while let Some(values) = self.next_values()? {
            take(values);
        }
        Ok(self.extent)
    }

    /// Passes every remaining sample to `take`, in order, some thousands at a time.
    ///
    /// # Errors
    /// [`ReadSamplesError`] if the file cannot be read or is damaged; the samples before were passed on.
    pub fn for_each_chunk(
        &mut self,
        mut take: impl FnMut(&[Sample]),
    ) -> Result<Extent, ReadSamplesError> {
        while let Some(samples) = self.next_samples()? {
            take(samples);
        }
        Ok(self.extent)
    }

    /// Steps over the next rows, and returns where each column has them, and how many they are.
    fn advance(&mut self) -> Result<Option<([u64; 4], u64)>, ReadSamplesError> {
        while self.rows.left == 0 {
            if !self.next_batch()? {
                return Ok(None);
            }
        }
        let rows = self.rows.left.min(CHUNK);
        let columns = self.rows.columns;
        self.rows.left -= rows;
        self.rows.columns = columns.map(|column| column + rows * WORD);
        self.extent.samples += rows;
        Ok(Some((columns, rows)))
    }

    /// Finds the next record batch; returns false at the end of the file.
    fn next_batch(&mut self) -> Result<bool, ReadSamplesError> {
        if self.ended {
            return Ok(false);
        }
        match step(&mut self.source, self.next, &mut self.metadata)? {
            Step::Message {
                content: ArrowMessage::Batch { rows, columns },
                body,
                next,
            } => {
                self.rows = Rows {
                    columns: columns.map(|column| body + column),
                    left: rows,
                };
                self.extent.batches += 1;
                self.next = next;
                return Ok(true);
            }
            Step::Message { .. } => {
                let cause = "a second schema".to_owned();
                return Err(ReadSamplesError::Damaged {
                    offset: self.next,
                    cause,
                });
            }
            Step::End => self.extent.truncated = false,
            Step::CutOff => self.extent.truncated = true,
        }
        self.ended = true;
        Ok(false)
    }
}

/// The words of a column.
fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 8]> {
    bytes.chunks_exact(8).map(|word| {
        let mut array = [0; 8];
        array.copy_from_slice(word);
        array
    })
}

// The errors of reading samples.

/// Why a samples file could not be opened.
#[derive(Debug, Error)]
pub enum OpenSamplesError {
    /// The operating system refused the file.
    #[error("cannot open the samples file {}: {source}", path.display())]
    Open {
        /// The path of the samples file.
        path: PathBuf,
        /// The operating system's error.
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
    /// The file does not start with the schema of a samples file.
    #[error(
        "not a samples file of Kadenz: {cause}; it must be an uncompressed Arrow IPC stream with \
         the columns sequence, intended_ns, actual_ns and value_ns"
    )]
    Foreign {
        /// What was found instead.
        cause: String,
    },
    /// The header could not be read.
    #[error(transparent)]
    Read(#[from] ReadSamplesError),
}

/// Why a samples file could not be read any further.
#[derive(Debug, Error)]
pub enum ReadSamplesError {
    /// The operating system refused to read.
    #[error("cannot read the samples file at byte {offset}: {source}")]
    Io {
        /// Bytes from the start of the file.
        offset: u64,
        /// The operating system's error.
        source: io::Error,
    },
    /// A message inside the file is damaged; everything before it was read.
    #[error(
        "the samples file is damaged at byte {offset}: {cause}; the samples before it are good, \
         the interval log of the series is whole"
    )]
    Damaged {
        /// Where the message starts.
        offset: u64,
        /// Why it is damaged.
        cause: String,
    },
}
