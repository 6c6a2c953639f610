//! The datagram. All numbers are big-endian.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 1 | upper half: version 1 as `0xA`; lower half: [`Kind`] |
//! | 1 | 1 | flags: bit 0 token, bit 1 device stamps; the others are 0 |
//! | 2 | 4 | [`RunId`] |
//! | 6 | 4 | [`Sequence`] |
//! | 10 | 8 | [`Stamp`] of the sender, ns |
//! | 18 | 16 | with device stamps only: received and transmitted, ns, of the device's clock |
//! | then | | body: filler, a name, or measurements |
//! | last 16 | 16 | with a token only: truncated HMAC-SHA256 over everything before |
//!
//! The header fills the smallest Ethernet frame: 64 bytes less 18 of Ethernet, 20 of IPv4 and 8 of
//! UDP (IEEE 802.3 clause 3, RFC 791, RFC 768), so that not even the smallest probe is padded.

mod error;
mod packet;
mod token;

use core::fmt;
use core::ops::Range;

pub use error::{EncodeError, Malformed, Refused};
pub use packet::{Discover, Packet, Probe, patch};
pub(crate) use packet::{Header, put, read_stamps, write_stamps};
pub(crate) use token::write_tag;
pub use token::{BadToken, Token};

/// Bytes of the header, and of the smallest datagram.
pub const HEADER_BYTES: usize = 18;
/// Bytes that the device's stamps take.
pub const STAMPS_BYTES: usize = 16;
/// Bytes that the tag of a token takes.
pub const TAG_BYTES: usize = 16;
/// The largest payload of UDP over IPv4: 65,535 bytes less 20 of IPv4 (RFC 791) and 8 of UDP (RFC 768).
pub const MAX_PAYLOAD_BYTES: usize = 65_507;

/// The filler byte at `offset` of a probe: no two neighbours are alike, and neither are two at the same place of
/// neighbouring 256 bytes.
///
/// ```
/// use kadenz_udp::wire::filler;
///
/// assert_eq!([filler(18), filler(19), filler(274)], [0x48, 0x49, 0x49]);
/// ```
#[must_use]
pub const fn filler(offset: usize) -> u8 {
    let [.., high, low] = offset.to_be_bytes();
    low ^ high ^ 0x5A
}

// Numbers that a datagram carries, each a type of its own so that none is mistaken for another.

/// The run that a datagram belongs to: a random number for each run, so that late answers to an earlier run are
/// recognised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub u32);

/// The number of a datagram in its run: begins at any number, grows by one, and wraps.
///
/// Compared by [`distance_from`](Self::distance_from) and not by `<`, because it wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sequence(pub u32);

impl Sequence {
    /// The number after this one; wraps around.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// How many steps this one is after `other`, negative if before it (serial number arithmetic,
    /// RFC 1982 section 3.2).
    ///
    /// ```
    /// use kadenz_udp::wire::Sequence;
    ///
    /// assert_eq!(Sequence(1).distance_from(Sequence(u32::MAX)), 2);
    /// assert_eq!(Sequence(u32::MAX).distance_from(Sequence(1)), -2);
    /// ```
    #[must_use]
    pub const fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0).cast_signed()
    }
}

/// When a datagram was handed to the network: nanoseconds of the sender's own monotonic clock.
///
/// Only the sender can interpret it; every other program returns it unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stamp(pub u64);

/// When a device received a datagram and when it answered: nanoseconds of its own monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceStamps {
    /// When the question came in.
    pub received_ns: u64,
    /// When the answer went out.
    pub transmitted_ns: u64,
}

impl DeviceStamps {
    /// The value in a request, and in the answer of a device without a clock.
    pub const ABSENT: Self = Self {
        received_ns: 0,
        transmitted_ns: 0,
    };

    /// How long the device held the question, in ns of its own clock; 0 if its stamps say that it answered before
    /// it received the question.
    #[must_use]
    pub const fn held_ns(&self) -> u64 {
        self.transmitted_ns.saturating_sub(self.received_ns)
    }
}

// The purpose of a datagram.

/// Upper half of the first byte: the datagrams of version 1 of the protocol.
const VERSION: u8 = 0xA0;

/// The purpose of a datagram: the lower half of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Controller to device: send this back.
    Probe = 1,
    /// Device to controller: the probe, sent back.
    Reply = 2,
    /// Controller to all devices: a request to answer.
    Discover = 3,
    /// Device to controller: the answer, with the device's name.
    Present = 4,
    /// Controller to logging server: measurements.
    Batch = 5,
    /// Logging server to controller: the batch was kept.
    BatchKept = 6,
    /// Controller to logging server: an announcement of batches, or, with a cookie as its stamp, the proof of the
    /// address.
    Hello = 7,
    /// Logging server to controller: send a hello with this stamp.
    Cookie = 8,
    /// Logging server to controller: batches are taken.
    Welcome = 9,
    /// Logging server to controller: there is no room for this controller.
    Refused = 10,
}

impl Kind {
    /// All kinds of packets.
    pub const ALL: [Self; 10] = [
        Self::Probe,
        Self::Reply,
        Self::Discover,
        Self::Present,
        Self::Batch,
        Self::BatchKept,
        Self::Hello,
        Self::Cookie,
        Self::Welcome,
        Self::Refused,
    ];

    /// The first byte of a datagram of this kind.
    #[must_use]
    pub const fn first_byte(self) -> u8 {
        VERSION | self as u8
    }

    /// The kind that the first byte of a datagram announces; `None` if it is not a datagram of this protocol.
    #[must_use]
    pub fn of(first_byte: u8) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.first_byte() == first_byte)
    }
}

/// The optional parts of a datagram: the flags in its second byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) token: bool,
    pub(crate) stamps: bool,
}

impl Flags {
    const TOKEN: u8 = 1;
    const STAMPS: u8 = 1 << 1;

    /// Those of a datagram that a sender with this token writes.
    pub(crate) fn new(stamps: bool, token: Option<&Token>) -> Self {
        let token = token.is_some();
        Self { token, stamps }
    }

    /// `None` if a bit is set that this version does not define: guessing would misread the rest.
    pub(crate) fn of(byte: u8) -> Option<Self> {
        let known = byte & !(Self::TOKEN | Self::STAMPS) == 0;
        known.then_some(Self {
            token: byte & Self::TOKEN != 0,
            stamps: byte & Self::STAMPS != 0,
        })
    }

    pub(crate) fn byte(self) -> u8 {
        let flag = |set, bit| if set { bit } else { 0 };
        flag(self.token, Self::TOKEN) | flag(self.stamps, Self::STAMPS)
    }

    /// Bytes that a datagram needs for its header and the parts that the flags announce.
    pub(crate) fn least_bytes(self) -> usize {
        self.body(0).start + self.tag_bytes()
    }

    /// Bytes of the tag, 0 without one.
    pub(crate) fn tag_bytes(self) -> usize {
        usize::from(self.token) * TAG_BYTES
    }

    /// Where the body of a datagram of so many bytes lies: between header, device stamps and tag.
    pub(crate) fn body(self, length: usize) -> Range<usize> {
        let stamps = usize::from(self.stamps) * STAMPS_BYTES;
        HEADER_BYTES + stamps..length.saturating_sub(self.tag_bytes())
    }
}

// The name of a device.

/// A device's name: up to 48 characters of printable ASCII, so that it can be shown in any terminal.
///
/// ```
/// use kadenz_udp::wire::Name;
///
/// assert_eq!(Name::new("left knee").map(|name| name.to_string()), Some("left knee".to_owned()));
/// assert_eq!(Name::new("\x1b[2J"), None, "a terminal would obey");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name {
    bytes: [u8; Self::MAX_BYTES],
    length: u8,
}

impl Name {
    /// The longest name in bytes.
    pub const MAX_BYTES: usize = 48;

    /// The name without a byte.
    pub const EMPTY: Self = Self {
        bytes: [0; Self::MAX_BYTES],
        length: 0,
    };

    /// Makes a name; returns `None` if it is longer than 48 bytes or holds anything but printable ASCII.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Self::from_bytes(text.as_bytes())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length.into()).unwrap_or_default()
    }

    fn from_bytes(text: &[u8]) -> Option<Self> {
        let printable = text.iter().all(|byte| (b' '..=b'~').contains(byte));
        let mut name = Self::EMPTY;
        let room = name.bytes.get_mut(..text.len()).filter(|_| printable)?;
        room.copy_from_slice(text);
        name.length = u8::try_from(text.len()).ok()?;
        Some(name)
    }

    /// Writes length and name, as far as it fits, and zeros: the body of [`Kind::Present`](Kind).
    pub(crate) fn write(&self, body: &mut [u8]) {
        body.fill(0);
        let Some((length, room)) = body.split_first_mut() else {
            return;
        };
        let text = self.as_bytes();
        let fits = text.len().min(room.len());
        for (to, from) in room.iter_mut().zip(text) {
            *to = *from;
        }
        *length = u8::try_from(fits).unwrap_or(u8::MAX);
    }

    /// Reads the output of [`write`](Self::write); an empty body holds no name.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Malformed> {
        let Some((length, room)) = body.split_first() else {
            return Ok(Self::EMPTY);
        };
        room.get(..usize::from(*length))
            .and_then(Self::from_bytes)
            .ok_or(Malformed::Name)
    }
}

impl Default for Name {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({:?})", self.as_str())
    }
}
