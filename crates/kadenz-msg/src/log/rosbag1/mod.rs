//! Bags of ROS 1, version 2.0 (<http://wiki.ros.org/Bags/Format/2.0>); only read.

mod reader;
mod scan;

pub use reader::Rosbag1Reader;

/// The first bytes of a bag.
const MAGIC: &[u8] = b"#ROSBAG V2.0\n";

/// The numbers of records.
mod op {
    pub(super) const MESSAGE: u8 = 2;
    pub(super) const BAG_HEADER: u8 = 3;
    pub(super) const INDEX: u8 = 4;
    pub(super) const CHUNK: u8 = 5;
    pub(super) const CHUNK_INFO: u8 = 6;
    pub(super) const CONNECTION: u8 = 7;
}

// Records: a header of `name=value` fields and data, each behind its length, little-endian.

/// Takes bytes behind a length of 32 bits.
fn counted<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    let (content, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(content)
}

/// A record: its header and its data.
#[derive(Debug, Clone, Copy)]
struct BagRecord<'a> {
    header: RecordHeader<'a>,
    data: &'a [u8],
}

impl<'a> BagRecord<'a> {
    /// Takes the next record off the front.
    fn take(bytes: &mut &'a [u8]) -> Option<Self> {
        let header = RecordHeader(counted(bytes)?);
        let data = counted(bytes)?;
        Some(Self { header, data })
    }
}

/// A record's header: fields of the form `name=value`.
#[derive(Debug, Clone, Copy)]
struct RecordHeader<'a>(&'a [u8]);

impl<'a> RecordHeader<'a> {
    fn fields(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let field = counted(&mut rest)?;
            let at = field.iter().position(|byte| *byte == b'=')?;
            Some((&field[..at], &field[at + 1..]))
        })
    }

    fn get(self, name: &str) -> Option<&'a [u8]> {
        let found = self.fields().find(|(it, _)| *it == name.as_bytes());
        found.map(|(_, value)| value)
    }

    fn op(self) -> Option<u8> {
        self.get("op")?.first().copied()
    }

    fn u32(self, name: &str) -> Option<u32> {
        let bytes = self.get(name)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    }

    fn u64(self, name: &str) -> Option<u64> {
        let bytes = self.get(name)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// A time of seconds and nanoseconds, in nanoseconds.
    fn time(self, name: &str) -> Option<i64> {
        self.get(name).and_then(time)
    }

    fn text(self, name: &str) -> Option<String> {
        let bytes = self.get(name)?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// A time of seconds and nanoseconds, in nanoseconds.
fn time(bytes: &[u8]) -> Option<i64> {
    let (seconds, rest) = bytes.split_first_chunk()?;
    let nanoseconds = rest.first_chunk()?;
    let seconds = i64::from(u32::from_le_bytes(*seconds));
    Some(seconds * 1_000_000_000 + i64::from(u32::from_le_bytes(*nanoseconds)))
}
