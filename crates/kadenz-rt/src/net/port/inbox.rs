use std::net::{Ipv4Addr, SocketAddr};

use super::Stamps;
#[cfg(target_os = "linux")]
use crate::os::linux::udp::messages::Messages;

/// Slots for received datagrams, made before the loop and filled again and again.
///
/// # Real-time safety
/// Real-time safe, except for [`Inbox::new`], which allocates.
#[derive(Debug)]
pub struct Inbox {
    pub(super) slot_bytes: usize,
    pub(super) payload: Box<[u8]>,
    pub(super) about: Box<[DatagramFacts]>,
    pub(super) filled: usize,
    /// The structures for receiving many datagrams with one call.
    #[cfg(target_os = "linux")]
    pub(super) system: Messages,
    /// Room for any datagram: not every system reports the length of a datagram that did not fit.
    #[cfg(not(target_os = "linux"))]
    pub(super) system: Box<[u8]>,
}

/// The known facts of the datagram in a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct DatagramFacts {
    pub(super) whole_length: usize,
    pub(super) from: SocketAddr,
    pub(super) stamps: Stamps,
    pub(super) dropped_before: Option<u64>,
}

impl Default for DatagramFacts {
    fn default() -> Self {
        Self {
            whole_length: 0,
            from: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            stamps: Stamps::default(),
            dropped_before: None,
        }
    }
}

/// A received datagram, valid until the inbox is used again.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// The bytes, as far as the slot holds them. The caller may change them, so that it can make a reply in place.
    pub bytes: &'a mut [u8],
    /// The whole length; more than `bytes` when the datagram was truncated.
    pub whole_length: usize,
    /// The address of the sender.
    pub from: SocketAddr,
    /// The times at which it came, as far as stamps were granted.
    pub stamps: Stamps,
    /// Datagrams that the kernel had dropped at this port when this one was queued, since the port was opened;
    /// `None` where the system does not count.
    pub dropped_before: Option<u64>,
}

impl Datagram<'_> {
    /// Whether the slot was too short for the datagram.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.whole_length > self.bytes.len()
    }
}

impl Inbox {
    /// An empty inbox with that many slots of that many bytes each; at least one of each, at most
    /// 1024 slots (`UIO_MAXIOV`, what one call may take) of 65,535 bytes. Everything is allocated
    /// here and touched, so that no page fault is left for the loop.
    #[must_use]
    pub fn new(slots: usize, slot_bytes: usize) -> Self {
        let slots = slots.clamp(1, MAX_SLOTS);
        let slot_bytes = slot_bytes.clamp(1, MAX_DATAGRAM);
        Self {
            slot_bytes,
            payload: touched(slots * slot_bytes),
            about: vec![DatagramFacts::default(); slots].into(),
            filled: 0,
            #[cfg(target_os = "linux")]
            system: Messages::for_receiving(slots),
            #[cfg(not(target_os = "linux"))]
            system: touched(MAX_DATAGRAM),
        }
    }

    /// How many datagrams one call can take.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.about.len()
    }

    /// How many datagrams the last call took.
    #[must_use]
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Whether the last call took no datagram.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Removes all datagrams.
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// The datagram that came as number `at`, from 0; `None` when fewer came.
    #[must_use]
    pub fn datagram(&mut self, at: usize) -> Option<Datagram<'_>> {
        self.datagrams().nth(at)
    }

    /// The datagrams of the last call, in the order in which they came.
    pub fn datagrams(&mut self) -> impl ExactSizeIterator<Item = Datagram<'_>> {
        let slots = self.payload.chunks_exact_mut(self.slot_bytes);
        slots
            .zip(&self.about)
            .take(self.filled)
            .map(|(slot, about)| {
                let length = about.whole_length.min(slot.len());
                Datagram {
                    bytes: &mut slot[..length],
                    whole_length: about.whole_length,
                    from: about.from,
                    stamps: about.stamps,
                    dropped_before: about.dropped_before,
                }
            })
    }
}

/// `UIO_MAXIOV` of Linux's `uio.h`: the most messages that `recvmmsg` and `sendmmsg` take.
pub(super) const MAX_SLOTS: usize = 1024;
/// The largest value of the length field of a UDP header (RFC 768).
pub(super) const MAX_DATAGRAM: usize = 65_535;

/// Zeroed memory whose pages are mapped: an allocator may return untouched pages for zeroes.
pub(super) fn touched(bytes: usize) -> Box<[u8]> {
    let mut memory = vec![1_u8; bytes];
    memory.fill(0);
    memory.into()
}
