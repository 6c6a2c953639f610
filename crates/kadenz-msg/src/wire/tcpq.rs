//! The frames between LCM's TCP server and its clients, sans-IO.
//!
//! Either side begins with a magic and a version. Then a client sends messages,
//! subscriptions and their ends, and the server sends messages: a type, and each text or payload
//! behind its length. Patterns are regular expressions that must match a whole channel.

use super::Header;
use crate::channel::{Channel, MAX_CHANNEL};

/// The first number of a server's greeting.
pub const MAGIC_SERVER: u32 = 0x2876_17fa;
/// The first number of a client's greeting.
pub const MAGIC_CLIENT: u32 = 0x2876_17fb;
/// The only version there is.
pub const VERSION: u32 = 0x0100;
const PUBLISH: u32 = 1;
const SUBSCRIBE: u32 = 2;
const UNSUBSCRIBE: u32 = 3;
/// The longest pattern that is taken, in bytes.
const MAX_PATTERN: usize = 1024;
/// The minimum number of bytes of one read.
const READ_SIZE: usize = 64 * 1024;

/// The kind of the other side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A server: it sends only messages.
    Server,
    /// A client: it subscribes, and sends messages.
    Client,
}

/// A frame from the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The other side publishes a message.
    Publish {
        /// The channel of the message.
        channel: &'a str,
        /// The encoded message.
        payload: &'a [u8],
    },
    /// The client subscribes to the matching channels from now on.
    Subscribe {
        /// A regular expression of channel names.
        pattern: &'a str,
    },
    /// The client ends a subscription.
    Unsubscribe {
        /// The pattern of the subscription.
        pattern: &'a str,
    },
}

/// The reason for which a connection cannot go on: frames have no sync mark by which the next could be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TcpqError {
    /// The other side is not such a peer.
    #[error(
        "it begins with {found:#010x} instead of {expected:#010x}: it is not an LCM peer of that kind"
    )]
    Magic {
        /// The received magic number.
        found: u32,
        /// The magic number of the expected kind of peer.
        expected: u32,
    },
    /// The peer has another version of the protocol.
    #[error("it has version {found:#06x} of LCM's TCP protocol, and this is {VERSION:#06x}")]
    Version {
        /// The version number that the peer sent.
        found: u32,
    },
    /// A type that there is not, or not from that side.
    #[error("a frame of type {found} cannot come from there")]
    Type {
        /// The received number of the frame's type.
        found: u32,
    },
    /// A text or payload is too long.
    #[error("a {what} of {length} bytes; at most {longest} are taken")]
    TooLong {
        /// The kind of field.
        what: &'static str,
        /// The length that the frame states, in bytes.
        length: usize,
        /// The longest that is taken, in bytes.
        longest: usize,
    },
    /// An invalid name.
    #[error("a channel or pattern that is empty or not valid UTF-8")]
    Name,
}

/// Checks that the received bytes begin with the greeting of such a peer, and returns its length, or `None`
/// while it is incomplete.
///
/// # Errors
/// If the bytes are another program's.
pub(crate) fn read_greeting(bytes: &[u8], peer: Peer) -> Result<Option<usize>, TcpqError> {
    let expected = match peer {
        Peer::Server => MAGIC_SERVER,
        Peer::Client => MAGIC_CLIENT,
    };
    if let Some(found) = number(bytes, 0)
        && found != expected
    {
        return Err(TcpqError::Magic { found, expected });
    }
    match number(bytes, 4) {
        None => Ok(None),
        Some(VERSION) => Ok(Some(8)),
        Some(found) => Err(TcpqError::Version { found }),
    }
}

/// Returns the frame at the front of the received bytes, with its length; `None` while it is incomplete.
/// Messages may have `longest` bytes.
///
/// # Errors
/// If the bytes are not LCM; nothing that follows makes sense then.
pub(crate) fn read_frame(
    bytes: &[u8],
    peer: Peer,
    longest: usize,
) -> Result<Option<(usize, Frame<'_>)>, TcpqError> {
    let Some(kind) = number(bytes, 0) else {
        return Ok(None);
    };
    let (what, longest_name) = match (kind, peer) {
        (PUBLISH, _) => ("channel", MAX_CHANNEL),
        (SUBSCRIBE | UNSUBSCRIBE, Peer::Client) => ("pattern", MAX_PATTERN),
        (found, _) => return Err(TcpqError::Type { found }),
    };
    let Some((name, rest)) = text(bytes, 4, what, longest_name)? else {
        return Ok(None);
    };
    let frame = match kind {
        PUBLISH => {
            let Some((payload, end)) = field(bytes, rest, "message", longest)? else {
                return Ok(None);
            };
            let channel = name;
            return Ok(Some((end, Frame::Publish { channel, payload })));
        }
        SUBSCRIBE => Frame::Subscribe { pattern: name },
        _ => Frame::Unsubscribe { pattern: name },
    };
    Ok(Some((rest, frame)))
}

/// Returns the bytes of a field behind its length at a place, and the end of the field.
fn field<'a>(
    bytes: &'a [u8],
    at: usize,
    what: &'static str,
    longest: usize,
) -> Result<Option<(&'a [u8], usize)>, TcpqError> {
    let Some(length) = number(bytes, at).map(|length| length as usize) else {
        return Ok(None);
    };
    if length > longest {
        return Err(TcpqError::TooLong {
            what,
            length,
            longest,
        });
    }
    let (begin, end) = (at + 4, at + 4 + length);
    Ok(bytes.get(begin..end).map(|field| (field, end)))
}

fn text<'a>(
    bytes: &'a [u8],
    at: usize,
    what: &'static str,
    longest: usize,
) -> Result<Option<(&'a str, usize)>, TcpqError> {
    let Some((name, end)) = field(bytes, at, what, longest)? else {
        return Ok(None);
    };
    let name = std::str::from_utf8(name).map_err(|_| TcpqError::Name)?;
    if name.is_empty() || name.contains('\0') {
        return Err(TcpqError::Name);
    }
    Ok(Some((name, end)))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

/// Makes frames of the bytes of a connection, in bounded memory: at most twice as much as arrived, and never
/// more than the longest frame and one read.
///
/// A server of many connections lends one buffer to each decoder in turn, so that those of which no part of a
/// frame has arrived hold nothing.
#[derive(Debug)]
pub struct Decoder {
    peer: Peer,
    longest: usize,
    buffer: Vec<u8>,
    /// The unused bytes are between `begin` and `end`.
    begin: usize,
    end: usize,
    handshake_done: bool,
    /// The buffer is another's.
    lent: bool,
}

impl Decoder {
    /// Returns a decoder for that peer's bytes, with messages of at most `longest` bytes.
    #[must_use]
    pub fn new(peer: Peer, longest: usize) -> Self {
        Self {
            peer,
            longest,
            buffer: Vec::new(),
            begin: 0,
            end: 0,
            handshake_done: false,
            lent: false,
        }
    }

    /// Returns the place for the next bytes; [`Decoder::filled`] then states their number. Never empty.
    ///
    /// # Real-time safety
    /// It allocates only if a frame is longer than all before.
    pub fn space(&mut self) -> &mut [u8] {
        if self.begin > 0 && (self.begin == self.end || self.has_little_left()) {
            self.buffer.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
        }
        if self.end == self.buffer.len() {
            // The kernel gives zeroed memory as it is touched.
            let mut grown = vec![0; self.grown()];
            grown[..self.end].copy_from_slice(&self.buffer);
            self.buffer = grown;
            self.lent = false;
        }
        &mut self.buffer[self.end..]
    }

    /// Returns the bytes of its own memory after the next [`Decoder::space`].
    pub(crate) fn needed(&self) -> usize {
        let gains = self.begin > 0 && (self.begin == self.end || self.has_little_left());
        if self.end == self.buffer.len() && !gains {
            self.grown()
        } else if self.lent {
            0
        } else {
            self.buffer.len()
        }
    }

    /// Returns a full buffer's next length: never more than the longest frame, behind which there is always
    /// room for one byte.
    fn grown(&self) -> usize {
        let longest = self.longest.saturating_add(16 + MAX_CHANNEL);
        let doubled = (2 * self.end).min(longest.max(self.end + 1));
        doubled.max(READ_SIZE)
    }

    fn has_little_left(&self) -> bool {
        self.buffer.len() - self.end < READ_SIZE / 2
    }

    /// Reads into `room` from now on, unless the decoder already has a buffer of at least 64 KiB.
    pub(crate) fn lend(&mut self, room: &mut Vec<u8>) {
        if self.buffer.len() >= READ_SIZE {
            return;
        }
        if room.len() < READ_SIZE {
            *room = vec![0; READ_SIZE];
        }
        let left = self.end - self.begin;
        room[..left].copy_from_slice(&self.buffer[self.begin..self.end]);
        self.buffer = std::mem::take(room);
        (self.begin, self.end) = (0, left);
        self.lent = true;
    }

    /// Gives a buffer back for other decoders to read into, and holds no more than the received part of a
    /// frame; of a long frame it keeps the buffer, if it needs a good part of that.
    pub(crate) fn give_back(&mut self, room: &mut Vec<u8>) {
        self.lent = false;
        let rest = &self.buffer[self.begin..self.end];
        let is_long = rest.len() >= READ_SIZE / 2;
        if is_long && self.buffer.len() <= 4 * promised(rest).max(rest.len()) {
            return;
        }
        let left = rest.len();
        let rest = rest.to_vec();
        let whole = std::mem::replace(&mut self.buffer, rest);
        if whole.len() > room.len() {
            *room = whole;
        }
        (self.begin, self.end) = (0, left);
    }

    /// Returns whether the other side has sent magic and version.
    #[must_use]
    pub(crate) fn has_handshake(&self) -> bool {
        self.handshake_done
    }

    /// Notes that this many bytes of [`Decoder::space`] were filled.
    pub fn filled(&mut self, bytes: usize) {
        self.end = (self.end + bytes).min(self.buffer.len());
    }

    /// Returns the number of received bytes that [`Decoder::next`] has not returned yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.end - self.begin
    }

    /// Returns the memory that it holds, in bytes.
    #[must_use]
    pub fn held(&self) -> usize {
        self.buffer.capacity()
    }

    /// Returns the next complete frame.
    ///
    /// # Errors
    /// If the bytes are not LCM; nothing that follows makes sense then.
    #[expect(clippy::should_implement_trait, reason = "it lends what it returns")]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, TcpqError> {
        if !self.handshake_done {
            let there = &self.buffer[self.begin..self.end];
            let Some(length) = read_greeting(there, self.peer)? else {
                return Ok(None);
            };
            self.begin += length;
            self.handshake_done = true;
        }
        let there = &self.buffer[self.begin..self.end];
        let Some((length, frame)) = read_frame(there, self.peer, self.longest)? else {
            return Ok(None);
        };
        self.begin += length;
        Ok(Some(frame))
    }
}

/// Returns the length of the message that begins there, if its header has arrived; otherwise 0.
fn promised(bytes: &[u8]) -> usize {
    let name = number(bytes, 4).map_or(0, |length| length as usize);
    let payload = number(bytes, 8 + name.min(MAX_CHANNEL));
    payload.map_or(0, |payload| payload as usize)
}

/// Returns the greeting of this side.
#[must_use]
pub fn greeting(magic: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&magic.to_be_bytes());
    bytes[4..].copy_from_slice(&VERSION.to_be_bytes());
    bytes
}

/// Returns the bytes before a message's payload, of which the wire can state up to `u32::MAX` bytes.
///
/// # Real-time safety
/// Real-time safe.
#[must_use]
pub fn message_header(channel: &Channel, payload_bytes: u32) -> Header {
    const { assert!(3 * size_of::<u32>() + MAX_CHANNEL <= Header::MAX) };
    let name = channel.as_str().as_bytes();
    let mut header = Header::empty();
    header.push(&PUBLISH.to_be_bytes());
    header.push(&(name.len() as u32).to_be_bytes());
    header.push(name);
    header.push(&payload_bytes.to_be_bytes());
    header
}

/// Appends a subscription, or the end of one, to the bytes to be sent.
///
/// # Errors
/// If the pattern is empty or longer than 1024 bytes.
pub fn push_subscription(
    to_send: &mut Vec<u8>,
    pattern: &str,
    begins: bool,
) -> Result<(), TcpqError> {
    let length = pattern.len();
    if length == 0 {
        return Err(TcpqError::Name);
    }
    if length > MAX_PATTERN {
        let (what, longest) = ("pattern", MAX_PATTERN);
        return Err(TcpqError::TooLong {
            what,
            length,
            longest,
        });
    }
    let kind = if begins { SUBSCRIBE } else { UNSUBSCRIBE };
    to_send.extend_from_slice(&kind.to_be_bytes());
    to_send.extend_from_slice(&(length as u32).to_be_bytes());
    to_send.extend_from_slice(pattern.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests;
