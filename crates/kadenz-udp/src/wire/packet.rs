//! A received datagram.

use super::{
    DeviceStamps, Flags, HEADER_BYTES, Kind, Malformed, Name, Refused, RunId, STAMPS_BYTES,
    Sequence, Stamp, TAG_BYTES, Token, filler,
};

/// A datagram of this protocol, read from bytes of any sender.
///
/// ```
/// use kadenz_udp::wire::{Malformed, Packet, Refused, Token};
///
/// assert_eq!(Packet::parse(b"GET / HTTP/1.1\r\n\r\n"), Err(Malformed::Kind(b'G')));
/// let token = Token::new(b"arm of robot 3").unwrap();
/// let untagged = [0xA1, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 232];
/// assert_eq!(Packet::open(&untagged, Some(&token)), Err(Refused::WrongToken));
/// assert!(Packet::open(&untagged, None).is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    header: Header,
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads a datagram and requires no token.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are no datagram of this protocol.
    ///
    /// # Real-time safety
    /// Real-time safe; reads the header only.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let header = Header::read(bytes)?;
        Ok(Self { header, bytes })
    }

    /// Reads a datagram that must be tagged with `token`, or, without one, must have no tag.
    ///
    /// # Errors
    /// [`Refused::Malformed`] if the bytes are no datagram of this protocol, [`Refused::WrongToken`] if their
    /// sender does not know the token.
    pub fn open(bytes: &'a [u8], token: Option<&Token>) -> Result<Self, Refused> {
        let packet = Self::parse(bytes)?;
        let taken = match token {
            Some(token) => packet.is_made_with(token),
            None => !packet.has_tag(),
        };
        if taken {
            Ok(packet)
        } else {
            Err(Refused::WrongToken)
        }
    }

    /// What the packet is for.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.header.kind
    }

    /// The run that it belongs to.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.header.run
    }

    /// Its place among the datagrams of its run.
    #[must_use]
    pub fn sequence(&self) -> Sequence {
        self.header.sequence
    }

    /// The stamp of the probe's sender, in a probe and in its reply. A device might return another stamp than it
    /// received: compare it with the stamp that was sent before computing a time from it.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.header.stamp
    }

    /// The stamps of the device's own clock; `None` if the question did not request them, or the device has none.
    #[must_use]
    pub fn device_stamps(&self) -> Option<DeviceStamps> {
        let stamps = read_stamps(self.bytes);
        (self.header.flags.stamps && stamps != DeviceStamps::ABSENT).then_some(stamps)
    }

    /// Whether there is room for the device's stamps.
    #[must_use]
    pub fn asks_for_stamps(&self) -> bool {
        self.header.flags.stamps
    }

    /// Whether it ends in a tag, right or wrong.
    #[must_use]
    pub fn has_tag(&self) -> bool {
        self.header.flags.token
    }

    /// Whether it ends in a tag that was made with `token`.
    #[must_use]
    pub fn is_made_with(&self, token: &Token) -> bool {
        self.has_tag() && token.sealed(self.bytes)
    }

    /// The whole datagram, header included.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes between header, device stamps and tag.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        let tag = usize::from(self.has_tag()) * TAG_BYTES;
        let end = self.bytes.len().saturating_sub(tag);
        let body = self.bytes.get(Header::body_offset(self.header.flags)..end);
        body.unwrap_or_default()
    }

    /// The device's name, of [`Kind::Present`].
    ///
    /// # Errors
    /// [`Malformed::Name`] if the body is not a name, [`Malformed::Kind`] if this is no
    /// [`Kind::Present`].
    pub fn name(&self) -> Result<Name, Malformed> {
        if self.kind() == Kind::Present {
            Name::read(self.body())
        } else {
            Err(Malformed::Kind(self.kind().first_byte()))
        }
    }

    /// How many bytes of the filler differ from those sent: of a [`Kind::Probe`], a [`Kind::Reply`] or a
    /// [`Kind::Discover`]; 0 of any other kind.
    ///
    /// A wrong byte has passed the checksums of Ethernet and UDP, or the latter was switched off. Takes time that
    /// grows with the datagram.
    #[must_use]
    pub fn damaged_bytes(&self) -> usize {
        if !matches!(self.kind(), Kind::Probe | Kind::Reply | Kind::Discover) {
            return 0;
        }
        let offsets = Header::body_offset(self.header.flags)..;
        let pairs = self.body().iter().zip(offsets);
        pairs.filter(|(byte, at)| **byte != filler(*at)).count()
    }
}

// The header of every datagram, and the offsets of the optional parts.

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
    /// Bytes that a datagram needs for its header and the parts that its flags announce.
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

    /// Writes the header to the beginning of `bytes`, as far as they reach.
    pub(crate) fn write(&self, bytes: &mut [u8]) {
        put(bytes, 0, &[self.kind.first_byte(), self.flags.byte()]);
        put(bytes, 2, &self.run.0.to_be_bytes());
        write_turn(bytes, self.sequence, self.stamp);
    }
}

/// Writes the fields that differ between two datagrams of a run.
pub(crate) fn write_turn(bytes: &mut [u8], sequence: Sequence, stamp: Stamp) {
    put(bytes, 6, &sequence.0.to_be_bytes());
    put(bytes, 10, &stamp.0.to_be_bytes());
}

/// Reads the device's stamps.
pub(crate) fn read_stamps(bytes: &[u8]) -> DeviceStamps {
    DeviceStamps {
        received_ns: u64_at(bytes, HEADER_BYTES),
        transmitted_ns: u64_at(bytes, HEADER_BYTES + 8),
    }
}

/// Writes the device's stamps.
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
