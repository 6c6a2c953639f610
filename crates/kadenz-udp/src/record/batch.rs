//! A batch as it was received.

use super::batcher::{HEAD_BYTES, Position};
use super::measurement::{Eye, Measurement};
use crate::wire::{Kind, Malformed, Packet, RunId, Sequence, Stamp};

/// A batch of measurements, read from bytes that anyone may have sent: all of it is sound, or none
/// is taken.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    run: RunId,
    sequence: Sequence,
    stamp: Stamp,
    position: Position,
    count: usize,
    content: Eye<'a>,
}

impl<'a> Batch<'a> {
    /// Reads the batch that a packet carries. Whether its sender knows the token is asked before,
    /// by [`Packet::open`].
    ///
    /// # Errors
    /// [`Malformed::Kind`] if it is no [`Kind::Batch`], [`Malformed::Batch`] if it does not hold what
    /// its head announces, no more and no less.
    pub fn read(packet: &Packet<'a>) -> Result<Self, Malformed> {
        if packet.kind() != Kind::Batch {
            return Err(Malformed::Kind(packet.kind().first_byte()));
        }
        let mut content = Eye(packet.body());
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

    /// The run it belongs to.
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

    /// Whether more follow.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// How many measurements it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it holds none.
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
    content: Eye<'a>,
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
