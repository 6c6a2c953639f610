//! MCAP, Kadenz's own format of logs (<https://mcap.dev/spec>).
//!
//! Written here: chunks that are each self-contained, with the schemas and channels of their messages, so
//! that a file whose writer was killed is read to its last whole chunk; message indexes, chunk indexes and
//! statistics at the end. LCM messages carry the `.lcm` text of their type and of all that it refers to, so
//! that a log remains decodable.

mod encoder;
mod index;
mod reader;
mod records;
mod scan;
mod summary;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::HashMap;
use std::sync::Arc;

use crate::log::limits::{DescriptionBudget, text_bytes};
use crate::log::{LoggedChannel, Schema};
pub use reader::{Attachment, McapReader};
use records::Fields;
pub use writer::{McapOptions, McapWriter};

/// The first and last bytes of a file.
const MAGIC: &[u8; 8] = b"\x89MCAP0\r\n";

/// The numbers of records (MCAP specification, "Records").
mod op {
    pub(super) const HEADER: u8 = 0x01;
    pub(super) const FOOTER: u8 = 0x02;
    pub(super) const SCHEMA: u8 = 0x03;
    pub(super) const CHANNEL: u8 = 0x04;
    pub(super) const MESSAGE: u8 = 0x05;
    pub(super) const CHUNK: u8 = 0x06;
    pub(super) const MESSAGE_INDEX: u8 = 0x07;
    pub(super) const CHUNK_INDEX: u8 = 0x08;
    pub(super) const ATTACHMENT: u8 = 0x09;
    pub(super) const ATTACHMENT_INDEX: u8 = 0x0a;
    pub(super) const STATISTICS: u8 = 0x0b;
    pub(super) const METADATA: u8 = 0x0c;
    pub(super) const METADATA_INDEX: u8 = 0x0d;
    pub(super) const SUMMARY_OFFSET: u8 = 0x0e;
    pub(super) const DATA_END: u8 = 0x0f;
    /// A part of the index, within the data: opcodes from 0x80 on are private, and readers skip those that
    /// they do not know.
    pub(super) const KADENZ_INDEX: u8 = 0xb1;
}

/// A record's number and its length precede it.
const RECORD_HEAD: u64 = 9;

// Schemas and channels by their numbers.

/// Schemas and channels by their numbers.
#[derive(Default)]
struct ChannelRegistry {
    schemas: HashMap<u16, Arc<Schema>>,
    channels: HashMap<u16, Arc<LoggedChannel>>,
    /// The schemas that no [`Dictionary`](crate::log::Dictionary) has taken yet.
    new_schemas: Vec<Arc<Schema>>,
    budget: DescriptionBudget,
}

/// The memory of a map or an `Arc` beside the text, in bytes.
const ENTRY_BYTES: usize = 256;

/// The ratio of a channel's metadata in memory to their length, if all of them are empty or short.
const METADATA_FACTOR: usize = 12;

/// A record that takes more memory than there is for descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TooMuch;

impl ChannelRegistry {
    /// Takes a schema or channel record; any other one, and a truncated one, is skipped.
    fn learn(&mut self, number: u8, content: &[u8]) -> Result<(), TooMuch> {
        let mut fields = Fields(content);
        let learned = match number {
            op::SCHEMA => self.schema(&mut fields),
            op::CHANNEL => self.channel(&mut fields),
            _ => None,
        };
        learned.unwrap_or(Ok(()))
    }

    fn schema(&mut self, fields: &mut Fields<'_>) -> Option<Result<(), TooMuch>> {
        let number = fields.u16()?;
        if self.schemas.contains_key(&number) {
            return None;
        }
        let mut texts = fields.clone();
        let (name, encoding, data) = (texts.counted()?, texts.counted()?, texts.counted()?);
        let bytes = text_bytes(name) + text_bytes(encoding) + data.len() + ENTRY_BYTES;
        if self.budget.spend(bytes).is_none() {
            return Some(Err(TooMuch));
        }
        let schema = Schema {
            name: fields.text()?,
            encoding: fields.text()?,
            data: data.to_vec(),
        };
        let schema = Arc::new(schema);
        self.new_schemas.push(Arc::clone(&schema));
        self.schemas.insert(number, schema);
        Some(Ok(()))
    }

    fn channel(&mut self, fields: &mut Fields<'_>) -> Option<Result<(), TooMuch>> {
        let number = fields.u16()?;
        if self.channels.contains_key(&number) {
            return None;
        }
        let schema = fields.u16()?;
        let mut texts = fields.clone();
        let (name, encoding, metadata) = (texts.counted()?, texts.counted()?, texts.counted()?);
        let bytes = text_bytes(name)
            + text_bytes(encoding)
            + METADATA_FACTOR * metadata.len()
            + ENTRY_BYTES;
        if self.budget.spend(bytes).is_none() {
            return Some(Err(TooMuch));
        }
        let channel = LoggedChannel {
            schema: self.schemas.get(&schema).map(Arc::clone),
            name: fields.text()?,
            encoding: fields.text()?,
            metadata: fields.map()?,
        };
        self.channels.insert(number, Arc::new(channel));
        Some(Ok(()))
    }
}

#[cfg(test)]
mod bombs;
