use std::collections::BTreeMap;
use std::io;

use kadenz_rt::clock::WallTime;

use super::encoder::McapEncoder;
use super::summary;
use crate::log::compression::Compression;
use crate::log::file::Appender;
use crate::log::{Amount, Entry, Format, LogError, LogFile, LogWriter, MAX_MESSAGE_BYTES};

/// The options of an MCAP file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McapOptions {
    /// The compression of chunks.
    pub compression: Compression,
    /// How many bytes of messages make a chunk, before compression.
    pub chunk_bytes: usize,
    /// The maximum length of chunks, which grow by a byte for each 8 KiB of the file, so that its index stays
    /// short; a day at 100 MB/s has half a million chunks.
    pub longest_chunk_bytes: usize,
    /// The profile of the file, in MCAP's terms; `lcm` for logs of LCM messages.
    pub profile: String,
}

impl Default for McapOptions {
    /// LZ4, chunks of 1 MiB and later up to 16, no profile.
    fn default() -> Self {
        Self {
            compression: Compression::default(),
            chunk_bytes: 1 << 20,
            longest_chunk_bytes: 16 << 20,
            profile: String::new(),
        }
    }
}

/// Writes MCAP. Holds the present chunk in memory, and the last MiB of the data of the index at the end; the
/// older part is in the file, between chunks, as a record that other programs skip. In a file that was opened
/// only for writing that part could not be read again at the end, so it stays in memory: about 80 bytes a
/// chunk, and 20 for each channel in it.
///
/// ```
/// use kadenz_msg::log::mcap::{McapWriter, McapOptions};
/// use kadenz_msg::log::{Entry, LogWriter as _, LoggedChannel, SmallDisk};
///
/// let file = SmallDisk::with_room(1 << 20);
/// let mut writer = McapWriter::new(Box::new(file.clone()), &McapOptions::default())?;
/// let text = "struct pose_t { double x; }";
/// let channel = LoggedChannel::lcm_of_type("POSE", "pose_t", text);
/// writer.write(&Entry { channel: channel.into(), ..Entry::default() })?;
/// Box::new(writer).finish()?;
/// assert!(file.contents().ends_with(b"\x89MCAP0\r\n"));
/// # Ok::<(), kadenz_msg::log::LogError>(())
/// ```
pub struct McapWriter {
    file: Appender,
    encoder: McapEncoder,
    chunk_bytes: usize,
    longest_chunk_bytes: usize,
}

/// A chunk holds at least this part of the file before it, once that exceeds the minimum.
const CHUNK_OF_FILE: u64 = 1 << 13;

/// The maximum length of a chunk: a reader holds a whole one in memory.
const MAX_CHUNK: usize = 64 << 20;

impl McapWriter {
    /// Begins an MCAP file in an empty file.
    ///
    /// # Errors
    /// If its beginning cannot be written.
    pub fn new(file: Box<dyn LogFile>, options: &McapOptions) -> Result<Self, LogError> {
        let mut file = Appender::new(file, 0);
        McapEncoder::header(options, &mut file.waiting);
        file.put().map_err(LogError::of_write)?;
        Ok(Self {
            file,
            encoder: McapEncoder::new(options.compression),
            chunk_bytes: options.chunk_bytes.max(1),
            longest_chunk_bytes: options.longest_chunk_bytes.min(MAX_CHUNK),
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

    /// Ends the chunk, once the waiting bytes are written.
    fn end_chunk(&mut self) -> io::Result<()> {
        self.file.put()?;
        let offset = self.file.length();
        self.encoder.end_chunk(offset, &mut self.file.waiting)?;
        self.file.put()?;
        self.encoder.index.spill(&mut self.file);
        Ok(())
    }

    /// Writes index and footer; where there is no room, last chunks give theirs. Adds the messages of
    /// those to what was given up.
    fn end(&mut self, given_up: &mut Lost) -> Result<(), LogError> {
        loop {
            let begin = self.file.length();
            let error = match summary::put(&self.encoder, &mut self.file) {
                Ok(()) => return Ok(()),
                Err(error) => LogError::of_write(error),
            };
            let had_room = self.file.written() - begin;
            self.file.cut(begin)?;
            if !error.is_no_room() {
                return Err(error);
            }
            let missing = self.encoder.index.bytes().saturating_sub(had_room);
            if !self.give_up(missing, given_up)? {
                return Err(error);
            }
        }
    }

    /// Frees so many bytes, and one chunk at least, at the end of the file. `false` if no chunk is left.
    fn give_up(&mut self, bytes: u64, given_up: &mut Lost) -> io::Result<bool> {
        let (from, mut any) = (self.file.length(), false);
        while !any || from - self.file.length() < bytes {
            let Some(chunk) = self.encoder.index.pop(&mut self.file)? else {
                break;
            };
            any = true;
            given_up.add(chunk.channels);
            self.encoder.truncate_from(chunk.offset);
            self.file.cut(chunk.offset)?;
        }
        Ok(any)
    }

    /// Gives up what is not in the file.
    fn give_up_waiting(&mut self, given_up: &mut Lost) {
        given_up.add(self.encoder.chunk_messages());
        // The waiting bytes are the last chunk that was ended, which is listed already.
        let written = self.file.written();
        if let Some(chunk) = self.encoder.index.pop_from(written) {
            given_up.add(chunk.channels);
        }
        self.encoder.truncate_from(written);
        self.file.waiting.clear();
    }
}

/// The amounts that were given up, by the number of the channel.
#[derive(Default)]
struct Lost(BTreeMap<u16, Amount>);

impl Lost {
    fn add(&mut self, channels: impl IntoIterator<Item = (u16, Amount)>) {
        for (channel, amount) in channels {
            *self.0.entry(channel).or_default() += amount;
        }
    }
}

impl LogWriter for McapWriter {
    fn write(&mut self, entry: &Entry) -> Result<(), LogError> {
        let full = chunk_bytes(
            self.chunk_bytes,
            self.longest_chunk_bytes,
            self.file.length(),
        );
        let longer = self.encoder.chunk_bytes() + entry.payload.len();
        let is_full = self.encoder.message_bytes() >= full || longer > MAX_MESSAGE_BYTES;
        if is_full || !self.file.waiting.is_empty() {
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

    fn finish_by_channel(
        mut self: Box<Self>,
        given_up: &mut dyn FnMut(&str, Amount),
    ) -> Result<u64, LogError> {
        let mut lost = Lost::default();
        let flushed = self.flush();
        if flushed.is_err() {
            self.give_up_waiting(&mut lost);
        }
        let result = match flushed {
            Err(error) if !error.is_no_room() => Err(error),
            _ => self.end(&mut lost),
        };
        for (channel, name) in self.encoder.names() {
            if let Some(amount) = lost.0.get(&channel) {
                given_up(name, *amount);
            }
        }
        let messages = lost.0.values().map(|amount| amount.messages).sum();
        match result {
            Ok(()) => Ok(messages),
            Err(source) => Err(LogError::no_end(messages, source)),
        }
    }
}

/// Returns how many bytes of messages make a chunk in a file of that length.
pub(super) fn chunk_bytes(least: usize, most: usize, length: u64) -> usize {
    let grown = usize::try_from(length / CHUNK_OF_FILE).unwrap_or(usize::MAX);
    grown.min(most).max(least)
}
