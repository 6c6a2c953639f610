//! The CDR form of a message (OMG's DDS-XTypes 1.3, 7.4.1, encoding version 1); sans-IO.
//!
//! A string is its length with the NUL that ends it, in four bytes, and then both; a sequence of octets is
//! its length in four bytes and then the octets. Lengths are aligned to four bytes. The byte order is stated
//! outside of it.

use std::ops::Range;

use crate::channel::{Channel, MAX_CHANNEL};

/// The number of bytes of a length.
const LENGTH: usize = 4;

/// The order of a length's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provider) enum ByteOrder {
    /// The least significant byte first.
    Little,
    /// The most significant byte first.
    Big,
}

/// A message as it arrived.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::provider) struct DdsMessage<'a> {
    pub(in crate::provider) channel: &'a str,
    pub(in crate::provider) payload: &'a [u8],
}

/// Returns a message with a payload of that many zero bytes, lengths in little-endian order, and the place of
/// the payload.
///
/// The end is padded, because RTPS pads every part of a message (RTPS 2.5, 9.4.1), and rustdds 0.15 does not
/// pad a sample's last fragment: Cyclone DDS then discards that, and requests it again forever.
pub(in crate::provider) fn begin(channel: &Channel, length: u32) -> (Vec<u8>, Range<usize>) {
    let name = channel.as_str().as_bytes();
    let at = payload_at(name.len());
    let end = at + length as usize;
    let mut bytes = vec![0; end.next_multiple_of(LENGTH)];
    bytes[..LENGTH].copy_from_slice(&(name.len() as u32 + 1).to_le_bytes());
    bytes[LENGTH..LENGTH + name.len()].copy_from_slice(name);
    bytes[at - LENGTH..at].copy_from_slice(&length.to_le_bytes());
    (bytes, at..end)
}

/// Returns the offset of the payload, behind a name of that many bytes.
fn payload_at(name: usize) -> usize {
    (LENGTH + name + 1).next_multiple_of(LENGTH) + LENGTH
}

/// Reads a message; `None` if the bytes are not one. Allocates nothing.
pub(in crate::provider) fn read(bytes: &[u8], order: ByteOrder) -> Option<DdsMessage<'_>> {
    let named = length_at(bytes, 0, order)?;
    if !(2..=MAX_CHANNEL + 1).contains(&named) {
        return None;
    }
    let (end, name) = bytes.get(LENGTH..LENGTH + named)?.split_last()?;
    if *end != 0 || name.contains(&0) {
        return None;
    }
    let at = payload_at(name.len());
    let length = length_at(bytes, at - LENGTH, order)?;
    Some(DdsMessage {
        channel: std::str::from_utf8(name).ok()?,
        payload: bytes.get(at..)?.get(..length)?,
    })
}

fn length_at(bytes: &[u8], at: usize, order: ByteOrder) -> Option<usize> {
    let length = bytes.get(at..)?.first_chunk::<LENGTH>()?;
    let length = match order {
        ByteOrder::Little => u32::from_le_bytes(*length),
        ByteOrder::Big => u32::from_be_bytes(*length),
    };
    usize::try_from(length).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(channel: &str, payload: &[u8]) -> Vec<u8> {
        let (mut bytes, place) = begin(&Channel::new(channel).unwrap(), payload.len() as u32);
        bytes[place].copy_from_slice(payload);
        bytes
    }

    #[test]
    fn the_bytes_are_those_of_the_specification() {
        let expected = b"\x04\0\0\0ARM\0\x02\0\0\0\x07\x08\0\0";
        assert_eq!(written("ARM", &[7, 8]), expected);
        let expected = b"\x05\0\0\0ARMS\0\0\0\0\x01\0\0\0\x07\0\0\0";
        assert_eq!(written("ARMS", &[7]), expected);
    }

    #[test]
    fn the_other_byte_order_is_read() {
        let bytes = b"\0\0\0\x04ARM\0\0\0\0\x02\x07\x08";
        let received = read(bytes, ByteOrder::Big).unwrap();
        assert_eq!((received.channel, received.payload), ("ARM", &[7, 8][..]));
        assert_eq!(read(bytes, ByteOrder::Little), None);
    }

    #[test]
    fn what_is_not_a_message_is_refused() {
        let none: [&[u8]; 7] = [
            b"",
            b"\x01\0\0\0\0\0\0\0\0\0\0\0",                    // no name
            b"\x04\0\0\0ARMS\0\0\0\0",                        // a name without its NUL
            b"\x04\0\0\0A\0M\0\0\0\0\0",                      // a NUL within a name
            b"\x04\0\0\0AR\xff\0\0\0\0\0",                    // not UTF-8
            b"\x04\0\0\0ARM\0\x03\0\0\0\x07\x08",             // shorter than it says
            b"\xff\xff\xff\xffARM\0\xff\xff\xff\xff\x07\x08", // lengths beyond everything
        ];
        for bytes in none {
            assert_eq!(read(bytes, ByteOrder::Little), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn a_message_comes_back_with_what_pads_it(
            channel in "[ -~]{1,63}",
            payload in prop::collection::vec(any::<u8>(), 0..100),
            padding in 0..4_usize,
        ) {
            let mut bytes = written(&channel, &payload);
            prop_assert_eq!(bytes.len() % 4, 0);
            bytes.resize(bytes.len() + padding, 0);
            let received = read(&bytes, ByteOrder::Little).unwrap();
            prop_assert_eq!((received.channel, received.payload), (channel.as_str(), &payload[..]));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                if let Some(received) = read(&bytes, order) {
                    prop_assert!(Channel::new(received.channel).is_ok());
                }
            }
        }
    }
}
