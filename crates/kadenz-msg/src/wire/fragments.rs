//! Writes datagrams, the header in a place of its own and the payload by reference, and reads received ones.

use super::{
    FRAGMENT_BYTES, FRAGMENT_HEADER, LONG, MAX_MESSAGE, MAX_SHORT_MESSAGE, SHORT, SHORT_HEADER,
};
use crate::channel::{Channel, MAX_CHANNEL};

/// The bytes before a payload: of a datagram its header, and the channel with its NUL if it has one; of a
/// frame of tcpq its type, the channel and the lengths.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    bytes: [u8; Self::MAX],
    length: usize,
}

impl Header {
    /// The longest header, in bytes.
    pub(crate) const MAX: usize = FRAGMENT_HEADER + MAX_CHANNEL + 1;

    pub(super) const fn empty() -> Self {
        Self {
            bytes: [0; Self::MAX],
            length: 0,
        }
    }

    /// The bytes of the header, as they stand before a payload.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn push_channel(&mut self, channel: &Channel) {
        self.push(channel.as_str().as_bytes());
        self.push(&[0]);
    }
}

/// Returns whether a message fits into one datagram.
#[must_use]
pub fn fits_short(channel: &Channel, payload_bytes: usize) -> bool {
    channel.as_str().len() + 1 + payload_bytes <= MAX_SHORT_MESSAGE
}

/// Returns the header of a short message; the payload follows it.
///
/// # Real-time safety
/// Real-time safe.
#[must_use]
pub fn short_header(sequence: u32, channel: &Channel) -> Header {
    let mut header = Header::empty();
    header.push(&SHORT.to_be_bytes());
    header.push(&sequence.to_be_bytes());
    debug_assert_eq!(header.length, SHORT_HEADER);
    header.push_channel(channel);
    header
}

/// A message of more bytes than the wire can state, or than fragments of that length can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a message of {length} bytes is too long for LCM, which carries {longest} in such fragments"
)]
pub struct TooLong {
    /// How long it is, in bytes.
    pub length: usize,
    /// The longest message of such fragments, in bytes.
    pub longest: usize,
}

/// The fragments of a long message, in order: the header of each, and the part of the payload that follows
/// it.
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
///
/// # Real-time safety
/// Real-time safe: only headers are copied, and nothing is allocated.
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

    /// Cuts a message into fragments of at most `budget` bytes of channel and payload. C's LCM uses
    /// [`FRAGMENT_BYTES`], which is the maximum of the budget; [`Fragments::MIN_BUDGET`] is its minimum.
    ///
    /// # Errors
    /// If the payload is longer than [`MAX_MESSAGE`], or needs more than 65,535 fragments.
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

// Reading a datagram of an unknown sender.

/// The content of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet<'a> {
    /// A whole message in one datagram.
    Short {
        /// The sender's number of the message.
        sequence: u32,
        /// The channel of the message.
        channel: &'a str,
        /// The encoded message.
        payload: &'a [u8],
    },
    /// A part of a message.
    Fragment(Fragment<'a>),
}

/// A part of a long message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The sender's number of the message.
    pub sequence: u32,
    /// How long the whole message is, in bytes; at most [`MAX_MESSAGE`].
    pub size: usize,
    /// The offset of this part in the message.
    pub offset: usize,
    /// The index of this part, from 0; below `count`.
    pub number: u16,
    /// How many parts there are, at least 1.
    pub count: u16,
    /// The channel; of part 0 alone.
    pub channel: Option<&'a str>,
    /// The part; `offset + payload.len()` is at most `size`.
    pub payload: &'a [u8],
}

/// The reason for which a datagram is not LCM's.
///
/// # Real-time safety
/// Making one allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The datagram ends within its header.
    #[error("a datagram of {length} bytes ends within LCM's header")]
    Short {
        /// How long it is.
        length: usize,
    },
    /// The datagram begins with another number.
    #[error("the datagram begins with {magic:#010x}, which is neither LC02 nor LC03")]
    Magic {
        /// Its first four bytes.
        magic: u32,
    },
    /// No NUL ends the channel, or not within 63 bytes.
    #[error("the channel is not ended by a NUL within 63 bytes")]
    ChannelEnd,
    /// The channel has no name.
    #[error("the channel has no name")]
    ChannelEmpty,
    /// The channel is not valid UTF-8.
    #[error("the channel is not valid UTF-8")]
    ChannelText,
    /// The fragment is beyond the number of fragments, or empty without need.
    #[error("fragment {number} of {count} cannot be")]
    Number {
        /// The stated number of the fragment.
        number: u16,
        /// The stated number of fragments.
        count: u16,
    },
    /// The fragment reaches beyond the message, or the message is longer than any may be.
    #[error("{length} bytes at {offset} do not fit into a message of {size}")]
    Place {
        /// How long the fragment is, in bytes.
        length: usize,
        /// The offset in the message that the fragment states, in bytes.
        offset: usize,
        /// The stated length of the message.
        size: usize,
    },
}

impl<'a> Packet<'a> {
    /// Reads a datagram.
    ///
    /// ```
    /// use kadenz_msg::wire::{Malformed, Packet};
    ///
    /// let datagram = b"LC02\0\0\0\x07ARM\0payload";
    /// let Packet::Short { sequence, channel, payload } = Packet::parse(datagram)? else { panic!() };
    /// assert_eq!((sequence, channel, payload), (7, "ARM", &b"payload"[..]));
    /// assert_eq!(Packet::parse(b"LC02"), Err(Malformed::Short { length: 4 }));
    /// # Ok::<(), Malformed>(())
    /// ```
    ///
    /// # Errors
    /// If LCM's receivers would discard the datagram, and if a fragment contradicts itself.
    ///
    /// # Real-time safety
    /// Real-time safe: allocates nothing, and takes a time that depends on the channel's length
    /// alone.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, Malformed> {
        let short = || Malformed::Short {
            length: datagram.len(),
        };
        let (magic, rest) = number(datagram).ok_or_else(short)?;
        let (sequence, rest) = number(rest).ok_or_else(short)?;
        debug_assert_eq!(datagram.len() - rest.len(), SHORT_HEADER);
        match magic {
            SHORT => {
                let (channel, payload) = channel(rest)?;
                Ok(Self::Short {
                    sequence,
                    channel,
                    payload,
                })
            }
            LONG if datagram.len() < FRAGMENT_HEADER => Err(short()),
            LONG => fragment(sequence, rest).map(Self::Fragment),
            magic => Err(Malformed::Magic { magic }),
        }
    }
}

/// Reads what stands behind the sequence number; at least as much as the rest of a header.
fn fragment(sequence: u32, rest: &[u8]) -> Result<Fragment<'_>, Malformed> {
    let short = Malformed::Short { length: rest.len() };
    let (size, rest) = number(rest).ok_or(short)?;
    let (offset, rest) = number(rest).ok_or(short)?;
    let (numbers, rest) = number(rest).ok_or(short)?;
    let (number, count) = ((numbers >> 16) as u16, numbers as u16);
    if number >= count {
        return Err(Malformed::Number { number, count });
    }
    let (channel, payload) = if number == 0 {
        let (channel, payload) = channel(rest)?;
        (Some(channel), payload)
    } else {
        (None, rest)
    };
    let (size, offset, length) = (size as usize, offset as usize, payload.len());
    if size > MAX_MESSAGE || offset > size || length > size - offset {
        return Err(Malformed::Place {
            length,
            offset,
            size,
        });
    }
    // Each further fragment brings a byte, so a message has no more of them than bytes.
    if (number > 0 && length == 0) || usize::from(count) > size + 1 {
        return Err(Malformed::Number { number, count });
    }
    Ok(Fragment {
        sequence,
        size,
        offset,
        number,
        count,
        channel,
        payload,
    })
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*first), rest))
}

fn channel(bytes: &[u8]) -> Result<(&str, &[u8]), Malformed> {
    let reach = &bytes[..bytes.len().min(MAX_CHANNEL + 1)];
    let end = reach.iter().position(|byte| *byte == 0);
    let end = end.ok_or(Malformed::ChannelEnd)?;
    if end == 0 {
        return Err(Malformed::ChannelEmpty);
    }
    let name = std::str::from_utf8(&bytes[..end]).map_err(|_| Malformed::ChannelText)?;
    Ok((name, &bytes[end + 1..]))
}
