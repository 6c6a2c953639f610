//! The bytes of an MCAP file, sans-IO: chunks as they fill, and their data for the summary.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

use super::index::{ChunkIndex, ChunkPlace};
use super::records::PutRecord as _;
use super::{MAGIC, McapOptions, op};
use crate::log::compression::Compression;
use crate::log::info::extend;
use crate::log::limits::TOO_LONG;
use crate::log::{Amount, ByAddress, Entry, LoggedChannel, MAX_MESSAGE_BYTES, Schema, remember};

/// Makes the bytes of an MCAP file.
pub(super) struct McapEncoder {
    compression: Compression,
    channels: HashMap<Arc<LoggedChannel>, u16>,
    /// Schemas and channels as records, in the order of their numbers from 1.
    pub(super) schemas: Vec<Vec<u8>>,
    pub(super) channel_records: Vec<(u16, Vec<u8>)>,
    schema_numbers: HashMap<Arc<Schema>, u16>,
    /// The same by address, so that descriptions are not compared for every message.
    seen_channels: HashMap<ByAddress<LoggedChannel>, u16>,
    seen_schemas: HashMap<ByAddress<Schema>, u16>,
    chunk: Chunk,
    pub(super) index: ChunkIndex,
    pub(super) attachments: Vec<IndexedRecord>,
    pub(super) metadata: Vec<IndexedRecord>,
}

/// The chunk that is being filled.
#[derive(Default)]
struct Chunk {
    records: Vec<u8>,
    /// The number of those bytes that describe channels.
    descriptions: usize,
    span: Option<(i64, i64)>,
    /// The messages of each channel in it.
    index: BTreeMap<u16, InChunk>,
    schemas: Vec<bool>,
}

/// The messages of a channel in a chunk.
#[derive(Default)]
struct InChunk {
    /// The time and the offset of each message.
    places: Vec<(i64, u64)>,
    payload_bytes: u64,
}

impl InChunk {
    fn amount(&self) -> Amount {
        Amount {
            messages: self.places.len() as u64,
            bytes: self.payload_bytes,
        }
    }
}

/// An attachment or metadata record that was written, with its index record's content.
pub(super) struct IndexedRecord {
    offset: u64,
    pub(super) content: Vec<u8>,
}

/// The reason for which a message does not fit an MCAP file.
pub(super) const TOO_MANY_CHANNELS: &str = "a file has at most 65535 channels";

impl McapEncoder {
    pub(super) fn new(compression: Compression) -> Self {
        Self {
            compression,
            channels: HashMap::new(),
            schemas: Vec::new(),
            channel_records: Vec::new(),
            schema_numbers: HashMap::new(),
            seen_channels: HashMap::new(),
            seen_schemas: HashMap::new(),
            chunk: Chunk::default(),
            index: ChunkIndex::default(),
            attachments: Vec::new(),
            metadata: Vec::new(),
        }
    }

    /// Writes the beginning of the file.
    pub(super) fn header(options: &McapOptions, into: &mut Vec<u8>) {
        into.extend_from_slice(MAGIC);
        into.record(op::HEADER, |content| {
            content.put_counted(options.profile.as_bytes());
            content.put_counted(concat!("kadenz ", env!("CARGO_PKG_VERSION")).as_bytes());
        });
    }

    /// Returns how many bytes of records the chunk holds.
    pub(super) fn chunk_bytes(&self) -> usize {
        self.chunk.records.len()
    }

    /// Returns the number of those bytes that are messages. They decide the end of a chunk, as one with long
    /// descriptions would else hold a message or two, and the file mostly descriptions.
    pub(super) fn message_bytes(&self) -> usize {
        self.chunk.records.len() - self.chunk.descriptions
    }

    /// Returns the messages of each channel in the chunk.
    pub(super) fn chunk_messages(&self) -> impl Iterator<Item = (u16, Amount)> {
        let index = self.chunk.index.iter();
        index.map(|(channel, it)| (*channel, it.amount()))
    }

    /// Returns each channel's number and name.
    pub(super) fn names(&self) -> impl Iterator<Item = (u16, &str)> {
        let channels = self.channels.iter();
        channels.map(|(channel, number)| (*number, channel.name.as_str()))
    }

    /// Puts a message into the chunk.
    pub(super) fn add(&mut self, entry: &Entry) -> Result<(), &'static str> {
        if entry.payload.len() > MAX_MESSAGE_BYTES {
            return Err(TOO_LONG);
        }
        let channel = self.number(&entry.channel)?;
        self.describe(channel);
        let log_time = entry.log_time.as_unix_ns().max(0);
        let chunk = &mut self.chunk;
        let in_chunk = chunk.index.entry(channel).or_default();
        in_chunk.places.push((log_time, chunk.records.len() as u64));
        in_chunk.payload_bytes += entry.payload.len() as u64;
        extend(&mut chunk.span, (log_time, log_time));
        chunk.records.record(op::MESSAGE, |content| {
            content.put_u16(channel);
            content.put_u32(entry.sequence);
            content.put_time(log_time);
            content.put_time(entry.publish_time.as_unix_ns());
            content.extend_from_slice(&entry.payload);
        });
        Ok(())
    }

    /// Returns the number of a channel, and gives it one if it has none.
    fn number(&mut self, channel: &Arc<LoggedChannel>) -> Result<u16, &'static str> {
        let address = ByAddress::new(channel);
        if let Some(number) = self.seen_channels.get(&address) {
            return Ok(*number);
        }
        let number = match self.channels.get(channel) {
            Some(number) => *number,
            None => self.new_channel(channel)?,
        };
        Ok(remember(&mut self.seen_channels, address, number))
    }

    fn new_channel(&mut self, channel: &Arc<LoggedChannel>) -> Result<u16, &'static str> {
        let number = u16::try_from(self.channel_records.len()).map_err(|_| TOO_MANY_CHANNELS)?;
        let schema = match &channel.schema {
            Some(schema) => self.schema(schema)?,
            None => 0,
        };
        let mut record = Vec::new();
        record.record(op::CHANNEL, |content| {
            content.put_u16(number);
            content.put_u16(schema);
            content.put_counted(channel.name.as_bytes());
            content.put_counted(channel.encoding.as_bytes());
            let pairs = channel.metadata.iter();
            content.put_map(pairs.map(|(key, value)| (key.as_str(), value.as_str())));
        });
        self.channel_records.push((schema, record));
        self.channels.insert(Arc::clone(channel), number);
        Ok(number)
    }

    fn schema(&mut self, schema: &Arc<Schema>) -> Result<u16, &'static str> {
        let address = ByAddress::new(schema);
        if let Some(number) = self.seen_schemas.get(&address) {
            return Ok(*number);
        }
        let number = match self.schema_numbers.get(schema) {
            Some(number) => *number,
            None => self.new_schema(schema)?,
        };
        Ok(remember(&mut self.seen_schemas, address, number))
    }

    fn new_schema(&mut self, schema: &Arc<Schema>) -> Result<u16, &'static str> {
        let number = u16::try_from(self.schemas.len() + 1).map_err(|_| TOO_MANY_CHANNELS)?;
        let mut record = Vec::new();
        record.record(op::SCHEMA, |content| {
            content.put_u16(number);
            content.put_counted(schema.name.as_bytes());
            content.put_counted(schema.encoding.as_bytes());
            content.put_counted(&schema.data);
        });
        self.schemas.push(record);
        self.schema_numbers.insert(Arc::clone(schema), number);
        Ok(number)
    }

    /// Puts a channel and its schema into the chunk, if they are not in it: each chunk is self-contained.
    fn describe(&mut self, channel: u16) {
        let chunk = &mut self.chunk;
        if chunk.index.contains_key(&channel) {
            return;
        }
        let begin = chunk.records.len();
        let (schema, record) = &self.channel_records[usize::from(channel)];
        if let Some(at) = usize::from(*schema).checked_sub(1) {
            chunk.schemas.resize(self.schemas.len(), false);
            if !std::mem::replace(&mut chunk.schemas[at], true) {
                chunk.records.extend_from_slice(&self.schemas[at]);
            }
        }
        chunk.records.extend_from_slice(record);
        chunk.descriptions += chunk.records.len() - begin;
    }

    /// Ends the chunk, if there is anything in it, and puts it and its message indexes into `into`, which
    /// will be at that offset of the file.
    pub(super) fn end_chunk(&mut self, offset: u64, into: &mut Vec<u8>) -> io::Result<()> {
        let Some(span) = self.chunk.span.take() else {
            return Ok(());
        };
        let begin = into.len();
        let mut compressed = 0;
        let mut result = Ok(());
        let records = &self.chunk.records;
        into.record(op::CHUNK, |content| {
            content.put_time(span.0);
            content.put_time(span.1);
            content.put_u64(records.len() as u64);
            content.put_u32(crc32fast::hash(records));
            content.put_counted(self.compression.as_str().as_bytes());
            let place = content.len();
            content.put_u64(0);
            result = self.compression.compress(records, content);
            compressed = (content.len() - place - 8) as u64;
            content[place..place + 8].copy_from_slice(&compressed.to_le_bytes());
        });
        result?;
        let mut place = ChunkPlace {
            offset,
            length: (into.len() - begin) as u64,
            span,
            compressed,
            uncompressed: records.len() as u64,
            indexes: Vec::with_capacity(self.chunk.index.len()),
            index_length: 0,
        };
        let indexes = into.len();
        for (channel, messages) in &self.chunk.index {
            let at = offset + (into.len() - begin) as u64;
            place.indexes.push((*channel, at, messages.amount()));
            put_message_index(*channel, &messages.places, into);
        }
        place.index_length = (into.len() - indexes) as u64;
        self.index.push(&place, self.compression);
        self.chunk.records.clear();
        self.chunk.descriptions = 0;
        self.chunk.index.clear();
        self.chunk.schemas.clear();
        Ok(())
    }

    /// Removes the records at or behind that offset, except for chunks.
    pub(super) fn truncate_from(&mut self, offset: u64) {
        self.attachments.retain(|it| it.offset < offset);
        self.metadata.retain(|it| it.offset < offset);
    }

    /// Puts an attachment at that offset of the file.
    pub(super) fn attach(
        &mut self,
        offset: u64,
        (name, media_type, data): (&str, &str, &[u8]),
        time: i64,
        into: &mut Vec<u8>,
    ) {
        let begin = into.len();
        into.record(op::ATTACHMENT, |content| {
            let from = content.len();
            content.put_time(time);
            content.put_time(time);
            content.put_counted(name.as_bytes());
            content.put_counted(media_type.as_bytes());
            content.put_u64(data.len() as u64);
            content.extend_from_slice(data);
            let crc = crc32fast::hash(&content[from..]);
            content.put_u32(crc);
        });
        let mut content = Vec::new();
        content.put_u64(offset);
        content.put_u64((into.len() - begin) as u64);
        content.put_time(time);
        content.put_time(time);
        content.put_u64(data.len() as u64);
        content.put_counted(name.as_bytes());
        content.put_counted(media_type.as_bytes());
        self.attachments.push(IndexedRecord { offset, content });
    }

    /// Puts named facts at that offset of the file.
    pub(super) fn describe_file(
        &mut self,
        offset: u64,
        name: &str,
        facts: &[(String, String)],
        into: &mut Vec<u8>,
    ) {
        let begin = into.len();
        into.record(op::METADATA, |content| {
            content.put_counted(name.as_bytes());
            let pairs = facts.iter();
            content.put_map(pairs.map(|(key, value)| (key.as_str(), value.as_str())));
        });
        let mut content = Vec::new();
        content.put_u64(offset);
        content.put_u64((into.len() - begin) as u64);
        content.put_counted(name.as_bytes());
        self.metadata.push(IndexedRecord { offset, content });
    }
}

fn put_message_index(channel: u16, messages: &[(i64, u64)], into: &mut Vec<u8>) {
    into.record(op::MESSAGE_INDEX, |content| {
        content.put_u16(channel);
        content.put_u32((messages.len() * 16) as u32);
        for (time, offset) in messages {
            content.put_time(*time);
            content.put_u64(*offset);
        }
    });
}
