use std::net::{Ipv4Addr, SocketAddr};

use super::inbox::{MAX_DATAGRAM, MAX_SLOTS, touched};
use super::{SendError, TransmitKey};
#[cfg(target_os = "linux")]
use crate::os::linux::udp::messages::Messages;

/// Slots for datagrams that are to leave together, made before the loop. It stays filled after it was sent, so that
/// a beat need only patch the bytes that changed.
///
/// ```
/// use kadenz_rt::net::port::{SendCounts, Outbox, PortOptions, UdpPort};
///
/// let mut port = UdpPort::open(&PortOptions::default())?;
/// let mut outbox = Outbox::new(40, 200);
/// outbox.push(b"first", port.local_address())?;
/// outbox.push(b"again", port.local_address())?;
/// assert_eq!(port.send_batch(&mut outbox), SendCounts { sent: 2, refused: 0 });
///
/// outbox.bytes_mut(0).unwrap()[4] = b'!';
/// port.send_batch(&mut outbox);
/// assert_eq!(outbox.outcome(1).unwrap().unwrap().ordinal(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// Real-time safe, except for [`Outbox::new`], which allocates.
#[derive(Debug)]
pub struct Outbox {
    pub(super) slot_bytes: usize,
    pub(super) payload: Box<[u8]>,
    pub(super) parcels: Box<[OutgoingDatagram]>,
    pub(super) filled: usize,
    /// The structures for sending many datagrams with one call, which only Linux has.
    #[cfg(target_os = "linux")]
    pub(super) system: Messages,
}

/// A datagram that is to leave.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutgoingDatagram {
    pub(super) length: usize,
    pub(super) to: SocketAddr,
    pub(super) outcome: Option<Result<TransmitKey, SendError>>,
}

/// Why a datagram was not put into an outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum OutboxFull {
    /// Every slot is taken.
    #[error("all slots of the outbox are taken; send and clear it, or make it with more")]
    Slots,
    /// The datagram is longer than a slot.
    #[error("the datagram is longer than a slot of the outbox; make it with longer ones")]
    Bytes,
}

/// How many datagrams of an outbox left, and how many did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SendCounts {
    /// The kernel accepted them.
    pub sent: usize,
    /// [`Outbox::outcome`] says why.
    pub refused: usize,
}

impl Outbox {
    /// An empty outbox with that many slots of that many bytes each; at least one of each, at most
    /// 1024 slots of 65,535 bytes. Everything is allocated here.
    #[must_use]
    pub fn new(slots: usize, slot_bytes: usize) -> Self {
        let slots = slots.clamp(1, MAX_SLOTS);
        let slot_bytes = slot_bytes.clamp(1, MAX_DATAGRAM);
        let empty = OutgoingDatagram {
            length: 0,
            to: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            outcome: None,
        };
        Self {
            slot_bytes,
            payload: touched(slots * slot_bytes),
            parcels: vec![empty; slots].into(),
            filled: 0,
            #[cfg(target_os = "linux")]
            system: Messages::for_sending(slots),
        }
    }

    /// How many datagrams it can hold.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.parcels.len()
    }

    /// How many datagrams it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Whether it holds no datagram.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Removes all datagrams.
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Adds a datagram.
    ///
    /// # Errors
    /// When there is no slot left, or the datagram is longer than a slot.
    pub fn push(&mut self, bytes: &[u8], to: SocketAddr) -> Result<(), OutboxFull> {
        let parcel = self.parcels.get_mut(self.filled).ok_or(OutboxFull::Slots)?;
        if bytes.len() > self.slot_bytes {
            return Err(OutboxFull::Bytes);
        }
        let from = self.filled * self.slot_bytes;
        self.payload[from..from + bytes.len()].copy_from_slice(bytes);
        *parcel = OutgoingDatagram {
            length: bytes.len(),
            to,
            outcome: None,
        };
        self.filled += 1;
        Ok(())
    }

    /// The bytes of datagram number `at`, from 0, to change in place.
    #[must_use]
    pub fn bytes_mut(&mut self, at: usize) -> Option<&mut [u8]> {
        let parcel = self.parcels[..self.filled].get(at)?;
        let from = at * self.slot_bytes;
        Some(&mut self.payload[from..from + parcel.length])
    }

    /// The destination of datagram number `at`.
    #[must_use]
    pub fn destination(&self, at: usize) -> Option<SocketAddr> {
        self.parcels[..self.filled].get(at).map(|parcel| parcel.to)
    }

    /// The result of sending datagram number `at`; `None` when it was not sent yet.
    #[must_use]
    pub fn outcome(&self, at: usize) -> Option<Result<TransmitKey, SendError>> {
        self.parcels[..self.filled].get(at)?.outcome
    }

    pub(super) fn departures(&self) -> SendCounts {
        let parcels = self.parcels[..self.filled].iter();
        parcels.fold(SendCounts::default(), |sum, parcel| match parcel.outcome {
            Some(Ok(_)) => SendCounts {
                sent: sum.sent + 1,
                ..sum
            },
            Some(Err(_)) => SendCounts {
                refused: sum.refused + 1,
                ..sum
            },
            None => sum,
        })
    }
}
