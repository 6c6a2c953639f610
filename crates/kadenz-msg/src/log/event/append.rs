use std::fs::File;
use std::path::Path;

use super::EventWriter;
use crate::log::{self, Format, LogError, LogWriter, file};

/// Goes on behind the end of an event log that is there. Reads it through once, to count its events.
///
/// # Errors
/// Where it is a log of another format, another recorder writes it, or the file system fails.
pub fn append(path: &Path) -> Result<Box<dyn LogWriter>, LogError> {
    let mut reader = log::open(path)?;
    let info = log::survey(reader.as_mut())?;
    if info.format != Format::EventLog {
        return Err(LogError::NoAppending {
            format: info.format,
        });
    }
    let file = File::options().append(true).open(path);
    let file = file.and_then(file::alone).map_err(LogError::at(path))?;
    let events = i64::try_from(info.messages).unwrap_or(i64::MAX);
    let length = file.metadata().map_err(LogError::at(path))?.len();
    Ok(Box::new(EventWriter::behind(
        Box::new(file),
        events,
        length,
    )))
}
