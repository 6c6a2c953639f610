//! Writing behind what a log holds already, and by one program alone.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use super::{Format, LogError, LogWriter, event};

/// Goes on behind the end of an event log that is there. Reads it through once, to count its events.
///
/// # Errors
/// Where it is a log of another format, another recorder writes it, or the file system fails.
pub fn append(path: &Path) -> Result<Box<dyn LogWriter>, LogError> {
    let mut reader = super::open(path)?;
    let info = super::survey(reader.as_mut())?;
    if info.format != Format::EventLog {
        return Err(LogError::NoAppending {
            format: info.format,
        });
    }
    let file = File::options().append(true).open(path);
    let file = file.and_then(alone).map_err(LogError::at(path))?;
    let events = i64::try_from(info.messages).unwrap_or(i64::MAX);
    let length = file.metadata().map_err(LogError::at(path))?.len();
    Ok(Box::new(event::EventWriter::behind(
        Box::new(file),
        events,
        length,
    )))
}

/// Locks a file for as long as it is open; who else locks it is refused. Where the file system has no
/// locks it stays without.
pub(super) fn alone(file: File) -> io::Result<File> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another program is recording into it",
        )),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}
