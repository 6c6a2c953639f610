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
mod header;
mod ids;
mod kind;
mod name;
mod packet;
mod token;
mod write;

pub use error::{Malformed, Refused, Unfit};
pub(crate) use header::{Header, put, read_stamps, write_stamps};
pub use ids::{DeviceStamps, RunId, Sequence, Stamp};
pub(crate) use kind::Flags;
pub use kind::Kind;
pub use name::Name;
pub use packet::Packet;
pub use token::{BadToken, Token};
pub use write::{Discover, Probe, patch};

/// Bytes of the header, and of the smallest datagram.
pub const HEADER_BYTES: usize = 18;
/// Bytes that the device's stamps take.
pub const STAMPS_BYTES: usize = 16;
/// Bytes that the tag of a token takes.
pub const TAG_BYTES: usize = 16;
/// The largest payload of UDP over IPv4: 65,535 bytes less 20 of IPv4 (RFC 791) and 8 of UDP (RFC 768).
pub const MAX_PAYLOAD_BYTES: usize = 65_507;

/// What fills the byte at `offset` of a probe: no two neighbours are alike, and neither are two at
/// the same place of neighbouring 256 bytes.
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
