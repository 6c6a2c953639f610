//! Why bytes are not a datagram of this protocol, and why a datagram cannot be written.

use super::{HEADER_BYTES, MAX_PAYLOAD_BYTES};

/// Why bytes are not a datagram of this protocol. None of this shows the sender's intent: other programs may use
/// the same port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Too short for the header and what its flags announce.
    #[error(
        "the datagram has {given} bytes and announces {least}: it was cut off, or is of another program"
    )]
    Short {
        /// Number of received bytes.
        given: usize,
        /// The least number of bytes that is needed.
        least: usize,
    },
    /// The first byte is not a kind of version 1.
    #[error(
        "a datagram that begins with {0:#04x} is of another program, or of a version that is not known here"
    )]
    Kind(u8),
    /// Flags that version 1 does not define.
    #[error("the flags {0:#04x} are not known here: sender and receiver need the same version")]
    Flags(u8),
    /// The name of a device is longer than its room, or holds more than printable ASCII.
    #[error("the device's name does not fit or is not printable ASCII: correct it in its firmware")]
    Name,
    /// The content of a batch is not what its head announces.
    #[error("the batch does not hold what it announces: sender and logger need the same version")]
    Batch,
}

/// Why a datagram was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is not a datagram of this protocol.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Its tag was not made with the token, it has no tag where one is required, or it has a tag where there is no
    /// token to check it with.
    #[error("the datagram was not made with this token: give controller and device the same one")]
    WrongToken,
}

/// Why a datagram cannot be written into a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The buffer is too small for the required parts of the datagram.
    #[error(
        "a payload of {given} bytes is too small: the header takes {HEADER_BYTES}, device stamps and token 16 each; use {least} or more"
    )]
    TooSmall {
        /// Bytes of the buffer.
        given: usize,
        /// The least number of bytes that is needed.
        least: usize,
    },
    /// No UDP datagram over IPv4 is that large (RFC 768, RFC 791: 65,535 less 20 less 8).
    #[error("a payload of {given} bytes is too large for UDP: use {MAX_PAYLOAD_BYTES} or less")]
    TooLarge {
        /// Bytes of the buffer.
        given: usize,
    },
}

impl EncodeError {
    /// Whether a datagram of `given` bytes can carry `least` of them.
    pub(crate) fn check(given: usize, least: usize) -> Result<(), Self> {
        if given < least {
            Err(Self::TooSmall { given, least })
        } else if given > MAX_PAYLOAD_BYTES {
            Err(Self::TooLarge { given })
        } else {
            Ok(())
        }
    }
}
