//! A received batch.

use super::batcher::{HEAD_BYTES, Position};
use super::measurement::{ByteReader, Measurement};
use crate::controller::{Arrival, Counts, TrackWord, Tracker};
use crate::memory::Memory;
use crate::wire::{Kind, Malformed, Packet, RunId, Sequence, Stamp};

/// A batch of measurements, read from bytes of any sender: either the whole batch is valid, or none of it is taken.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    run: RunId,
    sequence: Sequence,
    stamp: Stamp,
    position: Position,
    count: usize,
    content: ByteReader<'a>,
}

impl<'a> Batch<'a> {
    /// Reads the batch that a packet carries. [`Packet::open`] has checked before whether its sender knows the
    /// token.
    ///
    /// # Errors
    /// [`Malformed::Kind`] if it is no [`Kind::Batch`], [`Malformed::Batch`] if it holds more or less than its head
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
            run: packet.run(),
            sequence: packet.sequence(),
            stamp: packet.stamp(),
            position,
            count: count.into(),
            content,
        })
    }

    /// The run that it belongs to.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Its place among the batches of the run.
    #[must_use]
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// When it was sent, by its sender's clock.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.stamp
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

// The head is read by hand above.
const _: () = assert!(HEAD_BYTES == 4);

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
