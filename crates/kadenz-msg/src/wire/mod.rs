//! LCM's datagrams, and the frames of its TCP server, sans-IO: bytes and a time in, bytes and a time
//! out. All numbers are big-endian.
//!
//! | short message | | long message, a fragment | |
//! |---|---|---|---|
//! | `LC02` | u32 | `LC03` | u32 |
//! | sequence number | u32 | sequence number | u32 |
//! | channel and NUL | | bytes of the whole message | u32 |
//! | payload | | offset of this fragment in it | u32 |
//! | | | number of the fragment, number of fragments | u16, u16 |
//! | | | channel and NUL, in fragment 0 alone | |
//! | | | payload | |
//!
//! A message is short if channel, NUL and payload have at most [`MAX_SHORT_MESSAGE`] bytes. One counter of a
//! sender numbers all its messages, whatever their channel; the fragments of a message share its number.
//!
//! - [`Packet`] reads a datagram of any sender; [`Reassembly`] makes messages of fragments.
//! - [`short_header`] and [`Fragments`] write what C's LCM writes, to the byte.
//! - [`tcpq`] are the frames between LCM's TCP server and its clients.

mod fragments;
mod reassembly;
mod slot;
pub mod tcpq;

pub use fragments::{
    Fragment, Fragments, Header, Malformed, Packet, TooLong, fits_short, short_header,
};
pub use reassembly::{Added, Complete, Reassembly, ReassemblyCounters, ReassemblyLimits};

/// `LC02`: a short message.
pub const SHORT: u32 = 0x4c43_3032;
/// `LC03`: a fragment of a long one.
pub const LONG: u32 = 0x4c43_3033;
/// The most bytes of channel, NUL and payload that go into one datagram (`LCM_SHORT_MESSAGE_MAX_SIZE`).
pub const MAX_SHORT_MESSAGE: usize = 65_499;
/// The most bytes of channel, NUL and payload in a fragment (`LCM_FRAGMENT_MAX_PAYLOAD`).
pub const FRAGMENT_BYTES: usize = 65_487;
/// The longest message that LCM's receivers take, in bytes (`MAX_MESSAGE_SIZE` in C).
pub const MAX_MESSAGE: usize = 1 << 28;
/// The channel on which LCM's programs send to themselves when they start to receive; of no use to other
/// programs.
pub(crate) const SELF_TEST: &str = "LCM_SELF_TEST";
/// The number of bytes before the channel of a short message.
const SHORT_HEADER: usize = 8;
/// The number of bytes before the channel, or the payload, of a fragment.
const FRAGMENT_HEADER: usize = 20;

#[cfg(test)]
mod tests;
