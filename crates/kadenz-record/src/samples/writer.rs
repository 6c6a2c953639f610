//! Appends samples to an Arrow IPC stream, one record batch a flush.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use thiserror::Error;

use super::Sample;
use super::wire::{COLUMNS, keys};

/// The most samples in one record batch; more become several batches.
const MAX_BATCH: usize = 65_536;

/// Why samples could not be written.
#[derive(Debug, Error)]
pub enum WriteSamplesError {
    /// The file or stream behind the writer refused the bytes.
    #[error("cannot write samples: {source}; make room on the disk or choose another folder")]
    Io {
        /// The operating system's error.
        #[from]
        source: io::Error,
    },
    /// Arrow could not form a record batch; a defect of Kadenz.
    #[error("cannot form a record batch: {source}; please report this")]
    Encode {
        /// What the library of Arrow reports.
        #[from]
        source: ArrowError,
    },
}

/// Turns samples into the bytes of an Arrow IPC stream, for a caller that appends them to a file itself.
///
/// The bytes of each call are whole messages: a file that is cut back to the end of one stays readable.
pub(crate) struct SampleEncoder {
    schema: SchemaRef,
    stream: StreamWriter<Vec<u8>>,
}

impl SampleEncoder {
    /// Starts a stream; its first bytes, the schema, wait in the first [`SampleEncoder::take`].
    ///
    /// # Errors
    /// [`WriteSamplesError::Encode`] if Arrow refuses the schema.
    pub(crate) fn new(header: &SamplesHeader) -> Result<Self, WriteSamplesError> {
        let fields: Vec<Field> = COLUMNS
            .iter()
            .map(|&(name, signed)| {
                let kind = if signed {
                    DataType::Int64
                } else {
                    DataType::UInt64
                };
                Field::new(name, kind, false)
            })
            .collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, header.to_metadata()));
        let stream = StreamWriter::try_new(Vec::new(), &schema)?;
        Ok(Self { schema, stream })
    }

    /// Encodes samples as record batches; no samples make no batch.
    ///
    /// # Errors
    /// [`WriteSamplesError::Encode`] if Arrow refuses the batch.
    pub(crate) fn encode(&mut self, samples: &[Sample]) -> Result<(), WriteSamplesError> {
        for part in samples.chunks(MAX_BATCH) {
            let signed = |of: fn(&Sample) -> i64| -> ArrayRef {
                Arc::new(Int64Array::from_iter_values(part.iter().map(of)))
            };
            let sequence: Vec<u64> = part.iter().map(|sample| sample.sequence).collect();
            let columns: Vec<ArrayRef> = vec![
                Arc::new(UInt64Array::from(sequence)),
                signed(|sample| sample.intended_ns),
                signed(|sample| sample.actual_ns),
                signed(|sample| sample.value_ns),
            ];
            let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
            self.stream.write(&batch)?;
        }
        Ok(())
    }

    /// Encodes the end of the stream. Nothing may be encoded after it.
    ///
    /// # Errors
    /// [`WriteSamplesError::Encode`] if the stream has ended before.
    pub(crate) fn end(&mut self) -> Result<(), WriteSamplesError> {
        Ok(self.stream.finish()?)
    }

    /// Returns the bytes encoded since the last call.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.stream.get_mut())
    }
}

impl std::fmt::Debug for SampleEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SampleEncoder")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

/// Writes samples into any sink of bytes, for importers and tools; a run in progress writes through
/// [`run::folder`](crate::run::folder).
///
/// ```
/// use kadenz_record::samples::reader::SamplesFile;
/// use kadenz_record::samples::writer::SamplesWriter;
/// use kadenz_record::samples::{Sample, SamplesHeader};
///
/// let header = SamplesHeader { series: "wakeup".into(), unit: "ns".into(), ..Default::default() };
/// let mut writer = SamplesWriter::new(Vec::new(), &header)?;
/// writer.write(&[Sample { value_ns: 42, ..Sample::default() }])?;
/// let bytes = writer.finish()?;
///
/// let mut sum = 0;
/// let mut file = SamplesFile::from_reader(std::io::Cursor::new(bytes))?;
/// let extent = file.for_each_value(|values| sum += values.iter().sum::<i64>())?;
/// assert_eq!((sum, extent.samples, extent.truncated), (42, 1, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SamplesWriter<W> {
    encoder: SampleEncoder,
    out: W,
}

impl<W: Write> SamplesWriter<W> {
    /// Starts a samples file.
    ///
    /// # Errors
    /// [`WriteSamplesError`] if the header cannot be written.
    pub fn new(out: W, header: &SamplesHeader) -> Result<Self, WriteSamplesError> {
        let mut writer = Self {
            encoder: SampleEncoder::new(header)?,
            out,
        };
        writer.flush()?;
        Ok(writer)
    }

    /// Writes samples as one record batch (more if they are very many); thousands at a time read
    /// fastest.
    ///
    /// # Errors
    /// [`WriteSamplesError`] if they cannot be written; the file may then end in part of a batch.
    pub fn write(&mut self, samples: &[Sample]) -> Result<(), WriteSamplesError> {
        for part in samples.chunks(MAX_BATCH) {
            self.encoder.encode(part)?;
            self.flush()?;
        }
        Ok(())
    }

    /// Ends the stream and returns the sink.
    ///
    /// # Errors
    /// [`WriteSamplesError`] if the end cannot be written.
    pub fn finish(mut self) -> Result<W, WriteSamplesError> {
        self.encoder.end()?;
        self.flush()?;
        Ok(self.out)
    }

    fn flush(&mut self) -> Result<(), WriteSamplesError> {
        let mut bytes = self.encoder.take();
        self.out.write_all(&bytes)?;
        self.out.flush()?;
        bytes.clear();
        *self.encoder.stream.get_mut() = bytes;
        Ok(())
    }
}

// The header of a samples file, as metadata of its Arrow schema.

/// The header of a samples file, which makes it readable without its run folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SamplesHeader {
    /// Name of the series.
    pub series: String,
    /// Unit of the values, `ns`.
    pub unit: String,
    /// Wall time of the run's start, RFC 3339; sample times count from here.
    pub started_at: String,
    /// Monotonic time of the run's start, in ns on the run's clock.
    pub start_monotonic_ns: u64,
}

impl SamplesHeader {
    /// The header as metadata of an Arrow schema.
    pub(super) fn to_metadata(&self) -> HashMap<String, String> {
        HashMap::from([
            (keys::FORMAT.to_owned(), keys::FORMAT_VERSION.to_owned()),
            (keys::SERIES.to_owned(), self.series.clone()),
            (keys::UNIT.to_owned(), self.unit.clone()),
            (keys::STARTED_AT.to_owned(), self.started_at.clone()),
            (
                keys::START_MONOTONIC.to_owned(),
                self.start_monotonic_ns.to_string(),
            ),
        ])
    }

    /// Takes one entry of a schema's metadata; unknown entries are ignored.
    pub(super) fn take(&mut self, key: &str, value: &str) {
        match key {
            keys::SERIES => value.clone_into(&mut self.series),
            keys::UNIT => value.clone_into(&mut self.unit),
            keys::STARTED_AT => value.clone_into(&mut self.started_at),
            keys::START_MONOTONIC => self.start_monotonic_ns = value.parse().unwrap_or(0),
            _ => {}
        }
    }
}
