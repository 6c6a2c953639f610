//! Schemas and channels by their numbers.

use std::collections::HashMap;
use std::sync::Arc;

use super::op;
use super::records::Fields;
use crate::log::limits::{DescriptionBudget, text_bytes};
use crate::log::{LoggedChannel, Schema};

/// Schemas and channels by their numbers.
#[derive(Default)]
pub(super) struct Names {
    schemas: HashMap<u16, Arc<Schema>>,
    pub(super) channels: HashMap<u16, Arc<LoggedChannel>>,
    budget: DescriptionBudget,
}

/// What a map or an `Arc` takes beside the text, in bytes.
const ENTRY_BYTES: usize = 256;

/// How many times as long a channel's metadata are in memory, where all of them are empty or short.
const METADATA_FACTOR: usize = 12;

/// A record that takes more memory than there is for descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch;

impl Names {
    /// Takes a schema or channel record; any other one, and one that is cut off, is passed over.
    pub(super) fn learn(&mut self, number: u8, content: &[u8]) -> Result<(), TooMuch> {
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
        self.schemas.insert(number, Arc::new(schema));
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
