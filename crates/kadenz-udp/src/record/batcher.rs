//! Measurements, packed into datagrams.

use core::fmt;

use super::Measurement;
use super::measurement::ByteWriter;
use crate::memory::Memory;
use crate::wire::{
    EncodeError, Flags, HEADER_BYTES, Header, Kind, RunId, Sequence, Stamp, TAG_BYTES, Token, put,
};

/// The default size of a batch: with IPv6 (40 bytes) and UDP (8) it fits a frame of Ethernet's 1500 with room for a
/// tunnel, so that no batch is fragmented.
pub const DEFAULT_BATCH_BYTES: usize = 1400;

/// Bytes of the body before the first measurement.
pub(crate) const HEAD_BYTES: usize = 4;

/// Whether more batches of the run follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// More batches of the run follow.
    Within,
    /// This is the last one of its run.
    Last,
}

/// The batch has no room for another measurement: finish it, send it, and push again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the batch is full: finish and send it, then push again")
    }
}

impl core::error::Error for Full {}

/// Packs measurements into datagrams for the logging server, one after the other in one buffer.
/// Batches are numbered from 0.
///
/// ```
/// use kadenz_udp::record::{Batch, Batcher, DEFAULT_BATCH_BYTES, Measurement, Outcome, Position};
/// use kadenz_udp::wire::{Packet, RunId, Sequence, Stamp};
///
/// let device: std::net::SocketAddr = "10.10.1.2:6176".parse()?;
/// let lost = Measurement {
///     device: device.into(),
///     sequence: Sequence(3),
///     intended_ns: 30_000_000,
///     sent_ns: 30_004_000,
///     outcome: Outcome::Lost,
/// };
/// let mut batcher = Batcher::over([0; DEFAULT_BATCH_BYTES], RunId(7), None)?;
/// batcher.push(&lost)?;
/// let packet = Packet::parse(batcher.finish(Stamp(40_000_000), Position::Last))?;
/// let batch = Batch::read(&packet)?;
/// assert_eq!(batch.measurements().collect::<Vec<_>>(), [lost]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// Real-time safe, but where the measurement must not be disturbed, another thread should send.
#[derive(Clone, Debug)]
pub struct Batcher<M> {
    buffer: M,
    run: RunId,
    token: Option<Token>,
    sequence: Sequence,
    /// The offset of the next measurement.
    end: usize,
    count: u16,
}

impl<M: Memory<u8>> Batcher<M> {
    /// Makes a batcher of datagrams of at most the buffer's length.
    ///
    /// # Errors
    /// [`EncodeError`] if the buffer cannot hold a measurement or is larger than a UDP datagram.
    pub fn over(buffer: M, run: RunId, token: Option<Token>) -> Result<Self, EncodeError> {
        let tag = usize::from(token.is_some()) * TAG_BYTES;
        let least = HEADER_BYTES + HEAD_BYTES + Measurement::MAX_BYTES + tag;
        EncodeError::check(buffer.as_ref().len(), least)?;
        Ok(Self {
            buffer,
            run,
            token,
            sequence: Sequence(0),
            end: HEADER_BYTES + HEAD_BYTES,
            count: 0,
        })
    }

    /// Adds a measurement to the batch.
    ///
    /// # Errors
    /// [`Full`] if the batch has no more room; the batch stays as it is.
    pub fn push(&mut self, measurement: &Measurement) -> Result<(), Full> {
        let room = self.room();
        let mut writer = ByteWriter {
            bytes: self.buffer.as_mut().get_mut(..room).ok_or(Full)?,
            at: self.end,
        };
        measurement.write(&mut writer).ok_or(Full)?;
        self.count = self.count.checked_add(1).ok_or(Full)?;
        self.end = writer.at;
        Ok(())
    }

    /// Completes the batch, begins the next one, and returns the datagram to send.
    pub fn finish(&mut self, stamp: Stamp, position: Position) -> &[u8] {
        let header = Header {
            kind: Kind::Batch,
            flags: Flags {
                token: self.token.is_some(),
                stamps: false,
            },
            run: self.run,
            sequence: self.sequence,
            stamp,
        };
        let tag = usize::from(self.token.is_some()) * TAG_BYTES;
        let length = self.end + tag;
        let buffer = self.buffer.as_mut();
        let datagram = buffer.get_mut(..length).unwrap_or_default();
        header.write(datagram);
        put(datagram, HEADER_BYTES, &self.count.to_be_bytes());
        let last = u16::from(position == Position::Last);
        put(datagram, HEADER_BYTES + 2, &last.to_be_bytes());
        if let Some(token) = &self.token {
            token.write_tag(datagram);
        }
        self.sequence = self.sequence.next();
        self.end = HEADER_BYTES + HEAD_BYTES;
        self.count = 0;
        datagram
    }

    /// How many measurements are in the batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count.into()
    }

    /// Whether the batch is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number that the batch will have.
    #[must_use]
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// Bytes that header and measurements may take.
    fn room(&self) -> usize {
        let tag = usize::from(self.token.is_some()) * TAG_BYTES;
        self.buffer.as_ref().len().saturating_sub(tag)
    }
}
