//! What happens next, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::lane::{LaneId, Ticket};
use super::{Frame, LinkState};
use crate::testbed::quantity::Picos;

/// Something that happens at a time.
#[derive(Debug)]
pub(super) enum Happening<T> {
    /// A frame is to be sent.
    Begin(LaneId, Frame<T>),
    /// A frame, sent from that time on, is wholly at the lane's end.
    Arrived(LaneId, Frame<T>, Picos),
    /// A frame is there after faults have been drawn for it: the second of two, or a passed one.
    Again(LaneId, Frame<T>),
    /// A frame held back is held no longer.
    Release(LaneId, Ticket),
    /// A link is cut or mended.
    Link(usize, LinkState),
    /// The switches have seen that.
    Relearn,
}

/// Things to come. What is to happen at the same time happens in the order in which it was added.
#[derive(Debug)]
pub(super) struct Events<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    added: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Picos,
    number: u64,
    happening: Happening<T>,
}

impl<T> Default for Events<T> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::with_capacity(1024),
            added: 0,
        }
    }
}

impl<T> Events<T> {
    pub(super) fn add(&mut self, at: Picos, happening: Happening<T>) {
        let number = self.added;
        self.added += 1;
        self.heap.push(Reverse(Entry {
            at,
            number,
            happening,
        }));
    }

    pub(super) fn next_time(&self) -> Option<Picos> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// The next thing, unless it is after `until`.
    pub(super) fn take(&mut self, until: Picos) -> Option<(Picos, Happening<T>)> {
        if self.next_time()? > until {
            return None;
        }
        let Reverse(entry) = self.heap.pop()?;
        Some((entry.at, entry.happening))
    }
}

impl<T> Entry<T> {
    fn key(&self) -> (Picos, u64) {
        (self.at, self.number)
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
