use super::{Header, LONGEST_NAME};
use crate::log::file::Appender;
use crate::log::limits::TOO_LONG;
use crate::log::{Entry, Format, LogError, LogFile, LogWriter, MAX_MESSAGE_BYTES};

/// Writes LCM's event log, byte for byte as liblcm does; times are cut to microseconds.
pub struct EventWriter {
    file: Appender,
    number: i64,
    /// How many events wait for being written.
    waiting: u64,
}

/// How much is gathered before it is written.
const BATCH_BYTES: usize = 1 << 16;

impl EventWriter {
    /// Writes into an empty file.
    #[must_use]
    pub fn new(file: Box<dyn LogFile>) -> Self {
        Self::behind(file, 0, 0)
    }

    /// Writes behind events that are there: so many, of so many bytes. The file stands at its end.
    #[must_use]
    pub fn behind(file: Box<dyn LogFile>, events: i64, bytes: u64) -> Self {
        Self {
            file: Appender::new(file, bytes),
            number: events,
            waiting: 0,
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
        if name.is_empty() || name.len() > LONGEST_NAME {
            return Err(unfit("a name there has 1 to 999 bytes"));
        }
        if entry.payload.len() > MAX_MESSAGE_BYTES {
            return Err(unfit(TOO_LONG));
        }
        let header = Header {
            number: self.number,
            time_us: entry.log_time.as_unix_ns().div_euclid(1000),
            name_bytes: name.len() as u32,
            data_bytes: entry.payload.len() as u32,
        };
        header.put(&mut self.file.waiting);
        self.file.waiting.extend_from_slice(name);
        self.file.waiting.extend_from_slice(&entry.payload);
        self.number += 1;
        self.waiting += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LogError> {
        self.file.put().map_err(LogError::of_write)?;
        self.waiting = 0;
        Ok(())
    }

    fn length(&self) -> u64 {
        self.file.length()
    }

    fn finish(mut self: Box<Self>) -> Result<u64, LogError> {
        match self.flush() {
            Ok(()) => Ok(0),
            Err(error) if error.is_no_room() => Ok(self.waiting),
            Err(error) => Err(LogError::no_end(self.waiting, error)),
        }
    }
}
