//! Wire arithmetic: how long a datagram occupies Ethernet, and which part of a round trip is not wire.
//!
//! Two times of a frame differ, and have different types here:
//!
//! * [`Occupancy`]: how long a frame occupies a link: preamble, frame, check sequence and the gap
//!   after it. It gives the number of frames per second.
//! * [`StoreAndForward`]: how long a switch (or the receiver) waits until it has the frame: preamble
//!   to check sequence. It gives the delay of a hop.
//!
//! 200 bytes of payload are 266 bytes of the first and 254 of the second: 21.28 and 20.32 us at
//! 100 Mbit/s.
//!
//! Sources: IEEE 802.3-2018 clauses 3.1.1, 3.2.8 and 4.4.2 (fields, shortest frame, gap), IEEE
//! 802.1Q-2018 clause 9 (tag), RFC 894 and RFC 791 section 3.1 (IPv4 and its fragments), RFC 768
//! (UDP).

mod chain;

use crate::testbed::quantity::{LinkSpeed, Picoseconds};

pub use chain::{Burst, Chain, NoLinkError, Reply};

/// Preamble (7) and start of frame (1), in bytes: IEEE 802.3-2018, clause 3.1.1.
pub(crate) const PREAMBLE: u32 = 8;
/// The shortest gap between two frames, 96 bits, in bytes: IEEE 802.3-2018, clause 4.4.2.
pub(crate) const GAP: u32 = 12;
/// UDP's header in bytes: RFC 768.
pub(crate) const UDP_HEADER: u32 = 8;
/// IPv4's header without options, in bytes: RFC 791, section 3.1.
pub(crate) const IPV4_HEADER: u32 = 20;

/// Size of destination, source and type, in bytes.
const ETHERNET_HEADER: u32 = 14;
/// The frame check sequence in bytes.
const CHECK_SEQUENCE: u32 = 4;
/// An 802.1Q tag in bytes.
const TAG: u32 = 4;
/// The shortest frame from destination to check sequence: IEEE 802.3-2018, clause 3.2.8.
const MIN: u32 = 64;
/// The largest packet in a frame: IEEE 802.3-2018, clause 3.2.7; RFC 894.
const MAX_PACKET: u32 = 1500;
/// Fragments except for the last carry a multiple of this: RFC 791, section 3.1.
const FRAGMENT_UNIT: u32 = 8;

/// Bytes of a UDP datagram's payload, 65,507 at most: the rest of IPv4's total length of 16 bits beside the two
/// headers.
///
/// ```
/// use kadenz_lab::testbed::wire::{Payload, Tag};
///
/// let payload = Payload::new(200)?;
/// let frame = payload.frames(Tag::None).next().expect("one fits into one frame");
/// assert_eq!(frame.bytes(), 246);
/// let speed = "100Mbit/s".parse()?;
/// assert_eq!(frame.occupancy(speed).time().to_string(), "21.28us");
/// assert_eq!(frame.store_and_forward(speed).time().to_string(), "20.32us");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Payload(u32);

/// Error of a payload that IPv4 cannot carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a UDP datagram carries at most 65507 bytes, not {0}; send several, or less in each")]
pub struct PayloadTooLargeError(pub u64);

/// Whether frames carry an 802.1Q tag: a virtual LAN, or a priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tag {
    /// Frames carry no tag.
    #[default]
    None,
    /// A tag: four bytes more.
    Vlan,
}

/// A frame's length in bytes, from its destination to its check sequence, padding included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EthernetFrame(u32);

/// How long this frame occupies a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occupancy(Picoseconds);

/// How long it takes until the node at the link's end has the whole frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoreAndForward(Picoseconds);

impl Payload {
    /// The largest payload.
    pub(crate) const MAX: Self = Self(65_507);

    /// A payload of this many bytes; zero is allowed.
    ///
    /// # Errors
    /// [`PayloadTooLargeError`] beyond 65,507.
    pub fn new(bytes: u64) -> Result<Self, PayloadTooLargeError> {
        let inside = u32::try_from(bytes).ok().filter(|it| *it <= Self::MAX.0);
        inside.map(Self).ok_or(PayloadTooLargeError(bytes))
    }

    /// The payload in bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self.0
    }

    /// The frames that carry it, in the order in which they are sent: one, or IPv4's fragments of it.
    pub fn frames(self, tag: Tag) -> impl Iterator<Item = EthernetFrame> + Clone {
        let most = (MAX_PACKET - IPV4_HEADER) / FRAGMENT_UNIT * FRAGMENT_UNIT;
        let datagram = UDP_HEADER + self.0;
        // A datagram that fits need not end at a multiple of eight.
        let most = if datagram <= MAX_PACKET - IPV4_HEADER {
            datagram
        } else {
            most
        };
        let count = datagram.div_ceil(most);
        (0..count).map(move |n| {
            let carried = most.min(datagram - n * most);
            EthernetFrame::of_packet(IPV4_HEADER + carried, tag)
        })
    }

    /// Bytes of headers and of check sequences that carry it, with padding and without gap and preamble.
    #[must_use]
    pub fn overhead(self, tag: Tag) -> u32 {
        self.frames(tag).map(EthernetFrame::bytes).sum::<u32>() - self.0
    }
}

impl EthernetFrame {
    /// The frame that carries a packet of this many bytes (IPv4 header included).
    #[must_use]
    pub const fn of_packet(bytes: u32, tag: Tag) -> Self {
        let tag = match tag {
            Tag::None => 0,
            Tag::Vlan => TAG,
        };
        let length = ETHERNET_HEADER + tag + bytes + CHECK_SEQUENCE;
        Self(if length < MIN { MIN } else { length })
    }

    /// The frame of these bytes as a program sees them: from the destination on, without check
    /// sequence, perhaps without padding.
    #[must_use]
    pub const fn of_bytes(bytes: u32) -> Self {
        let length = bytes.saturating_add(CHECK_SEQUENCE);
        Self(if length < MIN { MIN } else { length })
    }

    /// In bytes, from the destination to the check sequence.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self.0
    }

    /// Bytes that a link carries for it, preamble and gap included.
    #[must_use]
    pub const fn bytes_on_link(self) -> u32 {
        PREAMBLE + self.0 + GAP
    }

    /// How long the frame occupies a link of this speed.
    #[must_use]
    pub const fn occupancy(self, speed: LinkSpeed) -> Occupancy {
        Occupancy(speed.time_of(self.bytes_on_link() as u64))
    }

    /// How long a hop over a link of this speed takes.
    #[must_use]
    pub const fn store_and_forward(self, speed: LinkSpeed) -> StoreAndForward {
        StoreAndForward(speed.time_of((PREAMBLE + self.0) as u64))
    }
}

impl Occupancy {
    /// The same as a span of time.
    #[must_use]
    pub const fn time(self) -> Picoseconds {
        self.0
    }
}

impl StoreAndForward {
    /// The same as a span of time.
    #[must_use]
    pub const fn time(self) -> Picoseconds {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(bytes: u64, tag: Tag) -> Vec<u32> {
        let payload = Payload::new(bytes).unwrap();
        payload.frames(tag).map(EthernetFrame::bytes).collect()
    }

    fn speed(text: &str) -> LinkSpeed {
        text.parse().unwrap()
    }

    #[test]
    fn two_hundred_bytes_are_what_the_post_counts() {
        let frame = Payload::new(200).unwrap().frames(Tag::None).next().unwrap();
        assert_eq!(frame.bytes_on_link(), 266);
        let occupancy = |rate| frame.occupancy(speed(rate)).time().as_ps();
        assert_eq!(occupancy("100Mbit/s"), 21_280_000);
        assert_eq!(occupancy("1Gbit/s"), 2_128_000);
        // 266 bytes less the gap: Enner's 20.3 and 2.03 us.
        let hop = |rate| frame.store_and_forward(speed(rate)).time().as_ps();
        assert_eq!(hop("100Mbit/s"), 20_320_000);
        assert_eq!(hop("1Gbit/s"), 2_032_000);
    }

    #[test]
    fn short_payloads_are_padded_up_to_eighteen_bytes() {
        for bytes in 0..=18 {
            assert_eq!(frames(bytes, Tag::None), [64], "{bytes}");
        }
        assert_eq!(frames(19, Tag::None), [65]);
        assert_eq!(frames(14, Tag::Vlan), [64]);
        assert_eq!(frames(15, Tag::Vlan), [65]);
        assert_eq!(frames(200, Tag::Vlan), [250]);
    }

    #[test]
    fn what_does_not_fit_is_cut_at_multiples_of_eight() {
        assert_eq!(frames(1472, Tag::None), [1518]);
        // 1480 bytes of the datagram go first; one is left, padded.
        assert_eq!(frames(1473, Tag::None), [1518, 64]);
        assert_eq!(frames(2952, Tag::None), [1518, 1518]);
        assert_eq!(frames(2952 + 30, Tag::None), [1518, 1518, 14 + 20 + 30 + 4]);
        let largest = frames(65_507, Tag::None);
        assert_eq!(largest.len(), 45);
        assert_eq!(largest[44], 14 + 20 + (65_515 - 44 * 1480) + 4);
        assert_eq!(Payload::new(65_508), Err(PayloadTooLargeError(65_508)));
    }

    #[test]
    fn overhead_is_all_but_the_payload() {
        assert_eq!(Payload::new(200).unwrap().overhead(Tag::None), 46);
        assert_eq!(Payload::new(0).unwrap().overhead(Tag::None), 64);
    }
}
