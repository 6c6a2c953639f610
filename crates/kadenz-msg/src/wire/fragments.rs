//! Writing datagrams: the header in a place of its own, the payload by reference.

use super::{
    FRAGMENT_BYTES, FRAGMENT_HEADER, LONG, MAX_MESSAGE, MAX_SHORT_MESSAGE, SHORT, SHORT_HEADER,
};
use crate::channel::{Channel, MAX_CHANNEL};

/// What stands before the payload of a datagram: header, and channel with its NUL.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    bytes: [u8; Self::MAX],
    length: usize,
}

impl Header {
    /// The longest header, in bytes.
    pub const MAX: usize = FRAGMENT_HEADER + MAX_CHANNEL + 1;

    const fn empty() -> Self {
        Self {
            bytes: [0; Self::MAX],
            length: 0,
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn push_channel(&mut self, channel: &Channel) {
        self.push(channel.as_str().as_bytes());
        self.push(&[0]);
    }
}

/// Whether a message goes into one datagram.
#[must_use]
pub fn fits_short(channel: &Channel, payload_bytes: usize) -> bool {
    channel.as_str().len() + 1 + payload_bytes <= MAX_SHORT_MESSAGE
}

/// The header of a short message; the payload follows it. Real-time safe.
#[must_use]
pub fn short_header(sequence: u32, channel: &Channel) -> Header {
    let mut header = Header::empty();
    header.push(&SHORT.to_be_bytes());
    header.push(&sequence.to_be_bytes());
    debug_assert_eq!(header.length, SHORT_HEADER);
    header.push_channel(channel);
    header
}

/// A message of more bytes than the wire can say, or than fragments of that length can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a message of {length} bytes is too long for LCM, which carries {longest} in such fragments"
)]
pub struct TooLong {
    /// How long it is, in bytes.
    pub length: usize,
    /// How long one may be.
    pub longest: usize,
}

/// The fragments of a long message, in order: the header of each, and the part of the payload that
/// follows it. Real-time safe: nothing is copied but headers, and nothing allocated.
///
/// ```
/// use kadenz_msg::channel::Channel;
/// use kadenz_msg::wire::{FRAGMENT_BYTES, Fragments, Packet};
///
/// let payload = vec![7; 100_000];
/// let fragments = Fragments::new(3, &Channel::new("CAMERA")?, &payload, FRAGMENT_BYTES)?;
/// let lengths: Vec<usize> = fragments.map(|(header, part)| header.bytes().len() + part.len()).collect();
/// assert_eq!(lengths, [20 + 65_487, 20 + 100_000 + "CAMERA\0".len() - 65_487]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Fragments<'a> {
    sequence: u32,
    channel: Channel,
    payload: &'a [u8],
    budget: usize,
    count: u16,
    next: u16,
    offset: usize,
}

impl<'a> Fragments<'a> {
    /// The shortest budget: a channel's name must fit, and a byte.
    pub const MIN_BUDGET: usize = MAX_CHANNEL + 2;

    /// Cuts a message into fragments of at most `budget` bytes of channel and payload;
    /// [`FRAGMENT_BYTES`] is what C's LCM takes, and what a budget is held to, as well as to
    /// [`Fragments::MIN_BUDGET`].
    ///
    /// # Errors
    /// Where the payload is longer than [`MAX_MESSAGE`], or needs more than 65,535 fragments.
    pub fn new(
        sequence: u32,
        channel: &Channel,
        payload: &'a [u8],
        budget: usize,
    ) -> Result<Self, TooLong> {
        let budget = budget.clamp(Self::MIN_BUDGET, FRAGMENT_BYTES);
        let named = channel.as_str().len() + 1;
        let longest = MAX_MESSAGE.min(budget * usize::from(u16::MAX) - named);
        let length = payload.len();
        if length > longest {
            return Err(TooLong { length, longest });
        }
        let count = (named + length).div_ceil(budget);
        Ok(Self {
            sequence,
            channel: *channel,
            payload,
            budget,
            count: u16::try_from(count).unwrap_or(u16::MAX),
            next: 0,
            offset: 0,
        })
    }
}

impl<'a> Iterator for Fragments<'a> {
    type Item = (Header, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.count {
            return None;
        }
        let mut header = Header::empty();
        header.push(&LONG.to_be_bytes());
        header.push(&self.sequence.to_be_bytes());
        header.push(&(self.payload.len() as u32).to_be_bytes());
        header.push(&(self.offset as u32).to_be_bytes());
        header.push(&self.next.to_be_bytes());
        header.push(&self.count.to_be_bytes());
        let mut room = self.budget;
        if self.next == 0 {
            header.push_channel(&self.channel);
            room -= self.channel.as_str().len() + 1;
        }
        let rest = &self.payload[self.offset..];
        let part = &rest[..rest.len().min(room)];
        self.offset += part.len();
        self.next += 1;
        Some((header, part))
    }
}
