//! The token that controller and devices share, so that unknown peers get no answer.

use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{TAG_BYTES, put};

/// A secret that controller, devices and logging server share.
///
/// A datagram made with it ends in a tag: the first 16 bytes of HMAC-SHA256 (RFC 2104, RFC 4231) over everything
/// before them. The tag proves that its sender knows the token. It encrypts nothing, and an attacker can send an
/// overheard datagram again: the rate limit of [`Echo`](crate::device::Echo) bounds what that yields.
///
/// ```
/// use kadenz_udp::wire::Token;
///
/// let token = Token::new(b"arm of robot 3")?;
/// assert!(Token::new(b"short").is_err());
/// assert_eq!(format!("{token:?}"), "Token");
/// # Ok::<(), kadenz_udp::wire::BadToken>(())
/// ```
#[derive(Clone)]
pub struct Token {
    /// The state of the hash after the key, so that a packet costs only its own bytes.
    keyed: Hmac<Sha256>,
}

impl Token {
    /// The shortest valid token: a shorter one could be guessed.
    pub const MIN_BYTES: usize = 8;
    /// The longest valid token: the block of SHA-256, which HMAC uses as it is.
    pub const MAX_BYTES: usize = 64;

    /// Makes a token of these bytes.
    ///
    /// # Errors
    /// [`BadToken`] if there are fewer than 8 or more than 64.
    pub fn new(bytes: &[u8]) -> Result<Self, BadToken> {
        let refused = BadToken { given: bytes.len() };
        if !(Self::MIN_BYTES..=Self::MAX_BYTES).contains(&bytes.len()) {
            return Err(refused);
        }
        let keyed = Hmac::new_from_slice(bytes).map_err(|_| refused)?;
        Ok(Self { keyed })
    }

    /// Makes a key that is not a user's token.
    pub(crate) fn keyed(key: &[u8; 32]) -> Self {
        let mut block = [0; 64];
        put(&mut block, 0, key);
        Self {
            keyed: Hmac::new(&block.into()),
        }
    }

    /// Writes the tag of all but the last 16 bytes into the last 16; a shorter buffer stays as it is.
    pub(crate) fn write_tag(&self, datagram: &mut [u8]) {
        let Some((content, tag)) = datagram.split_last_chunk_mut::<TAG_BYTES>() else {
            return;
        };
        let full = self.keyed.clone().chain_update(&*content).finalize();
        for (to, from) in tag.iter_mut().zip(full.into_bytes()) {
            *to = from;
        }
    }

    /// Whether the last 16 bytes are the tag of those before; a wrong tag takes the same time.
    pub(crate) fn sealed(&self, datagram: &[u8]) -> bool {
        datagram
            .split_last_chunk::<TAG_BYTES>()
            .is_some_and(|(content, tag)| {
                let hash = self.keyed.clone().chain_update(content);
                hash.verify_truncated_left(tag).is_ok()
            })
    }
}

/// Writes the tag of a datagram whose sender has a token.
pub(crate) fn write_tag(token: Option<&Token>, datagram: &mut [u8]) {
    if let Some(token) = token {
        token.write_tag(datagram);
    }
}

impl fmt::Debug for Token {
    /// Prints only the type: what is printed ends in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// A token of an invalid length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the token has {given} bytes: use {} to {}, the same on controller and devices",
    Token::MIN_BYTES,
    Token::MAX_BYTES
)]
pub struct BadToken {
    /// Its length in bytes.
    pub given: usize,
}
