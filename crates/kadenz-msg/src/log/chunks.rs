//! Logs whose messages are in chunks: the order of time over chunks that overlap, in bounded memory.

use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::sync::Arc;

use kadenz_rt::clock::WallTime;

use super::{
    Damage, Entry, Format, Limits, LogError, LoggedChannel, MAX_CHUNK_BYTES, READ_AHEAD, Source,
};

/// Opens a file that begins with these bytes; returns it with its length.
///
/// # Errors
/// If it cannot be read, or begins otherwise than `what`.
pub(crate) fn open<S: Source>(
    source: S,
    magic: &[u8],
    format: Format,
    what: &'static str,
) -> Result<(BufReader<S>, u64), LogError> {
    let mut source = BufReader::with_capacity(READ_AHEAD, source);
    let length = source.seek(SeekFrom::End(0))?;
    source.rewind()?;
    let mut begins = Vec::new();
    read_into(&mut source, magic.len() as u64, &mut begins)?;
    if begins != magic {
        return Err(LogError::Damaged {
            format,
            offset: 0,
            what,
        });
    }
    Ok((source, length))
}

/// Reads so many bytes into a vector, or fewer where the source ends; returns whether they are all. Memory is taken
/// as they are read, not by a stated length.
pub(crate) fn read_into(
    source: &mut impl Read,
    bytes: u64,
    into: &mut Vec<u8>,
) -> io::Result<bool> {
    into.clear();
    Ok(source.take(bytes).read_to_end(into)? as u64 == bytes)
}

/// Goes to an offset. The read-ahead buffer stays: records may be many and short.
pub(crate) fn go_to<S: Source>(source: &mut BufReader<S>, offset: u64) -> io::Result<()> {
    let offset = i64::try_from(offset).unwrap_or(i64::MAX);
    let at = i64::try_from(source.stream_position()?).unwrap_or(0);
    source.seek_relative(offset - at)
}

/// The place of a chunk, and the times of its first and last message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkExtent {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) first: i64,
    pub(crate) last: i64,
}

/// A message within a chunk that is in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkMessage {
    pub(crate) log_time: i64,
    pub(crate) publish_time: i64,
    pub(crate) sequence: u32,
    /// The format's identifier of its channel; [`Chunked::channel`] returns the channel.
    pub(crate) channel: u32,
    /// Its offset in the chunk, which is shorter than [`MAX_CHUNK_BYTES`].
    pub(crate) from: u32,
    pub(crate) length: u32,
}

/// A chunk in memory.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) messages: Vec<ChunkMessage>,
    next: usize,
}

/// How much a chunk and the list of its messages may take together.
const MAX_LOADED_BYTES: usize = MAX_CHUNK_BYTES as usize / 4 * 5;

/// Notes a message of a chunk of that many bytes; `None` if it holds more messages than there is memory for.
pub(crate) fn note(
    messages: &mut Vec<ChunkMessage>,
    chunk: usize,
    message: ChunkMessage,
) -> Option<()> {
    if chunk + messages.len() * size_of::<ChunkMessage>() >= MAX_LOADED_BYTES {
        return None;
    }
    messages.push(message);
    Some(())
}

impl Loaded {
    /// Returns the bytes of memory that it holds.
    fn memory(&self) -> usize {
        self.bytes.capacity() + self.messages.capacity() * size_of::<ChunkMessage>()
    }

    /// Empties it for the next chunk.
    fn clear(&mut self) {
        self.bytes.clear();
        self.messages.clear();
        self.next = 0;
        shrink_spare(&mut self.bytes);
        shrink_spare(&mut self.messages);
    }

    fn head(&self) -> Option<&ChunkMessage> {
        self.messages.get(self.next)
    }
}

/// A format with chunks.
pub(crate) trait Chunked: Send {
    /// Reads a chunk into memory. `false` if it is damaged; the messages before the damage stay.
    fn load(&mut self, place: &ChunkExtent, into: &mut Loaded) -> Result<bool, LogError>;

    /// A channel by the number that its messages carry.
    fn channel(&self, number: u32) -> Option<Arc<LoggedChannel>>;
}

/// Returns the messages of chunks in the order of their times.
///
/// If more chunks overlap than are held at once, the order is that of the chunks: bounded memory has
/// precedence over order.
#[derive(Debug)]
pub(crate) struct ChunkMerge {
    pub(crate) places: Vec<ChunkExtent>,
    next_place: usize,
    open: Vec<Loaded>,
    spare: Vec<Loaded>,
    from: i64,
    /// The damage before any chunk was read.
    beforehand: Damage,
    pub(crate) damage: Damage,
    /// How long the log is, how many bytes its chunks were unpacked to, and how many may be.
    length: u64,
    unpacked: u64,
    pub(crate) limits: Limits,
}

/// The maximum number of chunks in memory, and of their bytes, one chunk more aside.
const MAX_OPEN: usize = 64;
const MAX_OPEN_BYTES: usize = 64 << 20;

/// The maximum number of buffers that are kept for the next chunks, and of the bytes of one.
const MAX_SPARE: usize = 4;
const MAX_SPARE_BYTES: usize = 2 << 20;

/// Gives memory back where a buffer has become larger than what is kept.
pub(crate) fn shrink_spare<T>(buffer: &mut Vec<T>) {
    buffer.shrink_to(MAX_SPARE_BYTES / size_of::<T>().max(1));
}

/// Returns whether chunks share bytes of the file: then the same bytes would be read again and again.
pub(crate) fn overlap(places: &[ChunkExtent]) -> bool {
    let mut spans: Vec<(u64, u64)> = places.iter().map(|it| (it.offset, it.length)).collect();
    spans.sort_unstable();
    spans.windows(2).any(|pair| {
        let (offset, length) = pair[0];
        pair[1].0 < offset.saturating_add(length) || pair[1].0 == offset
    })
}

impl ChunkMerge {
    /// Returns a merge over chunks, in any order, of a log of that length. Skipped ones are damage.
    pub(crate) fn new(mut places: Vec<ChunkExtent>, damage: Damage, length: u64) -> Self {
        places.sort_by_key(|place| (place.first, place.offset));
        Self {
            places,
            next_place: 0,
            open: Vec::new(),
            spare: Vec::new(),
            from: i64::MIN,
            beforehand: damage,
            damage,
            length,
            unpacked: 0,
            limits: Limits::default(),
        }
    }

    /// Gives messages from that time on.
    pub(crate) fn seek(&mut self, time: WallTime) {
        self.from = time.as_unix_ns();
        self.next_place = 0;
        self.damage = self.beforehand;
        self.unpacked = 0;
        while let Some(loaded) = self.open.pop() {
            self.put_away(loaded);
        }
    }

    /// Keeps a buffer for the next chunk, if few are kept.
    fn put_away(&mut self, mut loaded: Loaded) {
        if self.spare.len() < MAX_SPARE {
            loaded.clear();
            self.spare.push(loaded);
        }
    }

    /// Returns how many bytes of chunks have been read, and how many there are.
    pub(crate) fn progress(&self) -> (u64, u64) {
        let bytes = |places: &[ChunkExtent]| places.iter().map(|place| place.length).sum();
        (bytes(&self.places[..self.next_place]), bytes(&self.places))
    }

    /// Fills the entry with the next message.
    pub(crate) fn read(
        &mut self,
        source: &mut dyn Chunked,
        entry: &mut Entry,
    ) -> Result<bool, LogError> {
        loop {
            self.open_what_is_due(source)?;
            let Some(at) = self.first() else {
                return Ok(false);
            };
            let loaded = &mut self.open[at];
            let Some(&message) = loaded.head() else {
                return Ok(false);
            };
            loaded.next += 1;
            let from = message.from as usize;
            let bytes = loaded.bytes.get(from..from + message.length as usize);
            let known = source.channel(message.channel);
            let is_filled = match (bytes, known) {
                (Some(bytes), Some(channel)) => {
                    fill(entry, channel, &message, bytes);
                    true
                }
                _ => false,
            };
            if !is_filled {
                self.damage.add(message.length.into());
            }
            if self.open[at].head().is_none() {
                // The others keep their order, which decides between equal times.
                let done = self.open.remove(at);
                self.put_away(done);
            }
            if is_filled {
                return Ok(true);
            }
        }
    }

    /// Returns the chunk with the earliest message; of equal times the one opened first.
    fn first(&self) -> Option<usize> {
        let heads = self.open.iter().enumerate();
        heads
            .filter_map(|(at, loaded)| Some((loaded.head()?.log_time, at)))
            .min()
            .map(|(_, at)| at)
    }

    fn open_what_is_due(&mut self, source: &mut dyn Chunked) -> Result<(), LogError> {
        while let Some(place) = self.places.get(self.next_place).copied() {
            let head = self.first().and_then(|at| self.open[at].head());
            if head.is_some_and(|head| head.log_time < place.first || self.is_full()) {
                return Ok(());
            }
            self.next_place += 1;
            if place.last < self.from {
                continue;
            }
            let mut loaded = self.spare.pop().unwrap_or_default();
            if !source.load(&place, &mut loaded)? {
                self.damage.add(place.length);
            }
            self.unpacked += loaded.bytes.len() as u64;
            self.limits.check(self.unpacked, self.length)?;
            loaded.messages.retain(|it| it.log_time >= self.from);
            loaded.messages.sort_by_key(|it| it.log_time);
            if loaded.messages.is_empty() {
                self.put_away(loaded);
            } else {
                self.open.push(loaded);
            }
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        let bytes: usize = self.open.iter().map(Loaded::memory).sum();
        self.open.len() >= MAX_OPEN || bytes >= MAX_OPEN_BYTES
    }
}

fn fill(entry: &mut Entry, channel: Arc<LoggedChannel>, message: &ChunkMessage, bytes: &[u8]) {
    entry.channel = channel;
    entry.log_time = WallTime::from_unix_ns(message.log_time);
    entry.publish_time = WallTime::from_unix_ns(message.publish_time);
    entry.sequence = message.sequence;
    entry.payload.clear();
    entry.payload.extend_from_slice(bytes);
}
