use std::io;

use kadenz_rt::clock::WallTime;

use super::encoder::Encoder;
use crate::log::compression::Compression;
use crate::log::file::Appender;
use crate::log::{Entry, Format, LogError, LogFile, LogWriter};

/// How an MCAP file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// How chunks are compressed.
    pub compression: Compression,
    /// How many bytes of messages make a chunk, before compression.
    pub chunk_bytes: usize,
    /// What the file promises of itself, in MCAP's words; `lcm` for logs of LCM messages.
    pub profile: String,
}

impl Default for Options {
    /// LZ4, chunks of 1 MiB, no profile.
    fn default() -> Self {
        Self {
            compression: Compression::default(),
            chunk_bytes: 1 << 20,
            profile: String::new(),
        }
    }
}

/// Writes MCAP. Holds the chunk that is being filled in memory, and what the index at the end needs:
/// about 100 bytes a chunk, and 18 for each channel in it.
///
/// ```
/// use kadenz_msg::log::mcap::{McapWriter, Options};
/// use kadenz_msg::log::{Entry, LogWriter as _, LoggedChannel, SmallDisk};
///
/// let file = SmallDisk::with_room(1 << 20);
/// let mut writer = McapWriter::new(Box::new(file.clone()), &Options::default())?;
/// let text = "struct pose_t { double x; }";
/// let channel = LoggedChannel::lcm_of_type("POSE", "pose_t", text);
/// writer.write(&Entry { channel: channel.into(), ..Entry::default() })?;
/// Box::new(writer).finish()?;
/// assert!(file.contents().ends_with(b"\x89MCAP0\r\n"));
/// # Ok::<(), kadenz_msg::log::LogError>(())
/// ```
pub struct McapWriter {
    file: Appender,
    encoder: Encoder,
    chunk_bytes: usize,
}

impl McapWriter {
    /// Begins an MCAP file in an empty file.
    ///
    /// # Errors
    /// Where its begin cannot be written.
    pub fn new(file: Box<dyn LogFile>, options: &Options) -> Result<Self, LogError> {
        let mut file = Appender::new(file, 0);
        Encoder::header(options, &mut file.waiting);
        file.put().map_err(LogError::of_write)?;
        Ok(Self {
            file,
            encoder: Encoder::new(options.compression),
            chunk_bytes: options.chunk_bytes.max(1),
        })
    }

    /// Puts a whole file into the log, such as a description of the robot.
    ///
    /// # Errors
    /// As [`LogWriter::flush`].
    pub fn attach(&mut self, name: &str, media_type: &str, data: &[u8]) -> Result<(), LogError> {
        self.flush()?;
        let (offset, time) = (self.file.length(), WallTime::now().as_unix_ns());
        let attachment = (name, media_type, data);
        let into = &mut self.file.waiting;
        self.encoder.attach(offset, attachment, time, into);
        self.file.put().map_err(LogError::of_write)
    }

    /// Puts named facts into the log, such as the host's or a program's parameters.
    ///
    /// # Errors
    /// As [`LogWriter::flush`].
    pub fn describe(&mut self, name: &str, facts: &[(String, String)]) -> Result<(), LogError> {
        self.flush()?;
        let offset = self.file.length();
        let into = &mut self.file.waiting;
        self.encoder.describe_file(offset, name, facts, into);
        self.file.put().map_err(LogError::of_write)
    }

    /// Ends the chunk where what waited before has gone.
    fn end_chunk(&mut self) -> io::Result<()> {
        self.file.put()?;
        let offset = self.file.length();
        self.encoder.end_chunk(offset, &mut self.file.waiting)?;
        self.file.put()
    }

    /// Writes index and footer; where there is no room, last chunks give theirs.
    fn end(&mut self) -> Result<u64, LogError> {
        let mut given_up = 0;
        loop {
            let offset = self.file.length();
            self.encoder.end(offset, &mut self.file.waiting);
            let error = match self.file.put() {
                Ok(()) => return Ok(given_up),
                Err(error) => LogError::of_write(error),
            };
            let Some(chunk) = error
                .is_no_room()
                .then(|| self.encoder.chunks.pop())
                .flatten()
            else {
                return Err(error);
            };
            given_up += chunk.messages();
            self.encoder.forget_from(chunk.offset);
            self.file.cut(chunk.offset)?;
        }
    }
}

impl LogWriter for McapWriter {
    fn write(&mut self, entry: &Entry) -> Result<(), LogError> {
        if self.encoder.chunk_bytes() >= self.chunk_bytes || !self.file.waiting.is_empty() {
            self.end_chunk().map_err(LogError::of_write)?;
        }
        self.encoder.add(entry).map_err(|what| LogError::Unfit {
            format: Format::Mcap,
            channel: entry.channel.name.clone(),
            what,
        })
    }

    fn flush(&mut self) -> Result<(), LogError> {
        self.end_chunk().map_err(LogError::of_write)
    }

    fn length(&self) -> u64 {
        self.file.length() + self.encoder.chunk_bytes() as u64
    }

    fn finish(mut self: Box<Self>) -> Result<u64, LogError> {
        let mut given_up = 0;
        if let Err(error) = self.flush() {
            if !error.is_no_room() {
                return Err(error);
            }
            given_up = self.encoder.chunk_messages();
            // What waits is the last chunk that was ended, which is listed already.
            if let Some(chunk) = self
                .encoder
                .chunks
                .pop_if(|it| it.offset >= self.file.written())
            {
                given_up += chunk.messages();
            }
            self.encoder.forget_from(self.file.written());
            self.file.waiting.clear();
        }
        Ok(given_up + self.end()?)
    }
}
