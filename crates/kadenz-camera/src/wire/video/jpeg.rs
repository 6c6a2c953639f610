//! JPEG over RTP (RFC 2435).

use super::super::rtp::Sequenced;
use super::Pictures;

/// Puts pictures together.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    pub(super) pictures: Pictures,
}

impl Assembler {
    /// Takes a packet.
    pub(super) fn push(&mut self, _sequenced: &Sequenced<'_>) {}
}
