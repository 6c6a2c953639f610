//! The places of an MCAP file's chunks: by the index at its end, or from record to record if there is none;
//! over damage to the next chunk.

use std::collections::HashMap;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};

use super::ChannelRegistry;
use super::records::Fields;
use super::{MAGIC, RECORD_HEAD, op};
use crate::log::chunks::{ChunkExtent, go_to, overlap, read_into};
use crate::log::compression::Compression;
use crate::log::{Damage, LogError, MAX_CHUNK_BYTES, Source};

/// The structure of a file without its messages.
#[derive(Default)]
pub(super) struct McapIndex {
    pub(super) places: Vec<ChunkExtent>,
    pub(super) names: ChannelRegistry,
    /// The number of messages of each channel, if the file states it.
    pub(super) counts: Option<HashMap<u16, u64>>,
    pub(super) span: (i64, i64),
    /// Where the index has the first and last message of each channel.
    pub(super) ends: HashMap<u16, ChannelEnds>,
    pub(super) compressions: Vec<(String, u64)>,
    /// The offsets of attachments and facts.
    pub(super) attachments: Vec<u64>,
    pub(super) metadata: Vec<u64>,
    pub(super) damage: Damage,
    /// Whether the file has its end.
    pub(super) complete: bool,
    pub(super) library: String,
}

/// The first time of a channel's earliest chunk, and the last of its latest, each with the offset of the chunk's
/// message index of the channel.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChannelEnds {
    pub(super) first: (i64, u64),
    pub(super) last: (i64, u64),
}

/// Messages outside of chunks are gathered to about so much.
const GAP_CHUNK_BYTES: u64 = 1 << 20;

/// Finds the chunks of a file.
pub(super) struct McapScanner<'a, S> {
    pub(super) source: &'a mut BufReader<S>,
    pub(super) length: u64,
    pub(super) map: McapIndex,
}

impl<S: Source> McapScanner<'_, S> {
    /// Returns the structure of the file.
    pub(super) fn map(mut self) -> Result<McapIndex, LogError> {
        let begin = MAGIC.len() as u64;
        if let Some((op::HEADER, content)) = self.record(begin)? {
            let mut fields = Fields(&content);
            let _profile = fields.text();
            self.map.library = fields.text().unwrap_or_default();
        }
        if !self.summary()? {
            let library = std::mem::take(&mut self.map.library);
            self.map = McapIndex {
                library,
                ..McapIndex::default()
            };
            self.walk(begin)?;
        }
        Ok(self.map)
    }

    /// Reads so many bytes from an offset; fewer where the file ends.
    fn bytes(&mut self, offset: u64, length: u64) -> Result<Vec<u8>, LogError> {
        let mut bytes = Vec::new();
        self.source.seek(SeekFrom::Start(offset))?;
        read_into(self.source, length, &mut bytes)?;
        Ok(bytes)
    }

    /// A whole record of bounded length.
    fn record(&mut self, offset: u64) -> Result<Option<(u8, Vec<u8>)>, LogError> {
        record_at(self.source, offset, |_, _| true)
    }

    /// Takes over the summary; `false` if there is no consistent one.
    fn summary(&mut self) -> Result<bool, LogError> {
        const FOOTER: u64 = 20;
        let tail = RECORD_HEAD + FOOTER + MAGIC.len() as u64;
        let Some(footer) = self.length.checked_sub(tail) else {
            return Ok(false);
        };
        let bytes = self.bytes(footer, tail)?;
        let mut fields = Fields(&bytes);
        let Some((op::FOOTER, mut content)) = fields.record().map(|(op, it)| (op, Fields(it)))
        else {
            return Ok(false);
        };
        self.map.complete = fields.0 == MAGIC;
        let (Some(start), Some(_), Some(crc)) = (content.u64(), content.u64(), content.u32())
        else {
            return Ok(false);
        };
        if !self.map.complete || start == 0 || start > footer {
            return Ok(false);
        }
        let Some(mut found) = self.take_summary(start, footer)? else {
            return Ok(false);
        };
        found.update(&bytes[..(RECORD_HEAD + FOOTER - 4) as usize]);
        Ok((crc == 0 || crc == found.finalize()) && self.has_index())
    }

    /// Takes over the records of the summary one by one, as a long log's summary would take too much memory.
    /// Returns the checksum of all of it.
    fn take_summary(
        &mut self,
        start: u64,
        footer: u64,
    ) -> Result<Option<crc32fast::Hasher>, LogError> {
        let mut crc = crc32fast::Hasher::new();
        let (mut at, mut record) = (start, Vec::new());
        self.source.seek(SeekFrom::Start(start))?;
        while at < footer {
            let Some((number, length)) = self.head(at)? else {
                return Ok(None);
            };
            if length > MAX_CHUNK_BYTES.min(footer.saturating_sub(at + RECORD_HEAD)) {
                return Ok(None);
            }
            crc.update(&[number]);
            crc.update(&length.to_le_bytes());
            read_into(self.source, length, &mut record)?;
            crc.update(&record);
            if self.take_record(number, &record, start).is_none() {
                return Ok(None);
            }
            at += RECORD_HEAD + length;
        }
        Ok(Some(crc))
    }

    fn take_record(&mut self, number: u8, content: &[u8], start: u64) -> Option<()> {
        let mut fields = Fields(content);
        match number {
            op::CHUNK_INDEX => self.chunk_index(&mut fields, start)?,
            op::STATISTICS => self.statistics(&mut fields)?,
            op::ATTACHMENT_INDEX => self.map.attachments.push(fields.u64()?),
            op::METADATA_INDEX => self.map.metadata.push(fields.u64()?),
            _ => self.map.names.learn(number, content).ok()?,
        }
        Some(())
    }

    fn chunk_index(&mut self, fields: &mut Fields<'_>, start: u64) -> Option<()> {
        let (first, last) = (fields.time()?, fields.time()?);
        let (offset, length) = (fields.u64()?, fields.u64()?);
        let offsets = fields.counted()?;
        let _length = fields.u64()?;
        let compression = Compression::named(fields.counted()?)?;
        if offset.checked_add(length)? > start {
            return None;
        }
        self.chunk(offset, length, (first, last), compression);
        self.channel_ends(Fields(offsets), (first, last));
        Some(())
    }

    /// Notes the message indexes of a chunk of that span, by channel.
    fn channel_ends(&mut self, mut offsets: Fields<'_>, (first, last): (i64, i64)) {
        while let Some((channel, offset)) = offsets.u16().zip(offsets.u64()) {
            let of_chunk = ChannelEnds {
                first: (first, offset),
                last: (last, offset),
            };
            let ends = self.map.ends.entry(channel).or_insert(of_chunk);
            ends.first = ends.first.min(of_chunk.first);
            ends.last = ends.last.max(of_chunk.last);
        }
    }

    fn chunk(&mut self, offset: u64, length: u64, span: (i64, i64), by: Compression) {
        let compression = by.as_str();
        let known = &mut self.map.compressions;
        match known.iter_mut().find(|(name, _)| name == compression) {
            Some((_, chunks)) => *chunks += 1,
            None => known.push((compression.to_owned(), 1)),
        }
        self.map.places.push(ChunkExtent {
            offset,
            length,
            first: span.0,
            last: span.1,
        });
    }

    fn statistics(&mut self, fields: &mut Fields<'_>) -> Option<()> {
        let messages = fields.u64()?;
        fields.bytes(2 + 4 * 4)?;
        self.map.span = (fields.time()?, fields.time()?);
        let mut counts = HashMap::new();
        let mut pairs = Fields(fields.counted()?);
        while !pairs.0.is_empty() {
            counts.insert(pairs.u16()?, pairs.u64()?);
        }
        let sum = counts
            .values()
            .try_fold(0_u64, |sum, it| sum.checked_add(*it));
        self.map.counts = (sum == Some(messages)).then_some(counts);
        Some(())
    }

    /// Returns whether the index finds every message, and each once: one without chunks does not, nor does
    /// one whose chunks overlap, which no writer made.
    fn has_index(&self) -> bool {
        let empty = |counts: &HashMap<u16, u64>| counts.values().all(|count| *count == 0);
        if overlap(&self.map.places) {
            return false;
        }
        !self.map.places.is_empty() || self.map.counts.as_ref().is_some_and(empty)
    }

    /// Goes from record to record.
    fn walk(&mut self, begin: u64) -> Result<(), LogError> {
        let mut at = begin;
        let mut stretch: Option<ChunkExtent> = None;
        self.source.seek(SeekFrom::Start(at))?;
        loop {
            let Some((number, length)) = self.head(at)? else {
                if at < self.length && !self.ends_with_magic(at)? {
                    self.map.damage.add(self.length - at);
                }
                break;
            };
            let end = at.saturating_add(RECORD_HEAD).saturating_add(length);
            if number == 0 || end > self.length || !self.step(number, at, length, &mut stretch)? {
                self.map.places.extend(stretch.take());
                let next = self.next_chunk(at + 1)?;
                self.map.damage.add(next - at);
                at = next;
                self.source.seek(SeekFrom::Start(at))?;
                continue;
            }
            if matches!(number, op::DATA_END | op::FOOTER) {
                self.map.complete = self.complete(end)?;
                break;
            }
            go_to(self.source, end)?;
            at = end;
        }
        self.map.places.extend(stretch);
        Ok(())
    }

    fn complete(&mut self, after: u64) -> Result<bool, LogError> {
        let magic = self.length.saturating_sub(MAGIC.len() as u64);
        Ok(magic >= after && self.bytes(magic, 8)? == MAGIC)
    }

    fn ends_with_magic(&mut self, at: u64) -> Result<bool, LogError> {
        Ok(self.length - at == MAGIC.len() as u64 && self.bytes(at, 8)? == MAGIC)
    }

    /// Returns a record's number and length; the source is then behind them.
    fn head(&mut self, at: u64) -> Result<Option<(u8, u64)>, LogError> {
        if self.length.saturating_sub(at) < RECORD_HEAD {
            return Ok(None);
        }
        let mut head = [0; RECORD_HEAD as usize];
        self.source.read_exact(&mut head)?;
        let mut fields = Fields(&head);
        Ok(fields.u8().zip(fields.u64()))
    }

    /// Takes one record; `false` if it is impossible.
    fn step(
        &mut self,
        number: u8,
        at: u64,
        length: u64,
        stretch: &mut Option<ChunkExtent>,
    ) -> Result<bool, LogError> {
        let whole = RECORD_HEAD + length;
        match number {
            op::CHUNK => {
                self.map.places.extend(stretch.take());
                let Some(head) = self.chunk_head(length)? else {
                    return Ok(false);
                };
                self.chunk(at, whole, head.span, head.compression);
            }
            op::SCHEMA | op::CHANNEL if length <= MAX_CHUNK_BYTES => {
                let mut content = Vec::new();
                read_into(self.source, length, &mut content)?;
                return Ok(self.map.names.learn(number, &content).is_ok());
            }
            op::MESSAGE => {
                let mut head = [0; 14];
                if length < 22 {
                    return Ok(false);
                }
                self.source.read_exact(&mut head)?;
                let mut fields = Fields(&head[6..]);
                extend(stretch, &mut self.map.places, at, whole, fields.time());
            }
            op::ATTACHMENT => self.map.attachments.push(at),
            op::METADATA => self.map.metadata.push(at),
            _ => {}
        }
        Ok(true)
    }

    /// Returns the fields before a chunk's records, if it is one.
    fn chunk_head(&mut self, length: u64) -> Result<Option<ChunkHead>, LogError> {
        let mut bytes = Vec::new();
        read_into(self.source, length.min(CHUNK_HEAD), &mut bytes)?;
        Ok(ChunkHead::parse(&bytes, length))
    }

    /// Returns the offset of the next chunk, or of the end of the file.
    fn next_chunk(&mut self, from: u64) -> Result<u64, LogError> {
        const WINDOW: u64 = 1 << 16;
        const AHEAD: u64 = RECORD_HEAD + CHUNK_HEAD;
        let mut from = from;
        while from < self.length {
            let bytes = self.bytes(from, WINDOW + AHEAD)?;
            let candidates = bytes.iter().take(WINDOW as usize).enumerate();
            for (place, _) in candidates.filter(|(_, byte)| **byte == op::CHUNK) {
                let mut fields = Fields(&bytes[place + 1..]);
                let Some(length) = fields.u64() else {
                    continue;
                };
                let begin = from + place as u64;
                let fits = length <= self.length.saturating_sub(begin + RECORD_HEAD);
                if fits && ChunkHead::parse(fields.0, length).is_some() {
                    return Ok(begin);
                }
            }
            from += WINDOW;
        }
        Ok(self.length)
    }
}

/// Adds a message outside of chunks to a run of such messages.
fn extend(
    stretch: &mut Option<ChunkExtent>,
    places: &mut Vec<ChunkExtent>,
    at: u64,
    length: u64,
    time: Option<i64>,
) {
    let time = time.unwrap_or(0);
    if let Some(place) = stretch
        && at + length - place.offset <= GAP_CHUNK_BYTES
    {
        place.length = at + length - place.offset;
        place.first = place.first.min(time);
        place.last = place.last.max(time);
        return;
    }
    let begun = ChunkExtent {
        offset: at,
        length,
        first: time,
        last: time,
    };
    places.extend(stretch.replace(begun));
}

/// The fields before a chunk's records.
pub(super) struct ChunkHead {
    pub(super) span: (i64, i64),
    pub(super) uncompressed: u64,
    pub(super) crc: u32,
    pub(super) compression: Compression,
    /// How many bytes of the content stand before the records, and how many records are.
    pub(super) head: usize,
    pub(super) compressed: u64,
}

/// The maximum length behind a chunk's records, for later versions of MCAP with more fields. A chunk with
/// more has a garbled length: both lengths in it agree except for this.
const MAX_EXTENSION: u64 = 1 << 16;

/// The longest name of a compression aside, so long is what stands before a chunk's records.
const CHUNK_HEAD: u64 = 8 + 8 + 8 + 4 + 4 + 16 + 8;

impl ChunkHead {
    /// Parses the beginning of a content of that length; `None` if it cannot be a chunk.
    pub(super) fn parse(bytes: &[u8], length: u64) -> Option<Self> {
        let mut fields = Fields(bytes);
        let span = (fields.time()?, fields.time()?);
        let uncompressed = fields.u64()?;
        let crc = fields.u32()?;
        let compression = Compression::named(fields.counted()?)?;
        let compressed = fields.u64()?;
        let head = bytes.len() - fields.0.len();
        let behind = length.checked_sub(head as u64)?.checked_sub(compressed)?;
        let fits = length <= MAX_CHUNK_BYTES && uncompressed <= MAX_CHUNK_BYTES;
        (fits && behind <= MAX_EXTENSION && span.0 <= span.1).then_some(Self {
            span,
            uncompressed,
            crc,
            compression,
            head,
            compressed,
        })
    }
}

/// Returns a whole record of bounded length at an offset, if its kind and length are wanted; `None` if there is none.
pub(super) fn record_at<S: Source>(
    source: &mut BufReader<S>,
    offset: u64,
    is_wanted: impl Fn(u8, u64) -> bool,
) -> Result<Option<(u8, Vec<u8>)>, LogError> {
    source.seek(SeekFrom::Start(offset))?;
    let mut head = Vec::new();
    read_into(source, RECORD_HEAD, &mut head)?;
    let mut fields = Fields(&head);
    let Some((number, length)) = fields.u8().zip(fields.u64()) else {
        return Ok(None);
    };
    if length > MAX_CHUNK_BYTES || !is_wanted(number, length) {
        return Ok(None);
    }
    let mut content = Vec::new();
    let is_whole = read_into(source, length, &mut content)?;
    Ok(is_whole.then_some((number, content)))
}
