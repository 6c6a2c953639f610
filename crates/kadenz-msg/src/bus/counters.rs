//! What became of a subscription's messages.

use crate::sync::{AtomicU64, Ordering};

/// What became of a subscription's messages since it began. What the network lost before it reached
/// this program is told by [`crate::loss`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Messages that came for it.
    pub arrived: u64,
    /// Messages that were handed to the user, decoded.
    pub received: u64,
    /// Messages that made room for newer ones.
    pub dropped_oldest: u64,
    /// Messages for which there was no room.
    pub dropped_newest: u64,
    /// Messages that nobody saw because a newer one was asked for ([`latest`]).
    ///
    /// [`latest`]: super::Subscription::latest
    pub superseded: u64,
    /// Messages older than the contract allows when they were asked for.
    pub too_old: u64,
    /// Spans between two messages that were longer than the contract's deadline.
    pub missed_deadlines: u64,
    /// Messages that are not of the type that was subscribed.
    pub undecodable: u64,
}

/// The same, being counted by several threads. Real-time safe.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    pub(crate) arrived: Tally,
    pub(crate) received: Tally,
    pub(crate) dropped_oldest: Tally,
    pub(crate) dropped_newest: Tally,
    pub(crate) superseded: Tally,
    pub(crate) too_old: Tally,
    pub(crate) missed_deadlines: Tally,
    pub(crate) undecodable: Tally,
}

impl Tallies {
    pub(crate) fn read(&self) -> Counters {
        Counters {
            arrived: self.arrived.get(),
            received: self.received.get(),
            dropped_oldest: self.dropped_oldest.get(),
            dropped_newest: self.dropped_newest.get(),
            superseded: self.superseded.get(),
            too_old: self.too_old.get(),
            missed_deadlines: self.missed_deadlines.get(),
            undecodable: self.undecodable.get(),
        }
    }
}

/// One counter; counters order nothing among threads.
#[derive(Debug, Default)]
pub(crate) struct Tally(AtomicU64);

impl Tally {
    pub(crate) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
