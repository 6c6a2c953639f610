//! LCM's event log, as lcm-logger writes it and lcm-logplayer reads it.
//!
//! Big-endian: sync word, number of the event, microseconds since 1970, length of the channel's name,
//! length of the data, the name without a NUL, the data (liblcm, `lcm/eventlog.c`).

mod reader;

pub use reader::EventReader;

use std::fs::File;
use std::path::Path;

use super::MAX_MESSAGE_BYTES;
use crate::log::file::{self, Appender};
use crate::log::limits::TOO_LONG;
use crate::log::{Amount, Entry, Format, LogError, LogFile, LogWriter, survey};

/// The first bytes of every event.
const SYNC: [u8; 4] = [0xed, 0xa1, 0xda, 0x01];

/// The number of bytes before the name: sync word, number, time and two lengths.
const HEADER_BYTES: usize = 28;

/// liblcm's reader takes a longer name for damage.
const MAX_NAME: usize = 999;

/// The fields before an event's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EventHeader {
    number: i64,
    time_us: i64,
    name_bytes: u32,
    data_bytes: u32,
}

impl EventHeader {
    /// Reads the header behind the sync word; `None` if it is impossible.
    fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (sync, rest) = bytes.split_first_chunk::<4>()?;
        let (number, rest) = rest.split_first_chunk::<8>()?;
        let (time_us, rest) = rest.split_first_chunk::<8>()?;
        let (name_bytes, rest) = rest.split_first_chunk::<4>()?;
        let header = Self {
            number: i64::from_be_bytes(*number),
            time_us: i64::from_be_bytes(*time_us),
            name_bytes: u32::from_be_bytes(*name_bytes),
            data_bytes: u32::from_be_bytes(*rest.first_chunk::<4>()?),
        };
        let possible = (1..=MAX_NAME as u32).contains(&header.name_bytes);
        let fits = header.data_bytes as usize <= MAX_MESSAGE_BYTES;
        (*sync == SYNC && possible && fits).then_some(header)
    }

    fn put(self, into: &mut Vec<u8>) {
        into.extend_from_slice(&SYNC);
        into.extend_from_slice(&self.number.to_be_bytes());
        into.extend_from_slice(&self.time_us.to_be_bytes());
        into.extend_from_slice(&self.name_bytes.to_be_bytes());
        into.extend_from_slice(&self.data_bytes.to_be_bytes());
    }

    /// Returns how many bytes follow the header.
    fn body_bytes(self) -> u64 {
        u64::from(self.name_bytes) + u64::from(self.data_bytes)
    }
}

/// Writes LCM's event log, byte for byte as liblcm does; times are cut to microseconds.
pub struct EventWriter {
    file: Appender,
    number: i64,
}

/// The number of bytes that are collected before they are written.
const BATCH_BYTES: usize = 1 << 16;

impl EventWriter {
    /// Writes into an empty file.
    #[must_use]
    pub fn new(file: Box<dyn LogFile>) -> Self {
        Self::behind(file, 0, 0)
    }

    /// Writes behind events that are there: so many, of so many bytes. The file stands at its end.
    #[must_use]
    pub(crate) fn behind(file: Box<dyn LogFile>, events: i64, bytes: u64) -> Self {
        Self {
            file: Appender::new(file, bytes),
            number: events,
        }
    }
}

impl LogWriter for EventWriter {
    fn write(&mut self, entry: &Entry) -> Result<(), LogError> {
        if self.file.waiting.len() >= BATCH_BYTES {
            self.flush()?;
        }
        let unfit = |what| LogError::Unfit {
            format: Format::EventLog,
            channel: entry.channel.name.clone(),
            what,
        };
        let name = entry.channel.name.as_bytes();
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(unfit("a name there has 1 to 999 bytes"));
        }
        if entry.payload.len() > MAX_MESSAGE_BYTES {
            return Err(unfit(TOO_LONG));
        }
        let header = EventHeader {
            number: self.number,
            time_us: entry.log_time.as_unix_ns().div_euclid(1000),
            name_bytes: name.len() as u32,
            data_bytes: entry.payload.len() as u32,
        };
        header.put(&mut self.file.waiting);
        self.file.waiting.extend_from_slice(name);
        self.file.waiting.extend_from_slice(&entry.payload);
        self.number += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LogError> {
        self.file.put().map_err(LogError::of_write)
    }

    fn length(&self) -> u64 {
        self.file.length()
    }

    fn finish_by_channel(
        mut self: Box<Self>,
        given_up: &mut dyn FnMut(&str, Amount),
    ) -> Result<u64, LogError> {
        let Err(error) = self.flush() else {
            return Ok(0);
        };
        let mut messages = 0;
        each_event(&self.file.waiting, &mut |channel, bytes| {
            messages += 1;
            given_up(channel, Amount { messages: 1, bytes });
        });
        if error.is_no_room() {
            return Ok(messages);
        }
        Err(LogError::no_end(messages, error))
    }
}

/// Goes through whole events, and passes on each one's channel and bytes of payload.
fn each_event(mut events: &[u8], take: &mut dyn FnMut(&str, u64)) {
    while let Some((header, rest)) = events.split_first_chunk()
        && let Some(header) = EventHeader::parse(header)
        && let Some((name, rest)) = rest.split_at_checked(header.name_bytes as usize)
        && let Some(rest) = rest.get(header.data_bytes as usize..)
    {
        take(&String::from_utf8_lossy(name), header.data_bytes.into());
        events = rest;
    }
}

/// Opens an existing event log to continue behind its end. Reads it through once, to count its events.
///
/// # Errors
/// If it is a log of another format, another recorder writes it, or the file system fails.
pub fn append(path: &Path) -> Result<Box<dyn LogWriter>, LogError> {
    let mut reader = super::open(path)?;
    let info = survey(reader.as_mut())?;
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

#[cfg(test)]
mod tests;
