use std::io::{BufReader, Seek as _, SeekFrom};
use std::sync::Arc;

use kadenz_rt::clock::WallTime;

use super::BagRecord;
use super::scan::{BagIndex, BagScanner, Connections};
use super::{MAGIC, op};
use crate::log::chunks::{
    self, ChunkExtent, ChunkMerge, ChunkMessage, Chunked, Loaded, shrink_spare,
};
use crate::log::compression::Compression;
use crate::log::{
    Damage, Entry, Format, Info, Limits, LogError, LogReader, LoggedChannel, MAX_CHUNK_BYTES,
    Source,
};

/// Reads a bag of ROS 1 in the order of time, also one without index.
pub struct Rosbag1Reader<S> {
    chunks: BagChunkReader<S>,
    merge: ChunkMerge,
    complete: bool,
}

/// Reads chunks of a bag into memory.
struct BagChunkReader<S> {
    source: BufReader<S>,
    length: u64,
    connections: Connections,
    /// A chunk as in the file; its memory is reused.
    raw: Vec<u8>,
}

impl<S: Source> Rosbag1Reader<S> {
    /// Finds the chunks of a bag.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like one.
    pub fn open(source: S) -> Result<Self, LogError> {
        let what = "it does not begin like a bag of version 2.0";
        let (mut source, length) = chunks::open(source, MAGIC, Format::Rosbag1, what)?;
        let map = BagScanner {
            source: &mut source,
            length,
        };
        let BagIndex {
            places,
            connections,
            damage,
            complete,
        } = map.map()?;
        let raw = Vec::new();
        Ok(Self {
            chunks: BagChunkReader {
                source,
                length,
                connections,
                raw,
            },
            merge: ChunkMerge::new(places, damage, length),
            complete,
        })
    }
}

impl<S: Source> BagChunkReader<S> {
    /// Decompresses the chunk in `raw`; `None` if it is damaged.
    fn unpack(&mut self, into: &mut Loaded) -> Option<()> {
        let mut raw = &self.raw[..];
        let record = BagRecord::take(&mut raw)?;
        let size = record
            .header
            .u32("size")
            .filter(|it| u64::from(*it) <= MAX_CHUNK_BYTES)?;
        let compression = Compression::named(record.header.get("compression")?)?;
        let is_chunk = record.header.op()? == op::CHUNK;
        is_chunk.then_some(())?;
        compression.decompress(record.data, size.into(), &mut into.bytes)
    }

    /// Notes messages and connections of a chunk.
    fn note(&mut self, into: &mut Loaded) -> Option<()> {
        let whole = into.bytes.len();
        let mut rest = &into.bytes[..];
        while !rest.is_empty() {
            let record = BagRecord::take(&mut rest)?;
            match record.header.op()? {
                op::CONNECTION => self.connections.learn(&record)?,
                op::MESSAGE => {
                    let time = record.header.time("time")?;
                    let message = ChunkMessage {
                        log_time: time,
                        publish_time: time,
                        sequence: 0,
                        channel: record.header.u32("conn")?,
                        from: (whole - rest.len() - record.data.len()) as u32,
                        length: record.data.len() as u32,
                    };
                    chunks::note(&mut into.messages, whole, message)?;
                }
                _ => {}
            }
        }
        Some(())
    }
}

impl<S: Source> Chunked for BagChunkReader<S> {
    fn load(&mut self, place: &ChunkExtent, into: &mut Loaded) -> Result<bool, LogError> {
        self.source.seek(SeekFrom::Start(place.offset))?;
        // The part of the place behind the chunk is an index, which this reader does not need.
        let length = place.length.min(MAX_CHUNK_BYTES);
        chunks::read_into(&mut self.source, length, &mut self.raw)?;
        into.bytes.clear();
        let unpacked = self.unpack(into);
        shrink_spare(&mut self.raw);
        Ok(unpacked.and_then(|()| self.note(into)).is_some())
    }

    fn channel(&self, number: u32) -> Option<Arc<LoggedChannel>> {
        self.connections.channels.get(&number).map(Arc::clone)
    }
}

impl<S: Source> LogReader for Rosbag1Reader<S> {
    fn read(&mut self, entry: &mut Entry) -> Result<bool, LogError> {
        self.merge.read(&mut self.chunks, entry)
    }

    fn seek(&mut self, time: WallTime) -> Result<(), LogError> {
        self.merge.seek(time);
        Ok(())
    }

    fn set_limits(&mut self, limits: Limits) {
        self.merge.limits = limits;
    }

    fn outline(&self) -> Info {
        let mut info = Info::new(Format::Rosbag1, self.chunks.length);
        info.complete = Some(self.complete);
        info
    }

    fn damage(&self) -> Damage {
        self.merge.damage
    }

    fn progress(&self) -> (u64, u64) {
        self.merge.progress()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn a_chunk_that_the_index_names_again_and_again_is_read_once() {
        let golden = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../conformance/logs/ros1-lz4.bag"
        );
        let mut bytes = std::fs::read(golden).unwrap();
        // The index ends with its data of the last chunk; both numbers are little-endian.
        let number = |name: &[u8]| {
            let at = bytes.windows(name.len()).position(|it| it == name);
            at.unwrap() + name.len()
        };
        let index = number(b"index_pos=");
        let index = u64::from_le_bytes(*bytes[index..].first_chunk().unwrap());
        let mut rest = &bytes[index as usize..];
        let mut last = rest.len();
        while !rest.is_empty() {
            last = rest.len();
            BagRecord::take(&mut rest).unwrap();
        }
        let count = number(b"chunk_count=");
        let known = u32::from_le_bytes(*bytes[count..].first_chunk().unwrap());
        bytes[count..count + 4].copy_from_slice(&(known + 9).to_le_bytes());
        let info = bytes[bytes.len() - last..].to_vec();
        (0..9).for_each(|_| bytes.extend(&info));
        let mut reader = Rosbag1Reader::open(Cursor::new(bytes)).unwrap();
        let info = reader.info().unwrap();
        assert_eq!((info.messages, info.damage), (60, Damage::default()));
    }
}
