//! RTP (RFC 3550): the packets, their order, and the reports of sender and receiver.

mod reorder;
pub mod rtcp;

pub use reorder::{Reorder, ReorderCounts, ReorderLimits, Sequenced};

/// A packet of RTP, taken apart (RFC 3550, section 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Whether it ends a picture, as most payload formats have it.
    pub marker: bool,
    /// The type of its payload.
    pub payload_type: u8,
    /// Its number, which wraps.
    pub sequence: u16,
    /// When the picture was taken, in ticks of the stream's clock, which wraps.
    pub timestamp: u32,
    /// The source of the stream (RFC 3550, SSRC).
    pub ssrc: u32,
    /// What it carries, without padding.
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Takes a packet apart; `None` where the bytes are not a packet.
    #[must_use]
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (header, rest) = bytes.split_first_chunk::<12>()?;
        if header[0] >> 6 != 2 {
            return None;
        }
        let sources = usize::from(header[0] & 0x0f) * 4;
        let mut payload = rest.get(sources..)?;
        if header[0] & 0x10 != 0 {
            let (extension, after) = payload.split_first_chunk::<4>()?;
            let words = usize::from(u16::from_be_bytes([extension[2], extension[3]]));
            payload = after.get(words * 4..)?;
        }
        if header[0] & 0x20 != 0 {
            let padding = usize::from(*payload.last()?);
            payload = payload.get(..payload.len().checked_sub(padding)?)?;
        }
        let word = |at: usize| {
            u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        Some(Self {
            marker: header[1] & 0x80 != 0,
            payload_type: header[1] & 0x7f,
            sequence: u16::from_be_bytes([header[2], header[3]]),
            timestamp: word(4),
            ssrc: word(8),
            payload,
        })
    }

    /// The packet as it goes over the wire, behind what is in `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let marker = if self.marker { 0x80 } else { 0 };
        out.extend_from_slice(&[0x80, marker | (self.payload_type & 0x7f)]);
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&self.timestamp.to_be_bytes());
        out.extend_from_slice(&self.ssrc.to_be_bytes());
        out.extend_from_slice(self.payload);
    }
}

/// Whether bytes are RTCP where RTP is expected, too (RFC 5761, section 4): cameras swap the channels.
#[must_use]
pub(crate) fn is_rtcp(bytes: &[u8]) -> bool {
    bytes.get(1).is_some_and(|kind| (192..=223).contains(kind))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sources_extension_and_padding_are_not_payload() {
        let mut bytes = vec![0xb2, 0xe0, 0x12, 0x34, 0, 0, 0, 9, 1, 2, 3, 4];
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&[0xbe, 0xde, 0, 1, 9, 9, 9, 9]);
        bytes.extend_from_slice(&[5, 6, 7, 0, 0, 3]);
        let packet = Packet::parse(&bytes).unwrap();
        let expected = Packet {
            marker: true,
            payload_type: 96,
            sequence: 0x1234,
            timestamp: 9,
            ssrc: 0x0102_0304,
            payload: &[5, 6, 7],
        };
        assert_eq!(packet, expected);
        let last = bytes.len() - 1;
        bytes[last] = 7;
        assert_eq!(Packet::parse(&bytes), None);
        assert_eq!(Packet::parse(&bytes[..30]), None);
    }

    proptest! {
        #[test]
        fn a_packet_is_read_as_it_was_written(
            marker: bool, payload_type in 0_u8..128, sequence: u16, timestamp: u32, ssrc: u32,
            payload in prop::collection::vec(any::<u8>(), 0..50),
        ) {
            let packet = Packet { marker, payload_type, sequence, timestamp, ssrc, payload: &payload };
            let mut bytes = Vec::new();
            packet.write(&mut bytes);
            prop_assert_eq!(Packet::parse(&bytes), Some(packet));
        }
    }
}
