//! LCM's event log, as lcm-logger writes it and lcm-logplayer reads it.
//!
//! Big-endian: sync word, number of the event, microseconds since 1970, length of the channel's name,
//! length of the data, the name without a NUL, the data (liblcm, `lcm/eventlog.c`).

mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use reader::EventReader;
pub use writer::EventWriter;

use super::MAX_MESSAGE_BYTES;

/// What every event begins with.
const SYNC: [u8; 4] = [0xed, 0xa1, 0xda, 0x01];

/// What stands before the name: sync word, number, time and two lengths.
const HEADER_BYTES: usize = 28;

/// liblcm's reader takes a longer name for damage.
const MAX_NAME: usize = 999;

/// What stands before an event's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    number: i64,
    time_us: i64,
    name_bytes: u32,
    data_bytes: u32,
}

impl Header {
    /// Reads what follows the sync word; `None` where it cannot be a header.
    fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (sync, rest) = bytes.split_first_chunk::<4>()?;
        let (number, rest) = rest.split_first_chunk::<8>()?;
        let (time_us, rest) = rest.split_first_chunk::<8>()?;
        let (name_bytes, rest) = rest.split_first_chunk::<4>()?;
        let header = Self {
            number: i64::from_be_bytes(*number),
            time_us: i64::from_be_bytes(*time_us),
            name_bytes: u32::from_be_bytes(*name_bytes),
            data_bytes: u32::from_be_bytes(*rest.first_chunk::<4>()?),
        };
        let possible = (1..=MAX_NAME as u32).contains(&header.name_bytes);
        let fits = header.data_bytes as usize <= MAX_MESSAGE_BYTES;
        (*sync == SYNC && possible && fits).then_some(header)
    }

    fn put(self, into: &mut Vec<u8>) {
        into.extend_from_slice(&SYNC);
        into.extend_from_slice(&self.number.to_be_bytes());
        into.extend_from_slice(&self.time_us.to_be_bytes());
        into.extend_from_slice(&self.name_bytes.to_be_bytes());
        into.extend_from_slice(&self.data_bytes.to_be_bytes());
    }

    /// How many bytes follow the header.
    fn body_bytes(self) -> u64 {
        u64::from(self.name_bytes) + u64::from(self.data_bytes)
    }
}
