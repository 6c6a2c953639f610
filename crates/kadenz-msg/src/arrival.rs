//! A message as it arrives: its bytes, its sender, and the times at which it passed the kernel and this
//! program.

use kadenz_rt::clock::{self, MonotonicTime, WallTime};

/// A message as it arrives, before it is copied.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// The channel it was published to.
    pub channel: &'a str,
    /// The encoded message.
    pub payload: Payload<'a>,
    /// Its sender, number and times.
    pub info: MessageInfo,
}

/// Facts about a message that its provider states beside channel and content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MessageInfo {
    /// The sender and the number that it gave the message.
    pub source: SourceInfo,
    /// The times at which it passed the kernel and this program.
    pub stamps: Stamps,
}

impl MessageInfo {
    /// Of a message that this program has whole since now, without a stamp of the kernel.
    ///
    /// # Real-time safety
    /// Reads a clock; it neither allocates nor locks.
    #[must_use]
    pub fn now(source: SourceInfo) -> Self {
        Self {
            source,
            stamps: Stamps::now(),
        }
    }
}

/// The place of a message's bytes.
#[derive(Debug)]
pub enum Payload<'a> {
    /// In memory that the provider reuses.
    Borrowed(&'a [u8]),
    /// In a vector that may be swapped for another one instead of being copied.
    Owned(&'a mut Vec<u8>),
}

impl Payload<'_> {
    /// The bytes of the encoded message, wherever they lie.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }

    /// Puts the bytes into a vector, by a swap if that is possible and saves time.
    ///
    /// # Real-time safety
    /// It allocates only if the vector is too short for a copy.
    pub fn put_into(self, vector: &mut Vec<u8>) {
        match self {
            Self::Owned(bytes) => std::mem::swap(bytes, vector),
            Self::Borrowed(bytes) => {
                vector.clear();
                vector.extend_from_slice(bytes);
            }
        }
    }
}

/// The sender of a message, and the number that the sender gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceInfo {
    /// The sender, as far as the provider distinguishes senders.
    pub sender: SenderId,
    /// The message's number, where the provider counts.
    pub sequence: Option<Sequence>,
}

impl SourceInfo {
    /// Of a message of this sender; without a number if the provider does not count.
    #[must_use]
    pub const fn new(sender: SenderId, sequence: Option<Sequence>) -> Self {
        Self { sender, sequence }
    }
}

/// Identifies a sender; the same for as long as the sender lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SenderId(pub u128);

/// Returns a number that no other sender has, up to chance: the standard library's hasher is keyed by the
/// system's randomness.
pub(crate) fn random_number() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    let now = kadenz_rt::clock::now().as_ns();
    RandomState::new().hash_one((now, std::process::id()))
}

/// A sender's number of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence {
    /// The number; it increases by one with each message and wraps.
    pub number: u32,
    /// The messages that the number counts.
    pub scope: Scope,
}

/// The messages that one counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All that the sender publishes, to whatever channel.
    Sender,
    /// All that the sender publishes to this channel.
    Channel,
}

/// The times at which a message passed the publisher, the kernel and the inlet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamps {
    /// When it was published, if the provider carries that (a log does).
    pub published: Option<WallTime>,
    /// When the kernel had received the first byte of it.
    pub kernel: Option<MonotonicTime>,
    /// When the inlet held it whole.
    pub taken: MonotonicTime,
}

impl Stamps {
    /// Times of a message that is taken now and has no earlier time.
    pub(crate) fn now() -> Self {
        Self {
            taken: clock::now(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_differ() {
        let mut numbers: Vec<u64> = (0..1000).map(|_| random_number()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 1000);
    }
}
