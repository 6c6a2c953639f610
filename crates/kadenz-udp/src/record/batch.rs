//! Batches: measurements that are packed into datagrams, and read from them.

use super::{ByteReader, ByteWriter, Measurement};
use crate::controller::{Arrival, Counts, TrackWord, Tracker};
use crate::memory::Memory;
use crate::wire::{
    EncodeError, Flags, HEADER_BYTES, Header, Kind, Malformed, Packet, RunId, Sequence, Stamp,
    Token, put, write_tag,
};

/// The default size of a batch: with IPv6 (40 bytes) and UDP (8) it fits a frame of Ethernet's 1500 with room for a
/// tunnel, so that no batch is fragmented.
pub const DEFAULT_BATCH_BYTES: usize = 1400;

/// Bytes of the body before the first measurement: the number of measurements, and the position.
const HEAD_BYTES: usize = 4;

/// Whether more batches of the run follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// More batches of the run follow.
    Within,
    /// This is the last one of its run.
    Last,
}

/// The batch has no room for another measurement: finish it, send it, and push again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the batch is full: finish and send it, then push again")]
pub struct Full;

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
        let least = Flags::new(false, token.as_ref()).least_bytes();
        let least = least + HEAD_BYTES + Measurement::MAX_BYTES;
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
        let room = self.flags().body(self.buffer.as_ref().len()).end;
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
            flags: self.flags(),
            run: self.run,
            sequence: self.sequence,
            stamp,
        };
        let length = self.end + header.flags.tag_bytes();
        let buffer = self.buffer.as_mut();
        let datagram = buffer.get_mut(..length).unwrap_or_default();
        header.write(datagram);
        put(datagram, HEADER_BYTES, &self.count.to_be_bytes());
        let last = u16::from(position == Position::Last);
        put(datagram, HEADER_BYTES + 2, &last.to_be_bytes());
        write_tag(self.token.as_ref(), datagram);
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

    fn flags(&self) -> Flags {
        Flags::new(false, self.token.as_ref())
    }
}

// A received batch.

/// A batch of measurements, read from bytes of any sender: either the whole batch is valid, or none of it is taken.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    packet: Packet<'a>,
    position: Position,
    count: usize,
    content: ByteReader<'a>,
}

impl<'a> Batch<'a> {
    /// Reads the batch that a packet carries. [`Packet::open`] has checked before whether its sender knows the
    /// token.
    ///
    /// # Errors
    /// [`Malformed::Kind`] if it is not a [`Kind::Batch`], [`Malformed::Batch`] if it holds more or less than its head
    /// announces.
    pub fn read(packet: &Packet<'a>) -> Result<Self, Malformed> {
        if packet.kind() != Kind::Batch {
            return Err(Malformed::Kind(packet.kind().first_byte()));
        }
        let mut content = ByteReader(packet.body());
        let count = content.take_u16().ok_or(Malformed::Batch)?;
        let position = match content.take_u16() {
            Some(0) => Position::Within,
            Some(1) => Position::Last,
            _ => return Err(Malformed::Batch),
        };
        let mut rest = content.clone();
        for _ in 0..count {
            Measurement::read(&mut rest).ok_or(Malformed::Batch)?;
        }
        if !rest.0.is_empty() {
            return Err(Malformed::Batch);
        }
        Ok(Self {
            packet: *packet,
            position,
            count: count.into(),
            content,
        })
    }

    /// The run that it belongs to.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.packet.run()
    }

    /// Its place among the batches of the run.
    #[must_use]
    pub fn sequence(&self) -> Sequence {
        self.packet.sequence()
    }

    /// When it was sent, by its sender's clock.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.packet.stamp()
    }

    /// Whether more batches follow.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// How many measurements it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it holds no measurement.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Its measurements in the order in which they were pushed.
    #[must_use]
    pub fn measurements(&self) -> Measurements<'a> {
        Measurements {
            left: self.count,
            content: self.content.clone(),
        }
    }
}

/// The measurements of a [`Batch`].
#[derive(Clone, Debug)]
pub struct Measurements<'a> {
    left: usize,
    content: ByteReader<'a>,
}

impl Iterator for Measurements<'_> {
    type Item = Measurement;

    fn next(&mut self) -> Option<Measurement> {
        self.left = self.left.checked_sub(1)?;
        Measurement::read(&mut self.content)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Measurements<'_> {}

// A logging server's record of one sender's batches.

/// Tracks the batches of one sender's run: those that came, came again, came out of order, or never came.
///
/// A sender numbers its batches from 0, so a gap is a loss. Losses after the last batch that came are known only
/// once the batch that is marked as the [last](Position::Last) has come.
///
/// A batch may be forged, and a forged number makes all batches up to it look lost: the caller limits how many
/// those can be.
///
/// ```
/// use kadenz_udp::controller::TrackWord;
/// use kadenz_udp::record::{Batch, Batcher, BatchTracker, Position};
/// use kadenz_udp::wire::{Packet, RunId, Stamp};
///
/// let mut batcher = Batcher::over([0; 1400], RunId(7), None)?;
/// let mut tracker = BatchTracker::over([TrackWord::default(); 16], RunId(7));
/// for position in [Position::Within, Position::Within, Position::Last] {
///     let packet = Packet::parse(batcher.finish(Stamp(0), position))?;
///     if position == Position::Last {
///         tracker.arrived(&Batch::read(&packet)?, 100);
///     }
/// }
/// assert!(tracker.knows_end());
/// assert_eq!(tracker.finish().lost, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchTracker<M> {
    run: RunId,
    tracker: Tracker<M>,
    end: Option<Sequence>,
}

impl<M: Memory<TrackWord>> BatchTracker<M> {
    /// Makes an empty tracker of a run, which detects duplicates among the last 64 batches a word.
    pub fn over(words: M, run: RunId) -> Self {
        Self {
            run,
            tracker: Tracker::over(words, u64::MAX),
            end: None,
        }
    }

    /// Enters a batch that arrived; its measurements are new only if the result is [`Arrival::First`]. It counts
    /// the numbers that were left out as sent, unless there are more than `most`: then it ignores them.
    ///
    /// A last batch whose number is lower than one that has come already is [`Arrival::NotOurs`].
    pub fn arrived(&mut self, batch: &Batch<'_>, most: u64) -> Arrival {
        let (number, position) = (batch.sequence(), batch.position());
        let highest = self.tracker.last_sent();
        let behind = highest.is_some_and(|highest| number.distance_from(highest) < 0);
        let ends_too_early = position == Position::Last && behind;
        if batch.run() != self.run || self.is_beyond_end(number) || ends_too_early {
            return Arrival::NotOurs;
        }
        self.tracker.expect_through(number, most);
        if position == Position::Last {
            self.end = Some(batch.sequence());
        }
        self.tracker.received(batch.sequence(), 0)
    }

    /// Whether the last batch of the run came, so that the counts include every batch sent.
    #[must_use]
    pub fn knows_end(&self) -> bool {
        self.end.is_some()
    }

    /// The counts of the batches so far; batches that may still come are not lost.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.tracker.counts()
    }

    /// The final counts: no more batches are expected.
    #[must_use]
    pub fn finish(self) -> Counts {
        self.tracker.finish()
    }

    fn is_beyond_end(&self, sequence: Sequence) -> bool {
        self.end.is_some_and(|end| sequence.distance_from(end) > 0)
    }
}
