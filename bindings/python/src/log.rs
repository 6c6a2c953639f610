//! Logs of messages: reading and writing.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use kadenz::msg::log::{self, ChannelWriter, Entry, LogReader};
use kadenz::rt::clock::WallTime;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;

/// A log that is read, of any format.
#[pyclass(module = "kadenz._kadenz")]
pub(crate) struct Log {
    // A reader belongs to one thread at a time.
    reader: Mutex<Box<dyn LogReader>>,
    entry: Entry,
}

/// A log that is written.
#[pyclass(module = "kadenz._kadenz")]
pub(crate) struct LogWriting(Mutex<ChannelWriter>);

/// Channel, payload, time of logging and of publishing in nanoseconds since 1970, name of the type.
type Logged = (String, Py<PyBytes>, i64, i64, Option<String>);

#[pymethods]
impl Log {
    #[new]
    fn new(path: &str) -> PyResult<Self> {
        Ok(Self {
            reader: Mutex::new(log::open(Path::new(path)).map_err(error)?),
            entry: Entry::default(),
        })
    }

    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Logged>> {
        let Self { reader, entry } = self;
        let reader = reader.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !py.detach(|| reader.read(entry)).map_err(error)? {
            return Ok(None);
        }
        let channel = &entry.channel;
        Ok(Some((
            channel.name.clone(),
            PyBytes::new(py, &entry.payload).unbind(),
            entry.log_time.as_unix_ns(),
            entry.publish_time.as_unix_ns(),
            channel.schema.as_ref().map(|it| it.name.clone()),
        )))
    }

    fn seek(&mut self, unix_ns: i64) -> PyResult<()> {
        let reader = self.reader.get_mut();
        reader
            .unwrap_or_else(PoisonError::into_inner)
            .seek(WallTime::from_unix_ns(unix_ns))
            .map_err(error)
    }
}

#[pymethods]
impl LogWriting {
    #[new]
    fn new(path: &str) -> PyResult<Self> {
        let writer = ChannelWriter::create(path).map_err(error)?;
        Ok(Self(Mutex::new(writer)))
    }

    fn write(&mut self, channel: &str, payload: &[u8], unix_ns: i64) -> PyResult<()> {
        let at = WallTime::from_unix_ns(unix_ns);
        self.writer().write(channel, payload, at).map_err(error)
    }

    fn finish(&mut self) -> PyResult<()> {
        let writer = self.writer();
        match writer.is_finished() {
            true => Ok(()),
            false => writer.finish().map_err(error),
        }
    }
}

impl LogWriting {
    fn writer(&mut self) -> &mut ChannelWriter {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
