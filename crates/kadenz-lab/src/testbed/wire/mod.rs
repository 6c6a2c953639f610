//! Wire arithmetic: how long a datagram is on Ethernet, and what of a round trip is not wire.
//!
//! Two times of one frame must be kept apart, and are different types here:
//!
//! * [`Occupancy`]: how long a link carries nothing else: preamble, frame, check sequence and the gap
//!   after it. It says how many frames fit into a second.
//! * [`StoreAndForward`]: how long a switch (or the receiver) waits until it has the frame: preamble
//!   to check sequence. It says by how much a hop delays a frame.
//!
//! 200 bytes of payload are 266 bytes of the first and 254 of the second: 21.28 and 20.32 us at
//! 100 Mbit/s.
//!
//! Sources: IEEE 802.3-2018 clauses 3.1.1, 3.2.8 and 4.4.2 (fields, shortest frame, gap), IEEE
//! 802.1Q-2018 clause 9 (tag), RFC 894 and RFC 791 section 3.1 (IPv4 and its fragments), RFC 768
//! (UDP).

mod chain;
mod frame;

pub use chain::{Burst, Chain, NoLinkError, Reply};
pub use frame::{
    EthernetFrame, GAP, IPV4_HEADER, Occupancy, PREAMBLE, Payload, PayloadTooLargeError,
    StoreAndForward, Tag, UDP_HEADER,
};
