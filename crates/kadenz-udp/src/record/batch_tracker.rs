//! What the logging server knows of one sender's batches.

use super::{Batch, Position};
use crate::controller::{Arrival, Counts, TrackWord, Tracker};
use crate::memory::Memory;
use crate::wire::{RunId, Sequence};

/// Follows the batches of one sender's run: which came, came again, came out of order, or never did.
///
/// A sender numbers its batches from 0, so a gap is a loss. What was lost after the last one that came
/// is known only once the batch that says it is the [last](Position::Last) has come.
///
/// A batch may be forged, and a forged number makes all up to it look lost: who calls says how many that can
/// be.
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
    /// An empty tracker of a run, that sees duplicates among the last 64 batches a word.
    pub fn over(words: M, run: RunId) -> Self {
        Self {
            run,
            tracker: Tracker::over(words, u64::MAX),
            end: None,
        }
    }

    /// Enters a batch that arrived; its measurements are new only if it is an [`Arrival::First`]. Numbers that
    /// were left out were sent too, unless there are more than `most`: then nothing is known of them.
    ///
    /// A last batch that comes before one that is already there is not believed.
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

    /// Whether the last batch of the run came, so that the counts hold all that were sent.
    #[must_use]
    pub fn knows_end(&self) -> bool {
        self.end.is_some()
    }

    /// What became of the batches so far; those that may still come are not lost.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.tracker.counts()
    }

    /// What became of them when nothing more is awaited.
    #[must_use]
    pub fn finish(self) -> Counts {
        self.tracker.finish()
    }

    fn is_beyond_end(&self, sequence: Sequence) -> bool {
        self.end.is_some_and(|end| sequence.distance_from(end) > 0)
    }
}
