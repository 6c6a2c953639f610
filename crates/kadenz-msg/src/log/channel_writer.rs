//! A log that takes LCM messages by channel, bytes and time: what languages without our types write with.

use std::path::Path;

use kadenz_rt::clock::WallTime;

use super::{Entry, Format, LogError, LogWriter, LoggedChannel};

/// Writes messages that are encoded already. Without [`finish`](Self::finish) the written messages stay
/// readable, without an index.
pub struct ChannelWriter {
    writer: Option<Box<dyn LogWriter>>,
    entry: Entry,
}

impl ChannelWriter {
    /// Creates a log, and overwrites an existing one: MCAP if its name ends with `.mcap`, else LCM's event
    /// log.
    ///
    /// # Errors
    /// [`LogError`] if the file cannot be made.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, LogError> {
        let path = path.as_ref();
        Ok(Self {
            writer: Some(super::create(path, Format::of_name(path))?),
            entry: Entry::default(),
        })
    }

    /// Writes a message that arrived at a time.
    ///
    /// # Errors
    /// As [`LogWriter::write`], and [`LogError::Finished`].
    pub fn write(&mut self, channel: &str, payload: &[u8], at: WallTime) -> Result<(), LogError> {
        let Self { writer, entry } = self;
        let writer = writer.as_mut().ok_or(LogError::Finished)?;
        if entry.channel.name != channel {
            entry.channel = LoggedChannel::lcm(channel).into();
        }
        entry.payload.clear();
        entry.payload.extend_from_slice(payload);
        (entry.log_time, entry.publish_time) = (at, at);
        writer.write(entry)?;
        entry.sequence = entry.sequence.wrapping_add(1);
        Ok(())
    }

    /// Finishes the file.
    ///
    /// # Errors
    /// As [`LogWriter::finish`], [`LogError::GaveUp`] if messages were given up to make room for the index,
    /// and [`LogError::Finished`] the second time.
    pub fn finish(&mut self) -> Result<(), LogError> {
        let writer = self.writer.take().ok_or(LogError::Finished)?;
        match writer.finish()? {
            0 => Ok(()),
            messages => Err(LogError::GaveUp { messages }),
        }
    }

    /// Returns whether it was finished.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.writer.is_none()
    }
}

impl std::fmt::Debug for ChannelWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChannelWriter")
            .field("is_finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_name_chooses_the_format_and_it_ends_once() {
        let folder = tempfile::tempdir().unwrap();
        for (name, format) in [
            ("a.mcap", Format::Mcap),
            ("a", Format::EventLog),
            ("a.lcmlog", Format::EventLog),
        ] {
            let path = folder.path().join(name);
            let mut writer = ChannelWriter::create(&path).unwrap();
            writer
                .write("ARM", b"12345678", WallTime::from_unix_ns(5_000))
                .unwrap();
            writer.finish().unwrap();
            let refused = [
                writer.finish(),
                writer.write("ARM", b"", WallTime::from_unix_ns(0)),
            ];
            assert!(
                refused
                    .iter()
                    .all(|it| matches!(it, Err(LogError::Finished)))
            );
            let info = super::super::open(&path).unwrap().info().unwrap();
            assert_eq!((info.format, info.messages), (format, 1));
        }
    }
}
