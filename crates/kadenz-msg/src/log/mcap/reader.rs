use std::collections::HashMap;
use std::io::{BufReader, Seek as _, SeekFrom};
use std::sync::Arc;

use kadenz_rt::clock::WallTime;

use super::ChannelRegistry;
use super::records::Fields;
use super::scan::{ChunkHead, McapIndex, McapScanner, record_at};
use super::{MAGIC, RECORD_HEAD, op};
use crate::log::chunks::{
    self, ChunkExtent, ChunkMerge, ChunkMessage, Chunked, Loaded, shrink_spare,
};
use crate::log::info::extend;
use crate::log::{
    ChannelInfo, Damage, Dictionary, Entry, Format, Info, Limits, LogError, LogReader,
    LoggedChannel, MAX_CHUNK_BYTES, Source, survey_all,
};

/// Reads MCAP in the order of time, also files whose writer was killed.
pub struct McapReader<S> {
    chunks: McapChunkReader<S>,
    pub(super) merge: ChunkMerge,
    map: McapIndex,
    /// The descriptions that were read so far, those of an index at once: for messages whose own came late.
    described: Dictionary,
}

/// A file within a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The name that the recorder gave the file.
    pub name: String,
    /// The kind of file, as a media type.
    pub media_type: String,
    /// When it was made.
    pub time: WallTime,
    /// The content of the file.
    pub data: Vec<u8>,
}

/// Reads chunks and other records of an MCAP file into memory.
struct McapChunkReader<S> {
    source: BufReader<S>,
    length: u64,
    names: ChannelRegistry,
    /// A chunk as in the file; its memory is reused.
    raw: Vec<u8>,
}

impl<S: Source> McapReader<S> {
    /// Finds the chunks of a file.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like MCAP.
    pub fn open(source: S) -> Result<Self, LogError> {
        let what = "it does not begin with MCAP's sign";
        let (mut source, length) = chunks::open(source, MAGIC, Format::Mcap, what)?;
        let map = McapIndex::default();
        let mut map = McapScanner {
            source: &mut source,
            length,
            map,
        }
        .map()?;
        let names = std::mem::take(&mut map.names);
        let merge = ChunkMerge::new(std::mem::take(&mut map.places), map.damage, length);
        let raw = Vec::new();
        let chunks = McapChunkReader {
            source,
            length,
            names,
            raw,
        };
        Ok(Self {
            chunks,
            merge,
            map,
            described: Dictionary::default(),
        })
    }

    /// Returns the named facts in the file; of an index that names more than the file can hold, a part is
    /// read.
    ///
    /// # Errors
    /// If the file system fails.
    #[expect(clippy::type_complexity, reason = "names, and pairs under each")]
    pub fn facts(&mut self) -> Result<Vec<(String, Vec<(String, String)>)>, LogError> {
        self.chunks.records(&self.map.metadata, op::METADATA, |it| {
            let mut fields = Fields(it);
            fields.text().zip(fields.map())
        })
    }

    /// Returns the files within the log; those over 96 MiB are left out, and of an index that names more than
    /// the log can hold, a part is read.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn attachments(&mut self) -> Result<Vec<Attachment>, LogError> {
        self.chunks
            .records(&self.map.attachments, op::ATTACHMENT, attachment)
    }

    /// Returns the times of the first and last message of each channel, by the index.
    fn spans(&mut self) -> Result<HashMap<u16, (i64, i64)>, LogError> {
        let ends = self.map.ends.values();
        let mut offsets: Vec<u64> = ends.flat_map(|it| [it.first.1, it.last.1]).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let mut spans = HashMap::new();
        let indexes = self
            .chunks
            .records(&offsets, op::MESSAGE_INDEX, message_span)?;
        for (channel, (first, last)) in indexes {
            let span: &mut (i64, i64) = spans.entry(channel).or_insert((first, last));
            *span = (span.0.min(first), span.1.max(last));
        }
        Ok(spans)
    }

    /// Returns the statistics, if the file has them and nothing was damaged.
    fn statistics(&self, spans: &HashMap<u16, (i64, i64)>) -> Option<Info> {
        let counts = self
            .map
            .counts
            .as_ref()
            .filter(|_| self.map.damage.is_none())?;
        let mut info = self.outline();
        info.messages = counts.values().sum();
        let times = |&(first, last): &(i64, i64)| {
            (WallTime::from_unix_ns(first), WallTime::from_unix_ns(last))
        };
        info.span = (info.messages > 0).then(|| times(&self.map.span));
        for (number, channel) in &self.chunks.names.channels {
            info.channels.push(ChannelInfo {
                channel: LoggedChannel::clone(channel),
                messages: counts.get(number).copied().unwrap_or(0),
                span: spans.get(number).map(times),
                payload_bytes: None,
                fingerprints: Vec::new(),
            });
        }
        let name = |it: &ChannelInfo| it.channel.name.clone();
        info.channels.sort_by_key(name);
        Some(info)
    }
}

/// The channel of a message index, and the times of its first and last message.
fn message_span(content: &[u8]) -> Option<(u16, (i64, i64))> {
    let mut fields = Fields(content);
    let channel = fields.u16()?;
    let mut messages = Fields(fields.counted()?);
    let mut span: Option<(i64, i64)> = None;
    while let Some((time, _)) = messages.time().zip(messages.u64()) {
        extend(&mut span, (time, time));
    }
    span.map(|span| (channel, span))
}

fn attachment(content: &[u8]) -> Option<Attachment> {
    let mut fields = Fields(content);
    let time = fields.time()?;
    let _created = fields.time()?;
    let (name, media_type) = (fields.text()?, fields.text()?);
    let length = usize::try_from(fields.u64()?).ok()?;
    let data = fields.bytes(length)?.to_vec();
    let time = WallTime::from_unix_ns(time);
    Some(Attachment {
        name,
        media_type,
        time,
        data,
    })
}

impl<S: Source> McapChunkReader<S> {
    /// Returns the content of the records of a kind, up to the length of the file.
    fn records<T>(
        &mut self,
        offsets: &[u64],
        kind: u8,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, LogError> {
        let mut all = Vec::new();
        let mut left = self.length;
        for offset in offsets {
            let is_wanted = |number, length| number == kind && length <= left;
            if let Some((_, content)) = record_at(&mut self.source, *offset, is_wanted)? {
                left -= content.len() as u64;
                all.extend(read(&content));
            }
        }
        Ok(all)
    }

    /// Reads a place into `raw`; `false` where the file ends before.
    fn fetch(&mut self, place: &ChunkExtent) -> Result<bool, LogError> {
        self.raw.clear();
        if place.length > MAX_CHUNK_BYTES + RECORD_HEAD {
            return Ok(false);
        }
        self.source.seek(SeekFrom::Start(place.offset))?;
        Ok(chunks::read_into(
            &mut self.source,
            place.length,
            &mut self.raw,
        )?)
    }

    /// Converts the fetched bytes to bare records.
    fn unpack(&mut self, into: &mut Loaded) -> Option<()> {
        if self.raw.first() != Some(&op::CHUNK) {
            std::mem::swap(&mut self.raw, &mut into.bytes);
            return Some(());
        }
        let content = self.raw.get(RECORD_HEAD as usize..)?;
        let head = ChunkHead::parse(content, content.len() as u64)?;
        let compressed = usize::try_from(head.compressed).ok()?;
        let packed = content.get(head.head..)?.get(..compressed)?;
        head.compression
            .decompress(packed, head.uncompressed, &mut into.bytes)?;
        (head.crc == 0 || head.crc == crc32fast::hash(&into.bytes)).then_some(())
    }

    /// Notes the messages of a chunk; `None` where its records do not fit into each other.
    fn note(&mut self, into: &mut Loaded) -> Option<()> {
        let mut records = Fields(&into.bytes);
        let whole = into.bytes.len();
        while !records.0.is_empty() {
            let (number, content) = records.record()?;
            if number != op::MESSAGE {
                self.names.learn(number, content).ok()?;
                continue;
            }
            let mut fields = Fields(content);
            let message = ChunkMessage {
                channel: fields.u16()?.into(),
                sequence: fields.u32()?,
                log_time: fields.time()?,
                publish_time: fields.time()?,
                from: (whole - records.0.len() - fields.0.len()) as u32,
                length: fields.0.len() as u32,
            };
            chunks::note(&mut into.messages, whole, message)?;
        }
        Some(())
    }
}

impl<S: Source> Chunked for McapChunkReader<S> {
    fn load(&mut self, place: &ChunkExtent, into: &mut Loaded) -> Result<bool, LogError> {
        if !self.fetch(place)? {
            return Ok(false);
        }
        into.bytes.clear();
        let unpacked = self.unpack(into);
        shrink_spare(&mut self.raw);
        Ok(unpacked.and_then(|()| self.note(into)).is_some())
    }

    fn channel(&self, number: u32) -> Option<Arc<LoggedChannel>> {
        let number = u16::try_from(number).ok()?;
        self.names.channels.get(&number).map(Arc::clone)
    }
}

impl<S: Source> LogReader for McapReader<S> {
    fn read(&mut self, entry: &mut Entry) -> Result<bool, LogError> {
        let is_read = self.merge.read(&mut self.chunks, entry)?;
        if is_read && entry.channel.schema.is_none() {
            for schema in self.chunks.names.new_schemas.drain(..) {
                self.described.add_of_log(schema);
            }
            if self.described.is_of_log(entry) {
                self.described.complete(entry);
            }
        }
        Ok(is_read)
    }

    fn seek(&mut self, time: WallTime) -> Result<(), LogError> {
        self.merge.seek(time);
        Ok(())
    }

    fn set_limits(&mut self, limits: Limits) {
        self.merge.limits = limits;
    }

    fn outline(&self) -> Info {
        let mut info = Info::new(Format::Mcap, self.chunks.length);
        info.complete = Some(self.map.complete);
        info.library.clone_from(&self.map.library);
        info.chunks.clone_from(&self.map.compressions);
        info.damage = self.merge.damage;
        info
    }

    fn damage(&self) -> Damage {
        self.merge.damage
    }

    fn progress(&self) -> (u64, u64) {
        self.merge.progress()
    }

    fn info(&mut self) -> Result<Info, LogError> {
        let is_whole = self.map.counts.is_some() && self.map.damage.is_none();
        let spans = match is_whole {
            true => self.spans()?,
            false => HashMap::new(),
        };
        match self.statistics(&spans) {
            Some(info) => Ok(info),
            None => survey_all(self),
        }
    }
}
