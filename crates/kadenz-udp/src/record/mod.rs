//! Measurements on their way to a logging server.
//!
//! The measuring program must not wait for a disk, so it sends its measurements to a server, which may.
//! Measurements travel in batches ([`Batcher`], [`Batch`]); the server detects lost batches by their numbers
//! ([`BatchTracker`]). Before the server takes batches, the controller introduces itself ([`Handshake`],
//! [`Cookies`]).
//!
//! The body of a [`Kind::Batch`](crate::wire::Kind), numbers big-endian:
//!
//! | bytes | |
//! |---|---|
//! | 2 | how many measurements follow |
//! | 2 | 1 if this is the run's last batch, else 0 |
//! | each: 1 | bit 0 the address is IPv6, bit 1 answered, bit 2 device stamps; the others are 0 |
//! | 4 or 16 | address |
//! | 2 | port |
//! | 4 | scope, with IPv6 only |
//! | 4 | [`Sequence`] of the probe |
//! | 8 | intended, ns |
//! | 8 | sent, ns |
//! | 8 | received, ns, if answered |
//! | 16 | device stamps, if there are any |

mod batch;
mod handshake;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::controller::DeviceKey;
use crate::wire::{DeviceStamps, Sequence};

pub use batch::{Batch, BatchTracker, Batcher, DEFAULT_BATCH_BYTES, Full, Measurements, Position};
pub use handshake::{Cookies, Handshake, HandshakeEvent, ServerReply, server_reply};

const IPV6: u8 = 1;
const ANSWERED: u8 = 1 << 1;
const STAMPED: u8 = 1 << 2;

/// The result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its answer came.
    Answered {
        /// When the answer came, by the sender's clock.
        received_ns: u64,
        /// The stamps of the device's own clock.
        device: Option<DeviceStamps>,
    },
    /// No answer came.
    Lost,
}

/// One probe and its result. All times except the device's are of the sender's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// The device that the probe went to.
    pub device: DeviceKey,
    /// The number of the probe.
    pub sequence: Sequence,
    /// The beat at which it should have been sent.
    pub intended_ns: u64,
    /// When it was sent.
    pub sent_ns: u64,
    /// Whether the answer came, with its times.
    pub outcome: Outcome,
}

impl Measurement {
    /// The most bytes of one measurement on the wire.
    pub const MAX_BYTES: usize = 1 + 16 + 2 + 4 + 4 + 8 + 8 + 8 + 16;

    /// Appends the measurement; if there is no room, returns `None` after it has appended an unknown part.
    fn write(&self, to: &mut ByteWriter<'_>) -> Option<()> {
        let (answered, device) = match self.outcome {
            Outcome::Answered {
                received_ns,
                device,
            } => (Some(received_ns), device),
            Outcome::Lost => (None, None),
        };
        let address = self.device.address();
        let flag = |set, bit| if set { bit } else { 0 };
        to.put(&[flag(address.is_ipv6(), IPV6)
            | flag(answered.is_some(), ANSWERED)
            | flag(device.is_some(), STAMPED)])?;
        match address {
            IpAddr::V4(address) => to.put(&address.octets())?,
            IpAddr::V6(address) => to.put(&address.octets())?,
        }
        to.put(&self.device.port().to_be_bytes())?;
        if address.is_ipv6() {
            to.put(&self.device.scope().to_be_bytes())?;
        }
        to.put(&self.sequence.0.to_be_bytes())?;
        to.put(&self.intended_ns.to_be_bytes())?;
        to.put(&self.sent_ns.to_be_bytes())?;
        if let Some(received_ns) = answered {
            to.put(&received_ns.to_be_bytes())?;
        }
        if let Some(device) = device {
            to.put(&device.received_ns.to_be_bytes())?;
            to.put(&device.transmitted_ns.to_be_bytes())?;
        }
        Some(())
    }

    /// Takes a measurement from the front; returns `None` if the bytes are not one.
    fn read(from: &mut ByteReader<'_>) -> Option<Self> {
        let [flags] = from.take()?;
        let stamped_only = flags & STAMPED != 0 && flags & ANSWERED == 0;
        if flags & !(IPV6 | ANSWERED | STAMPED) != 0 || stamped_only {
            return None;
        }
        let device = read_device(from, flags & IPV6 != 0)?;
        Some(Self {
            device,
            sequence: Sequence(u32::from_be_bytes(from.take()?)),
            intended_ns: from.take_u64()?,
            sent_ns: from.take_u64()?,
            outcome: if flags & ANSWERED == 0 {
                Outcome::Lost
            } else {
                Outcome::Answered {
                    received_ns: from.take_u64()?,
                    device: read_stamps(from, flags & STAMPED != 0)?,
                }
            },
        })
    }
}

fn read_device(from: &mut ByteReader<'_>, ipv6: bool) -> Option<DeviceKey> {
    if !ipv6 {
        let address = Ipv4Addr::from(from.take::<4>()?);
        return Some(DeviceKey::new(address.into(), from.take_u16()?));
    }
    let address = Ipv6Addr::from(from.take::<16>()?);
    // Each device has one form: an IPv4 address inside IPv6 is written as IPv4.
    if address.to_ipv4_mapped().is_some() {
        return None;
    }
    let port = from.take_u16()?;
    let scope = u32::from_be_bytes(from.take()?);
    Some(DeviceKey::new(address.into(), port).with_scope(scope))
}

/// The outer `None` means that the bytes are cut, the inner one a device without stamps.
fn read_stamps(from: &mut ByteReader<'_>, stamped: bool) -> Option<Option<DeviceStamps>> {
    if !stamped {
        return Some(None);
    }
    Some(Some(DeviceStamps {
        received_ns: from.take_u64()?,
        transmitted_ns: from.take_u64()?,
    }))
}

/// A writer that appends to a slice.
struct ByteWriter<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl ByteWriter<'_> {
    /// Appends `value`; `None` if there is no room.
    fn put(&mut self, value: &[u8]) -> Option<()> {
        let end = self.at.checked_add(value.len())?;
        self.bytes.get_mut(self.at..end)?.copy_from_slice(value);
        self.at = end;
        Some(())
    }
}

/// A reader that takes bytes from the front of a slice.
#[derive(Clone, Debug)]
struct ByteReader<'a>(&'a [u8]);

impl ByteReader<'_> {
    /// Takes the next bytes; `None` at the end.
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn take_u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn take_u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }
}
