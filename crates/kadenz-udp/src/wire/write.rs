//! Datagrams that a controller writes.

use super::filler;
use super::packet::{self, Header};
use super::{DeviceStamps, EncodeError, Flags, HEADER_BYTES, Kind, RunId, Sequence, Stamp, Token};

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
        Header::least_bytes(self.flags())
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
        let header = Header {
            kind: Kind::Probe,
            flags: self.flags(),
            run: self.run,
            sequence: self.sequence,
            stamp: self.stamp,
        };
        write_filled(header, buffer, self.token)
    }

    fn flags(&self) -> Flags {
        Flags {
            token: self.token.is_some(),
            stamps: self.stamps,
        }
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
        Header::least_bytes(self.flags())
    }

    /// Writes a request that fills the buffer, and returns how many bytes that is.
    ///
    /// # Errors
    /// [`EncodeError`] as of [`Probe::write`].
    pub fn write(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        let header = Header {
            kind: Kind::Discover,
            flags: self.flags(),
            run: self.run,
            sequence: self.sequence,
            stamp: self.stamp,
        };
        write_filled(header, buffer, self.token)
    }

    fn flags(&self) -> Flags {
        Flags {
            token: self.token.is_some(),
            stamps: false,
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
    packet::write_turn(datagram, sequence, stamp);
    if let Some(token) = token {
        token.write_tag(datagram);
    }
    Ok(())
}

fn write_filled(
    header: Header,
    buffer: &mut [u8],
    token: Option<&Token>,
) -> Result<usize, EncodeError> {
    EncodeError::check(buffer.len(), Header::least_bytes(header.flags))?;
    for (at, byte) in buffer.iter_mut().enumerate() {
        *byte = filler(at);
    }
    header.write(buffer);
    if header.flags.stamps {
        packet::write_stamps(buffer, DeviceStamps::ABSENT);
    }
    if let Some(token) = token {
        token.write_tag(buffer);
    }
    Ok(buffer.len())
}
