//! MCAP, Kadenz's own format of logs (<https://mcap.dev/spec>).
//!
//! Written here: chunks that each stand alone, with the schemas and channels of their messages, so
//! that a file whose writer was killed is read to its last whole chunk; message indexes, chunk indexes
//! and statistics at the end. LCM messages carry the `.lcm` text of their type and of all that it
//! refers to, so that a log decodes itself for ever.

#[cfg(test)]
mod bombs;
mod encoder;
mod index;
mod names;
mod reader;
mod records;
mod scan;
mod summary;
#[cfg(test)]
mod tests;
mod writer;

pub use reader::{Attachment, McapReader};
pub use writer::{McapWriter, Options};

/// What a file begins and ends with.
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
    /// A part of the index, within the data: numbers from 0x80 on are for such, and passed over by
    /// whoever does not know them.
    pub(super) const KADENZ_INDEX: u8 = 0xb1;
}

/// A record's number and its length stand before it.
const RECORD_HEAD: u64 = 9;
