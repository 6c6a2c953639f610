//! The fields of records: little-endian, strings and maps behind their lengths.

/// Reads fields one after the other; `None` if the bytes end before.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Returns a time, which is one of Kadenz's up to the year 2262.
    pub(super) fn time(&mut self) -> Option<i64> {
        self.u64().map(|ns| i64::try_from(ns).unwrap_or(i64::MAX))
    }

    pub(super) fn counted(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.bytes(length as usize)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        self.counted()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    pub(super) fn map(&mut self) -> Option<Vec<(String, String)>> {
        let mut inner = Fields(self.counted()?);
        let mut pairs = Vec::new();
        while !inner.0.is_empty() {
            pairs.push((inner.text()?, inner.text()?));
        }
        Some(pairs)
    }

    /// The next record: its number and its content.
    pub(super) fn record(&mut self) -> Option<(u8, &'a [u8])> {
        let mut ahead = self.clone();
        let op = ahead.u8()?;
        let length = usize::try_from(ahead.u64()?).ok()?;
        let content = ahead.bytes(length)?;
        self.0 = ahead.0;
        Some((op, content))
    }
}

/// Writes records behind what a vector holds.
pub(super) trait PutRecord {
    /// A record, whose content `fields` puts.
    fn record(&mut self, op: u8, fields: impl FnOnce(&mut Vec<u8>));
    fn put_u16(&mut self, value: u16);
    fn put_u32(&mut self, value: u32);
    fn put_u64(&mut self, value: u64);
    /// A time; MCAP has none before 1970.
    fn put_time(&mut self, ns: i64);
    /// Bytes behind their length; what would not fit 32 bits is refused before.
    fn put_counted(&mut self, bytes: &[u8]);
    fn put_map<'a>(&mut self, pairs: impl Iterator<Item = (&'a str, &'a str)>);
}

impl PutRecord for Vec<u8> {
    fn record(&mut self, op: u8, fields: impl FnOnce(&mut Vec<u8>)) {
        self.push(op);
        let place = self.len();
        self.put_u64(0);
        fields(self);
        let length = (self.len() - place - 8) as u64;
        self[place..place + 8].copy_from_slice(&length.to_le_bytes());
    }

    fn put_u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_time(&mut self, ns: i64) {
        self.put_u64(u64::try_from(ns).unwrap_or(0));
    }

    fn put_counted(&mut self, bytes: &[u8]) {
        self.put_u32(bytes.len() as u32);
        self.extend_from_slice(bytes);
    }

    fn put_map<'a>(&mut self, pairs: impl Iterator<Item = (&'a str, &'a str)>) {
        let place = self.len();
        self.put_u32(0);
        for (key, value) in pairs {
            self.put_counted(key.as_bytes());
            self.put_counted(value.as_bytes());
        }
        let length = (self.len() - place - 4) as u32;
        self[place..place + 4].copy_from_slice(&length.to_le_bytes());
    }
}
