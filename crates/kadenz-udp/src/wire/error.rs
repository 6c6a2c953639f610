//! Why bytes are no datagram of this protocol, and why a datagram cannot be written.

use core::fmt;

use super::{HEADER_BYTES, MAX_PAYLOAD_BYTES};

/// Why bytes are not a datagram of this protocol. None of this shows the sender's intent: other programs may use
/// the same port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Too short for the header and what its flags announce.
    Short {
        /// Number of received bytes.
        given: usize,
        /// The least number of bytes that is needed.
        least: usize,
    },
    /// The first byte is no kind of version 1.
    Kind(u8),
    /// Flags that version 1 does not define.
    Flags(u8),
    /// The name of a device is longer than its room, or holds more than printable ASCII.
    Name,
    /// The content of a batch is not what its head announces.
    Batch,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { given, least } => write!(
                f,
                "the datagram has {given} bytes and announces {least}: it was cut off, or is of another program"
            ),
            Self::Kind(byte) => write!(
                f,
                "a datagram that begins with {byte:#04x} is of another program, or of a version that is not known here"
            ),
            Self::Flags(byte) => write!(
                f,
                "the flags {byte:#04x} are not known here: sender and receiver need the same version"
            ),
            Self::Name => f.write_str(
                "the device's name does not fit or is not printable ASCII: correct it in its firmware",
            ),
            Self::Batch => f.write_str(
                "the batch does not hold what it announces: sender and logger need the same version",
            ),
        }
    }
}

impl core::error::Error for Malformed {}

/// Why a datagram was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is no datagram of this protocol.
    Malformed(Malformed),
    /// Its tag was not made with the token, it has no tag where one is required, or it has a tag where there is no
    /// token to check it with.
    WrongToken,
}

impl From<Malformed> for Refused {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::WrongToken => f.write_str(
                "the datagram was not made with this token: give controller and device the same one",
            ),
        }
    }
}

impl core::error::Error for Refused {}

/// Why a datagram cannot be written into a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// The buffer is too small for the required parts of the datagram.
    TooSmall {
        /// Bytes of the buffer.
        given: usize,
        /// The least number of bytes that is needed.
        least: usize,
    },
    /// No UDP datagram over IPv4 is that large (RFC 768, RFC 791: 65,535 less 20 less 8).
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

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { given, least } => write!(
                f,
                "a payload of {given} bytes is too small: the header takes {HEADER_BYTES}, device stamps and token 16 each; use {least} or more"
            ),
            Self::TooLarge { given } => write!(
                f,
                "a payload of {given} bytes is too large for UDP: use {MAX_PAYLOAD_BYTES} or less"
            ),
        }
    }
}

impl core::error::Error for EncodeError {}
