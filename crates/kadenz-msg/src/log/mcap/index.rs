//! The places of the chunks of a file while it is written: the latest ones in memory, earlier ones in the
//! file itself, so that memory does not grow with the file.

use std::collections::BTreeMap;
use std::io;

use super::records::{Fields, PutRecord as _};
use super::{RECORD_HEAD, op};
use crate::log::Amount;
use crate::log::compression::Compression;
use crate::log::file::Appender;
use crate::log::info::extend;

/// The bytes of the index in memory before it goes into the file.
const BLOCK_BYTES: usize = 1 << 20;

/// A chunk that was written, for its index.
pub(super) struct ChunkPlace {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) span: (i64, i64),
    pub(super) compressed: u64,
    pub(super) uncompressed: u64,
    /// For each channel: the offset of its message index, and the amount of its messages.
    pub(super) indexes: Vec<(u16, u64, Amount)>,
    pub(super) index_length: u64,
}

impl ChunkPlace {
    /// Writes the entry as a record of MCAP's summary.
    fn put(&self, compression: Compression, into: &mut Vec<u8>) {
        into.record(op::CHUNK_INDEX, |content| {
            content.put_time(self.span.0);
            content.put_time(self.span.1);
            content.put_u64(self.offset);
            content.put_u64(self.length);
            content.put_u32((self.indexes.len() * 10) as u32);
            for (channel, offset, _) in &self.indexes {
                content.put_u16(*channel);
                content.put_u64(*offset);
            }
            content.put_u64(self.index_length);
            content.put_counted(compression.as_str().as_bytes());
            content.put_u64(self.compressed);
            content.put_u64(self.uncompressed);
        });
    }
}

/// A part of the index in the file, as a record that other programs skip.
struct Block {
    /// The offset of the record.
    offset: u64,
    /// How long its content is.
    length: usize,
}

/// The index of a file that is being written.
///
/// An entry is a chunk index record in the form of the summary, the amounts of each channel in the chunk, and
/// the entry's own length, by which the last one is found.
#[derive(Default)]
pub(super) struct ChunkIndex {
    recent: Vec<u8>,
    blocks: Vec<Block>,
    /// Whether the file could not be read: then all stays in memory.
    kept: bool,
    pub(super) chunks: u64,
    /// How many messages each channel has.
    pub(super) messages: BTreeMap<u16, u64>,
}

/// The content of the last chunk when it is removed.
pub(super) struct RemovedChunk {
    pub(super) offset: u64,
    pub(super) channels: Vec<(u16, Amount)>,
}

/// How much of an entry each channel takes: its number, how many messages, how many bytes.
const COUNT_BYTES: usize = 2 + 8 + 8;

/// A chunk's entry of the index, in its form in memory.
struct IndexEntry<'a> {
    record: &'a [u8],
    counts: &'a [u8],
}

impl IndexEntry<'_> {
    /// Returns the first and last time of the chunk, and its place.
    fn place(&self) -> Option<((i64, i64), u64)> {
        let mut fields = Fields(self.record.get(RECORD_HEAD as usize..)?);
        Some(((fields.time()?, fields.time()?), fields.u64()?))
    }

    fn counts(&self) -> impl Iterator<Item = (u16, Amount)> {
        let mut fields = Fields(self.counts);
        std::iter::from_fn(move || {
            let channel = fields.u16()?;
            let (messages, bytes) = (fields.u64()?, fields.u64()?);
            Some((channel, Amount { messages, bytes }))
        })
    }
}

impl ChunkIndex {
    pub(super) fn push(&mut self, place: &ChunkPlace, compression: Compression) {
        let begin = self.recent.len();
        place.put(compression, &mut self.recent);
        for (channel, _, amount) in &place.indexes {
            self.recent.put_u16(*channel);
            self.recent.put_u64(amount.messages);
            self.recent.put_u64(amount.bytes);
            *self.messages.entry(*channel).or_default() += amount.messages;
        }
        self.recent.put_u32(place.indexes.len() as u32);
        let length = self.recent.len() - begin;
        self.recent.put_u32(length as u32);
        self.chunks += 1;
    }

    /// Moves the entries in memory into the file, once they are many. Entries that cannot be written now are
    /// tried again later; entries that could not be read back stay in memory.
    pub(super) fn spill(&mut self, file: &mut Appender) {
        if self.kept || self.recent.len() < BLOCK_BYTES || !file.waiting.is_empty() {
            return;
        }
        let offset = file.length();
        let recent = &self.recent;
        file.waiting.record(op::KADENZ_INDEX, |content| {
            content.extend_from_slice(recent);
        });
        if file.put().is_err() {
            file.waiting.clear();
            return;
        }
        let block = Block {
            offset,
            length: self.recent.len(),
        };
        if load(file, &block).is_ok_and(|bytes| bytes == self.recent) {
            self.blocks.push(block);
            self.recent.clear();
        } else {
            self.kept = true;
        }
    }

    /// Returns an upper bound of the index's length, close to it.
    pub(super) fn bytes(&self) -> u64 {
        let blocks = self.blocks.iter().map(|block| block.length as u64);
        blocks.sum::<u64>() + self.recent.len() as u64
    }

    /// Hands over the chunk index records, a block at a time and in the order of the file; returns the
    /// first and last time of all messages.
    pub(super) fn each_block(
        &self,
        file: &mut Appender,
        mut put: impl FnMut(&mut Appender, &mut dyn Iterator<Item = &[u8]>) -> io::Result<()>,
    ) -> io::Result<Option<(i64, i64)>> {
        let mut span: Option<(i64, i64)> = None;
        for number in 0..=self.blocks.len() {
            let loaded = match self.blocks.get(number) {
                Some(block) => Some(load(file, block)?),
                None => None,
            };
            let entries = entries(loaded.as_deref().unwrap_or(&self.recent));
            for (more, _) in entries.iter().filter_map(IndexEntry::place) {
                extend(&mut span, more);
            }
            put(file, &mut entries.iter().map(|entry| entry.record))?;
        }
        Ok(span)
    }

    /// Removes the last chunk from the index; the caller frees the chunk's room in the file, but this
    /// function that of the index behind it.
    pub(super) fn pop(&mut self, file: &mut Appender) -> io::Result<Option<RemovedChunk>> {
        if self.recent.is_empty()
            && let Some(block) = self.blocks.last()
        {
            self.recent = load(file, block)?;
            file.cut(block.offset)?;
            self.blocks.pop();
        }
        Ok(self.pop_recent())
    }

    /// Removes the last chunk from the index if it is at an offset or behind.
    pub(super) fn pop_from(&mut self, offset: u64) -> Option<RemovedChunk> {
        let (last, _) = last_entry(&self.recent)?;
        let (_, begin) = last.place()?;
        (begin >= offset).then(|| self.pop_recent()).flatten()
    }

    fn pop_recent(&mut self) -> Option<RemovedChunk> {
        let (last, before) = last_entry(&self.recent)?;
        let (_, offset) = last.place()?;
        let given_up = RemovedChunk {
            offset,
            channels: last.counts().collect(),
        };
        for (channel, amount) in &given_up.channels {
            if let Some(all) = self.messages.get_mut(channel) {
                *all -= amount.messages;
            }
        }
        let before = before.len();
        self.recent.truncate(before);
        self.chunks -= 1;
        Some(given_up)
    }
}

/// Reads a part of the index back.
fn load(file: &mut Appender, block: &Block) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; block.length];
    file.read_at(block.offset + RECORD_HEAD, &mut bytes)?;
    Ok(bytes)
}

/// Returns the entries of a part, in the order of writing.
fn entries(mut bytes: &[u8]) -> Vec<IndexEntry<'_>> {
    let mut found = Vec::new();
    while let Some((entry, before)) = last_entry(bytes) {
        found.push(entry);
        bytes = before;
    }
    found.reverse();
    found
}

/// Returns the last entry, and the bytes before it.
fn last_entry(bytes: &[u8]) -> Option<(IndexEntry<'_>, &[u8])> {
    let (rest, length) = last_u32(bytes)?;
    let (before, entry) = rest.split_at(rest.len().checked_sub(length)?);
    let (entry, channels) = last_u32(entry)?;
    let (record, counts) = entry.split_at(entry.len().checked_sub(channels * COUNT_BYTES)?);
    Some((IndexEntry { record, counts }, before))
}

fn last_u32(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let (rest, last) = bytes.split_last_chunk()?;
    Some((rest, u32::from_le_bytes(*last) as usize))
}
