//! The places of a bag's chunks: by its index, or from record to record.

use std::collections::HashMap;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use super::{BagRecord, MAGIC, RecordHeader, op, time};
use crate::log::chunks::{ChunkExtent, go_to, overlap, read_into};
use crate::log::limits::{DescriptionBudget, text_bytes};
use crate::log::{Damage, LogError, LoggedChannel, MAX_CHUNK_BYTES, Schema, Source};

/// Channels by the number of their connection.
#[derive(Default)]
pub(super) struct Connections {
    pub(super) channels: HashMap<u32, Arc<LoggedChannel>>,
    budget: DescriptionBudget,
}

/// The memory of a map or an `Arc` beside the text, in bytes.
const ENTRY_BYTES: usize = 512;

impl Connections {
    /// Takes a connection record; `None` if it is not one, or there is no memory for it.
    pub(super) fn learn(&mut self, record: &BagRecord<'_>) -> Option<()> {
        let number = record.header.u32("conn")?;
        if self.channels.contains_key(&number) {
            return Some(());
        }
        let bytes = text_bytes(record.header.0) + text_bytes(record.data) + ENTRY_BYTES;
        self.budget.spend(bytes)?;
        let facts = RecordHeader(record.data);
        let schema = Schema {
            name: facts.text("type")?,
            encoding: "ros1msg".to_owned(),
            data: facts.get("message_definition")?.to_vec(),
        };
        let names = ["md5sum", "callerid", "latching"];
        let metadata = names.map(|name| Some((name.to_owned(), facts.text(name)?)));
        let channel = LoggedChannel {
            name: record.header.text("topic")?,
            encoding: "ros1".to_owned(),
            schema: Some(Arc::new(schema)),
            metadata: metadata.into_iter().flatten().collect(),
        };
        self.channels.insert(number, Arc::new(channel));
        Some(())
    }
}

/// The structure of a bag without its messages.
#[derive(Default)]
pub(super) struct BagIndex {
    pub(super) places: Vec<ChunkExtent>,
    pub(super) connections: Connections,
    pub(super) damage: Damage,
    pub(super) complete: bool,
}

/// Finds the chunks of a bag.
pub(super) struct BagScanner<'a, S> {
    pub(super) source: &'a mut BufReader<S>,
    pub(super) length: u64,
}

impl<S: Source> BagScanner<'_, S> {
    pub(super) fn map(mut self) -> Result<BagIndex, LogError> {
        let begin = MAGIC.len() as u64;
        if let Some(map) = self.indexed(begin)? {
            return Ok(map);
        }
        self.walk(begin)
    }

    /// Returns the structure by the index, if there is a consistent one.
    fn indexed(&mut self, begin: u64) -> Result<Option<BagIndex>, LogError> {
        let Some((header, _)) = self.header(begin)? else {
            return Ok(None);
        };
        let header = RecordHeader(&header);
        let index = header
            .u64("index_pos")
            .filter(|at| (begin..self.length).contains(at));
        let (Some(op::BAG_HEADER), Some(index)) = (header.op(), index) else {
            return Ok(None);
        };
        if self.length - index > MAX_CHUNK_BYTES {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        self.source.seek(SeekFrom::Start(index))?;
        self.source.by_ref().read_to_end(&mut bytes)?;
        let chunks = header.u32("chunk_count");
        let map = read_index(&bytes, index);
        Ok(map.filter(|map| chunks == u32::try_from(map.places.len()).ok()))
    }

    /// A record's header and the length of its data; the source stands at its data.
    fn header(&mut self, at: u64) -> Result<Option<(Vec<u8>, u32)>, LogError> {
        go_to(self.source, at)?;
        let Some(length) = self
            .length_field()?
            .filter(|it| u64::from(*it) <= MAX_CHUNK_BYTES)
        else {
            return Ok(None);
        };
        let mut header = Vec::new();
        let whole = read_into(self.source, length.into(), &mut header)?;
        Ok(self
            .length_field()?
            .filter(|_| whole)
            .map(|data| (header, data)))
    }

    fn length_field(&mut self) -> Result<Option<u32>, LogError> {
        let mut bytes = Vec::new();
        read_into(self.source, 4, &mut bytes)?;
        Ok(bytes.first_chunk().map(|it| u32::from_le_bytes(*it)))
    }

    /// Goes from record to record, for a bag whose recorder was killed.
    fn walk(&mut self, begin: u64) -> Result<BagIndex, LogError> {
        let mut map = BagIndex::default();
        let mut at = begin;
        while at < self.length {
            let Some((header, data)) = self.header(at)? else {
                break;
            };
            let whole = 8 + header.len() as u64 + u64::from(data);
            let Some(number) = RecordHeader(&header)
                .op()
                .filter(|_| at + whole <= self.length)
            else {
                break;
            };
            match number {
                op::CHUNK => map.places.push(ChunkExtent {
                    offset: at,
                    length: whole,
                    first: i64::MIN,
                    last: i64::MAX,
                }),
                op::INDEX | op::CONNECTION if u64::from(data) <= MAX_CHUNK_BYTES => {
                    let mut content = Vec::new();
                    read_into(self.source, data.into(), &mut content)?;
                    let record = BagRecord {
                        header: RecordHeader(&header),
                        data: &content,
                    };
                    let _ = note(&record, number, &mut map);
                }
                _ => {}
            }
            at += whole;
        }
        if at < self.length {
            map.damage.add(self.length - at);
        }
        Ok(map)
    }
}

/// Takes the times of a chunk from an index record behind it, or a connection.
fn note(record: &BagRecord<'_>, number: u8, map: &mut BagIndex) -> Option<()> {
    if number == op::CONNECTION {
        return map.connections.learn(record);
    }
    let place = map.places.last_mut()?;
    for entry in record.data.chunks_exact(12) {
        let time = time(entry)?;
        let known = place.first != i64::MIN;
        place.first = if known { place.first.min(time) } else { time };
        place.last = if known { place.last.max(time) } else { time };
    }
    Some(())
}

/// Reads connections and chunk infos.
fn read_index(mut bytes: &[u8], end: u64) -> Option<BagIndex> {
    let mut map = BagIndex {
        complete: true,
        ..BagIndex::default()
    };
    while !bytes.is_empty() {
        let record = BagRecord::take(&mut bytes)?;
        match record.header.op()? {
            op::CONNECTION => map.connections.learn(&record)?,
            op::CHUNK_INFO => map.places.push(ChunkExtent {
                offset: record.header.u64("chunk_pos").filter(|at| *at < end)?,
                length: 0,
                first: record.header.time("start_time")?,
                last: record.header.time("end_time")?,
            }),
            _ => {}
        }
    }
    map.places.sort_by_key(|place| place.offset);
    if overlap(&map.places) {
        return None;
    }
    let ends: Vec<u64> = map.places.iter().skip(1).map(|it| it.offset).collect();
    for (place, end) in map.places.iter_mut().zip(ends.into_iter().chain([end])) {
        place.length = end - place.offset;
    }
    Some(map)
}
