//! The first bytes of every datagram, and where the optional ones stand.

use super::kind::{Flags, Kind};
use super::{
    DeviceStamps, HEADER_BYTES, Malformed, RunId, STAMPS_BYTES, Sequence, Stamp, TAG_BYTES,
};

/// The 18 bytes that begin every datagram; numbers are big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) flags: Flags,
    pub(crate) run: RunId,
    pub(crate) sequence: Sequence,
    pub(crate) stamp: Stamp,
}

impl Header {
    /// Bytes that a datagram needs for its header and what its flags announce.
    pub(crate) fn least_bytes(flags: Flags) -> usize {
        let stamps = usize::from(flags.stamps) * STAMPS_BYTES;
        HEADER_BYTES + stamps + usize::from(flags.token) * TAG_BYTES
    }

    /// Where the body begins.
    pub(crate) fn body_offset(flags: Flags) -> usize {
        HEADER_BYTES + usize::from(flags.stamps) * STAMPS_BYTES
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let given = bytes.len();
        let short = |least| Malformed::Short { given, least };
        let [first, second, ..] = bytes
            .first_chunk::<HEADER_BYTES>()
            .ok_or(short(HEADER_BYTES))?;
        let kind = Kind::of(*first).ok_or(Malformed::Kind(*first))?;
        let flags = Flags::of(*second).ok_or(Malformed::Flags(*second))?;
        let least = Self::least_bytes(flags);
        if given < least {
            return Err(short(least));
        }
        Ok(Self {
            kind,
            flags,
            run: RunId(u32_at(bytes, 2)),
            sequence: Sequence(u32_at(bytes, 6)),
            stamp: Stamp(u64_at(bytes, 10)),
        })
    }

    /// Writes itself to the begin of `bytes`, as far as they reach.
    pub(crate) fn write(&self, bytes: &mut [u8]) {
        put(bytes, 0, &[self.kind.first_byte(), self.flags.byte()]);
        put(bytes, 2, &self.run.0.to_be_bytes());
        write_turn(bytes, self.sequence, self.stamp);
    }
}

/// Writes what differs between two datagrams of a run.
pub(crate) fn write_turn(bytes: &mut [u8], sequence: Sequence, stamp: Stamp) {
    put(bytes, 6, &sequence.0.to_be_bytes());
    put(bytes, 10, &stamp.0.to_be_bytes());
}

/// Reads the room for the device's stamps.
pub(crate) fn read_stamps(bytes: &[u8]) -> DeviceStamps {
    DeviceStamps {
        received_ns: u64_at(bytes, HEADER_BYTES),
        transmitted_ns: u64_at(bytes, HEADER_BYTES + 8),
    }
}

/// Writes the room for the device's stamps.
pub(crate) fn write_stamps(bytes: &mut [u8], stamps: DeviceStamps) {
    put(bytes, HEADER_BYTES, &stamps.received_ns.to_be_bytes());
    put(
        bytes,
        HEADER_BYTES + 8,
        &stamps.transmitted_ns.to_be_bytes(),
    );
}

/// Copies `value` to `offset` if it fits there.
pub(crate) fn put(bytes: &mut [u8], offset: usize, value: &[u8]) {
    if let Some(room) = bytes.get_mut(offset..offset + value.len()) {
        room.copy_from_slice(value);
    }
}

/// The number at `offset`; 0 beyond the end.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    array_at(bytes, offset).map_or(0, u32::from_be_bytes)
}

/// The number at `offset`; 0 beyond the end.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    array_at(bytes, offset).map_or(0, u64::from_be_bytes)
}

fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}
