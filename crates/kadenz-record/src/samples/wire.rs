//! The Arrow IPC stream as bytes: framing of messages, and the places of a record batch's columns. Source: Apache
//! Arrow, *Arrow Columnar Format*, "IPC Streaming Format".
//!
//! Nothing here trusts the bytes: flatbuffers are verified before they are read, and every offset is checked
//! against its message.

use arrow_ipc::{MessageHeader, MetadataVersion, RecordBatch, Type};

use super::SamplesHeader;

/// Precedes the length of a message's metadata.
pub(super) const CONTINUATION: u32 = 0xFFFF_FFFF;
/// Metadata of four columns is below 1 KiB; a schema with long comments may be larger.
pub(super) const MAX_METADATA: u64 = 1 << 20;
/// The columns, in order: name and whether it is signed.
pub(super) const COLUMNS: [(&str, bool); 4] = [
    ("sequence", false),
    ("intended_ns", true),
    ("actual_ns", true),
    ("value_ns", true),
];
/// Bytes of one value in any column.
pub(super) const WORD: u64 = 8;

/// Keys of the schema's metadata.
pub(super) mod keys {
    pub(crate) const FORMAT: &str = "kadenz.samples";
    pub(crate) const FORMAT_VERSION: &str = "1";
    pub(crate) const SERIES: &str = "kadenz.series";
    pub(crate) const UNIT: &str = "kadenz.unit";
    pub(crate) const STARTED_AT: &str = "kadenz.started_at";
    pub(crate) const START_MONOTONIC: &str = "kadenz.start_monotonic_ns";
}

/// A message of the Arrow IPC stream, by its metadata.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ArrowMessage {
    /// The schema of a samples file of Kadenz.
    Schema(SamplesHeader),
    /// A record batch: its rows, and where each column starts inside the body.
    Batch { rows: u64, columns: [u64; 4] },
}

/// Reads a message's metadata, and returns the length of its body and the message.
pub(super) fn parse(metadata: &[u8]) -> Result<(u64, ArrowMessage), String> {
    let message = arrow_ipc::root_as_message(metadata)
        .map_err(|error| format!("its metadata is not a valid Arrow message ({error})"))?;
    if message.version() != MetadataVersion::V5 && message.version() != MetadataVersion::V4 {
        return Err(format!(
            "Arrow metadata version {:?} is not V4 or V5",
            message.version()
        ));
    }
    let body = u64::try_from(message.bodyLength()).map_err(|_| "its body length is negative")?;
    let content = match message.header_type() {
        MessageHeader::Schema => {
            let schema = message.header_as_schema().ok_or("it holds no schema")?;
            ArrowMessage::Schema(header(&schema)?)
        }
        MessageHeader::RecordBatch => {
            let batch = message
                .header_as_record_batch()
                .ok_or("it holds no record batch")?;
            columns(&batch, body)?
        }
        other => {
            return Err(format!(
                "a message of type {other:?} has no place in a samples file"
            ));
        }
    };
    Ok((body, content))
}

/// Checks that the schema is that of a samples file, and reads its header.
fn header(schema: &arrow_ipc::Schema<'_>) -> Result<SamplesHeader, String> {
    if schema.endianness() != arrow_ipc::Endianness::Little {
        return Err("its numbers are big-endian".to_owned());
    }
    let fields = schema.fields().ok_or("its schema has no columns")?;
    let named: Vec<(&str, Option<bool>)> = fields
        .iter()
        .take(COLUMNS.len() + 1)
        .map(|field| (field.name().unwrap_or(""), word_column(&field)))
        .collect();
    let wanted = COLUMNS.map(|(name, signed)| (name, Some(signed)));
    if named != wanted {
        return Err(format!(
            "its columns are not sequence (uint64), intended_ns, actual_ns and value_ns (int64), \
             but begin with {:?}",
            named
                .iter()
                .map(|(name, _)| name.chars().take(40).collect())
                .collect::<Vec<String>>()
        ));
    }
    let mut header = SamplesHeader::default();
    for entry in schema.custom_metadata().into_iter().flatten() {
        header.take(entry.key().unwrap_or(""), entry.value().unwrap_or(""));
    }
    Ok(header)
}

/// Whether a column of plain 64-bit integers is signed; `None` for any other column.
fn word_column(field: &arrow_ipc::Field<'_>) -> Option<bool> {
    if field.type_type() != Type::Int || field.dictionary().is_some() {
        return None;
    }
    let int = field.type_as_int()?;
    (int.bitWidth() == 64).then(|| int.is_signed())
}

/// The offsets of the columns of a record batch in its body of `body` bytes.
fn columns(batch: &RecordBatch<'_>, body: u64) -> Result<ArrowMessage, String> {
    if batch.compression().is_some() {
        return Err("it is compressed; write it without compression".to_owned());
    }
    let rows = u64::try_from(batch.length()).map_err(|_| "its length is negative")?;
    let nodes = batch.nodes().ok_or("it has no field nodes")?;
    let buffers = batch.buffers().ok_or("it has no buffers")?;
    if nodes.len() != COLUMNS.len() || buffers.len() != 2 * COLUMNS.len() {
        return Err(format!(
            "it has {} columns and {} buffers",
            nodes.len(),
            buffers.len()
        ));
    }
    let mut columns = [0; 4];
    for (index, column) in columns.iter_mut().enumerate() {
        let node = nodes.get(index);
        if node.length() != batch.length() || node.null_count() != 0 {
            return Err(format!("column {} has gaps", COLUMNS[index].0));
        }
        let values = buffers.get(2 * index + 1);
        *column = values_at(values.offset(), values.length(), rows, body)
            .ok_or_else(|| format!("column {} does not lie in its body", COLUMNS[index].0))?;
    }
    Ok(ArrowMessage::Batch { rows, columns })
}

/// The offset of a buffer that holds `rows` words and lies inside a body of `body` bytes.
fn values_at(offset: i64, length: i64, rows: u64, body: u64) -> Option<u64> {
    let offset = u64::try_from(offset).ok()?;
    let length = u64::try_from(length).ok()?;
    let inside = offset.checked_add(length)? <= body;
    (inside && rows.checked_mul(WORD)? <= length).then_some(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_must_lie_inside_the_body() {
        assert_eq!(values_at(64, 80, 10, 144), Some(64));
        assert_eq!(
            values_at(64, 80, 11, 144),
            None,
            "too few bytes for the rows"
        );
        assert_eq!(values_at(65, 80, 10, 144), None, "beyond the body");
        assert_eq!(values_at(-1, 80, 10, 144), None);
        assert_eq!(values_at(0, -8, 0, 144), None);
        assert_eq!(values_at(0, i64::MAX, u64::MAX, u64::MAX), None);
    }

    #[test]
    fn noise_is_refused() {
        for len in 0..64 {
            assert!(parse(&vec![0; len]).is_err());
            assert!(parse(&vec![0xFF; len]).is_err());
        }
    }
}
