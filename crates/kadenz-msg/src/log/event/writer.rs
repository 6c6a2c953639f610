use super::{Header, MAX_NAME};
use crate::log::file::Appender;
use crate::log::limits::TOO_LONG;
use crate::log::{Amount, Entry, Format, LogError, LogFile, LogWriter, MAX_MESSAGE_BYTES};

/// Writes LCM's event log, byte for byte as liblcm does; times are cut to microseconds.
pub struct EventWriter {
    file: Appender,
    number: i64,
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

/// Goes through whole events: each one's channel and how many bytes of payload it has.
fn each_event(mut events: &[u8], tell: &mut dyn FnMut(&str, u64)) {
    while let Some((header, rest)) = events.split_first_chunk()
        && let Some(header) = Header::parse(header)
        && let Some((name, rest)) = rest.split_at_checked(header.name_bytes as usize)
        && let Some(rest) = rest.get(header.data_bytes as usize..)
    {
        tell(&String::from_utf8_lossy(name), header.data_bytes.into());
        events = rest;
    }
}
