//! Datagrams: those received, and those that a controller writes.

use super::{
    DeviceStamps, EncodeError, Flags, HEADER_BYTES, Kind, Malformed, Name, Refused, RunId,
    Sequence, Stamp, Token, filler, write_tag,
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
    pub(crate) header: Header,
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads a datagram and requires no token.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are not a datagram of this protocol.
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
    /// [`Refused::Malformed`] if the bytes are not a datagram of this protocol, [`Refused::WrongToken`] if their
    /// sender does not know the token.
    pub fn open(bytes: &'a [u8], token: Option<&Token>) -> Result<Self, Refused> {
        let packet = Self::parse(bytes)?;
        let taken = packet.is_made_with(token).then_some(packet);
        taken.ok_or(Refused::WrongToken)
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

    /// Whether it ends in a tag that was made with `token`, or, without one, has no tag.
    pub(crate) fn is_made_with(&self, token: Option<&Token>) -> bool {
        match token {
            Some(token) => self.has_tag() && token.sealed(self.bytes),
            None => !self.has_tag(),
        }
    }

    /// The whole datagram, header included.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes between header, device stamps and tag.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        let body = self.header.flags.body(self.bytes.len());
        self.bytes.get(body).unwrap_or_default()
    }

    /// The device's name, of [`Kind::Present`].
    ///
    /// # Errors
    /// [`Malformed::Name`] if the body is not a name, [`Malformed::Kind`] if this is not a
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
        let offsets = self.header.flags.body(self.bytes.len());
        let pairs = self.body().iter().zip(offsets);
        pairs.filter(|(byte, at)| **byte != filler(*at)).count()
    }
}

// Datagrams that a controller writes.

/// A probe: a datagram that a device sends back.
///
/// A sender writes it once and from then on only [`patch`]es sequence and stamp.
///
/// ```
/// use kadenz_udp::wire::{self, Packet, Probe, RunId, Sequence, Stamp};
///
/// let mut bytes = [0_u8; 200];
/// let probe = Probe { run: RunId(7), sequence: Sequence(0), stamp: Stamp(0), stamps: false, token: None };
/// assert_eq!(probe.write(&mut bytes), Ok(200));
///
/// wire::patch(&mut bytes, Sequence(1), Stamp(10_000_000), None)?;
/// let packet = Packet::parse(&bytes)?;
/// assert_eq!((packet.sequence(), packet.damaged_bytes()), (Sequence(1), 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Probe<'t> {
    /// The run it belongs to.
    pub run: RunId,
    /// Its place in the run.
    pub sequence: Sequence,
    /// When it is sent, by the sender's clock.
    pub stamp: Stamp,
    /// Whether it requests the device's own receive and transmit stamps: 16 bytes.
    pub stamps: bool,
    /// The token of its tag: 16 bytes.
    pub token: Option<&'t Token>,
}

impl Probe<'_> {
    /// The smallest payload that carries such a probe: 18 bytes, and 16 each for stamps and token.
    #[must_use]
    pub fn least_bytes(&self) -> usize {
        Flags::new(self.stamps, self.token).least_bytes()
    }

    /// Writes a probe that fills the buffer, and returns how many bytes that is.
    ///
    /// # Errors
    /// [`EncodeError`] if the buffer is smaller than [`least_bytes`](Self::least_bytes) or larger than a
    /// UDP datagram.
    ///
    /// # Real-time safety
    /// Real-time safe.
    pub fn write(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.write_as(Kind::Probe, buffer)
    }

    fn write_as(&self, kind: Kind, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        EncodeError::check(buffer.len(), self.least_bytes())?;
        for (at, byte) in buffer.iter_mut().enumerate() {
            *byte = filler(at);
        }
        let header = Header {
            kind,
            flags: Flags::new(self.stamps, self.token),
            run: self.run,
            sequence: self.sequence,
            stamp: self.stamp,
        };
        header.write(buffer);
        if self.stamps {
            write_stamps(buffer, DeviceStamps::ABSENT);
        }
        write_tag(self.token, buffer);
        Ok(buffer.len())
    }
}

/// A request to all devices. Each device answers with its name, as far as it fits: 49 bytes beyond
/// [`least_bytes`](Self::least_bytes) hold any name.
#[derive(Clone, Copy, Debug)]
pub struct Discover<'t> {
    /// The run it belongs to.
    pub run: RunId,
    /// The number of this request.
    pub sequence: Sequence,
    /// When it is sent, by the sender's clock.
    pub stamp: Stamp,
    /// The token of its tag: 16 bytes.
    pub token: Option<&'t Token>,
}

impl Discover<'_> {
    /// A payload that leaves room for the longest name.
    pub const ROOMY_BYTES: usize = 96;

    /// The smallest payload that carries such a request.
    #[must_use]
    pub fn least_bytes(&self) -> usize {
        self.as_probe().least_bytes()
    }

    /// Writes a request that fills the buffer, and returns how many bytes that is.
    ///
    /// # Errors
    /// [`EncodeError`] as of [`Probe::write`].
    pub fn write(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.as_probe().write_as(Kind::Discover, buffer)
    }

    /// The probe that has the same bytes, except for the kind.
    fn as_probe(&self) -> Probe<'_> {
        Probe {
            run: self.run,
            sequence: self.sequence,
            stamp: self.stamp,
            stamps: false,
            token: self.token,
        }
    }
}

/// Writes a new sequence and stamp into a datagram that was written before, and a new tag if it has one.
///
/// # Errors
/// [`EncodeError::TooSmall`] if the buffer holds no header. A tagged datagram without its token keeps its old tag,
/// which is wrong then, so that it gets no answer.
///
/// # Real-time safety
/// Real-time safe: writes 12 bytes, and 16 after a hash over the datagram if it has a tag.
pub fn patch(
    datagram: &mut [u8],
    sequence: Sequence,
    stamp: Stamp,
    token: Option<&Token>,
) -> Result<(), EncodeError> {
    EncodeError::check(datagram.len(), HEADER_BYTES)?;
    write_turn(datagram, sequence, stamp);
    write_tag(token, datagram);
    Ok(())
}

// The header of every datagram.

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
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let given = bytes.len();
        let short = |least| Malformed::Short { given, least };
        let [first, second, ..] = bytes
            .first_chunk::<HEADER_BYTES>()
            .ok_or(short(HEADER_BYTES))?;
        let kind = Kind::of(*first).ok_or(Malformed::Kind(*first))?;
        let flags = Flags::of(*second).ok_or(Malformed::Flags(*second))?;
        let least = flags.least_bytes();
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
fn write_turn(bytes: &mut [u8], sequence: Sequence, stamp: Stamp) {
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
fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    array_at(bytes, offset).map_or(0, u32::from_be_bytes)
}

/// The number at `offset`; 0 beyond the end.
fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    array_at(bytes, offset).map_or(0, u64::from_be_bytes)
}

fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}
