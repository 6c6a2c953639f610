//! Making messages of fragments, in bounded memory and time.

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::fragments::Fragment;
use super::slot::{Fed, ReassemblySlot};
use crate::arrival::SenderId;
use crate::channel::Channel;

/// The limits of memory for messages of which parts are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReassemblyLimits {
    /// Memory for all of them, in bytes, with eight for each fragment; a message that is longer is not taken.
    pub bytes: usize,
    /// The maximum number of them.
    pub messages: usize,
    /// The time without a further fragment after which one is given up.
    pub idle: Duration,
}

impl Default for ReassemblyLimits {
    /// As LCM: 16 MB and 1000 messages. LCM has no time limit; here it is 2 s.
    fn default() -> Self {
        Self {
            bytes: 16 << 20,
            messages: 1000,
            idle: Duration::from_secs(2),
        }
    }
}

/// Counters of fragments and of the messages made of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReassemblyCounters {
    /// Messages that became whole.
    pub complete: u64,
    /// Messages that were given up with parts missing.
    pub incomplete: u64,
    /// Fragments that had arrived before, or whose message was whole or given up already.
    pub duplicates: u64,
    /// Fragments that contradict others of their message.
    pub inconsistent: u64,
    /// Fragments of messages longer than the memory that may be held.
    pub too_long: u64,
}

/// The outcome of adding a fragment.
#[derive(Debug)]
pub enum Added<'a> {
    /// More fragments are needed.
    Incomplete,
    /// The fragment is of no use, and was counted.
    Ignored,
    /// The message is whole.
    Complete(Complete<'a>),
}

/// A message that became whole.
#[derive(Debug)]
pub struct Complete<'a> {
    /// The channel of the message.
    pub channel: Channel,
    /// The message. The caller may swap it for another vector, whose memory is then used instead, unless that
    /// exceeds the limit.
    pub payload: &'a mut Vec<u8>,
    /// When the kernel had the fragment that arrived first.
    pub kernel: Option<MonotonicTime>,
}

/// A message that needs no further fragments.
#[derive(Debug, Clone, Copy)]
struct Done {
    sender: SenderId,
    sequence: u32,
    at: MonotonicTime,
}

/// The number of finished messages that are remembered, so that their late fragments begin none again.
const REMEMBERED: usize = 64;

/// Makes messages of fragments of any size, in any order, of many senders at once.
///
/// Memory is taken as fragments arrive, not by the lengths in their headers, and all of it together stays
/// within [`ReassemblyLimits::bytes`]. A fragment more than 1 MiB behind all that arrived is not taken: one
/// datagram must not cost as much as a long message. Memory is reused: a steady stream of messages allocates
/// nothing after the first. If there is no room, the message that waits longest for its next fragment is
/// given up.
///
/// # Real-time safety
/// Real-time safe except for a message that is larger than any before.
#[derive(Debug)]
pub struct Reassembly {
    limits: ReassemblyLimits,
    /// The first `active` grow; the others are memory to be used again.
    slots: Vec<ReassemblySlot>,
    active: usize,
    done: [Option<Done>; REMEMBERED],
    next_done: usize,
    counters: ReassemblyCounters,
}

impl Reassembly {
    /// Returns an empty reassembly.
    #[must_use]
    pub fn new(limits: ReassemblyLimits) -> Self {
        Self {
            limits,
            slots: Vec::with_capacity(limits.messages.clamp(1, 1000)),
            active: 0,
            done: [None; REMEMBERED],
            next_done: 0,
            counters: ReassemblyCounters::default(),
        }
    }

    /// Returns the counters of fragments until now.
    #[must_use]
    pub fn counters(&self) -> ReassemblyCounters {
        self.counters
    }

    /// Returns the memory that it holds for messages, in bytes.
    #[must_use]
    pub fn held(&self) -> usize {
        self.slots.iter().map(ReassemblySlot::held).sum()
    }

    /// Takes a fragment that arrived from a sender, now; `kernel` is when the kernel had it.
    pub fn add(
        &mut self,
        sender: SenderId,
        fragment: &Fragment<'_>,
        now: MonotonicTime,
        kernel: Option<MonotonicTime>,
    ) -> Added<'_> {
        if fragment.size > self.limits.bytes {
            self.counters.too_long += 1;
            return Added::Ignored;
        }
        let growing = &self.slots[..self.active];
        let found = growing
            .iter()
            .position(|slot| slot.is_of(sender, fragment.sequence));
        let at = match found {
            Some(at) => at,
            None if self.is_done(sender, fragment.sequence, now) => {
                self.counters.duplicates += 1;
                return Added::Ignored;
            }
            None => self.begin(sender, fragment, now, kernel),
        };
        if self.slots[at].is_far_behind(fragment) {
            // If the fragments between arrive later, this one is missing, and the message counts as
            // incomplete.
            return Added::Ignored;
        }
        let Some(at) = self.make_room(at, fragment) else {
            self.counters.too_long += 1;
            return Added::Ignored;
        };
        self.slots[at].last_fed = now;
        match self.slots[at].feed(fragment) {
            Fed::More => Added::Incomplete,
            Fed::Duplicate => {
                self.counters.duplicates += 1;
                Added::Ignored
            }
            Fed::Inconsistent => {
                self.counters.inconsistent += 1;
                self.give_up_if_full(at, now);
                Added::Ignored
            }
            Fed::Whole => self.complete(at, now),
        }
    }

    /// Gives up messages that have waited too long for their next fragment. The caller calls it now and then,
    /// also while no fragment arrives.
    pub fn expire(&mut self, now: MonotonicTime) {
        let limit = i64::try_from(self.limits.idle.as_nanos()).unwrap_or(i64::MAX);
        let mut at = 0;
        while at < self.active {
            if now.since(self.slots[at].last_fed) > limit {
                self.give_up(at, now);
            } else {
                at += 1;
            }
        }
    }

    fn begin(
        &mut self,
        sender: SenderId,
        fragment: &Fragment<'_>,
        now: MonotonicTime,
        kernel: Option<MonotonicTime>,
    ) -> usize {
        self.expire(now);
        if self.active >= self.limits.messages.max(1) {
            self.give_up_oldest(now);
        }
        let spare = self.best_spare(fragment.size);
        let at = self.active;
        match spare {
            Some(spare) => self.slots.swap(at, spare),
            None => self.slots.push(ReassemblySlot::default()),
        }
        self.active += 1;
        let slot = &mut self.slots[at];
        slot.last_fed = now;
        slot.begin(sender, fragment, kernel);
        if slot.held_with(fragment) > self.limits.bytes {
            // The caller swapped in a vector that is too long.
            slot.give_memory_back();
        }
        at
    }

    /// The smallest memory that holds the message, else the largest.
    fn best_spare(&self, size: usize) -> Option<usize> {
        let spares = self.active..self.slots.len();
        spares.min_by_key(|at| {
            let capacity = self.slots[*at].payload.capacity();
            if capacity >= size {
                (0, capacity)
            } else {
                (1, usize::MAX - capacity)
            }
        })
    }

    /// Makes room for the bytes that a fragment adds to the slot `at`; returns the slot's index afterwards.
    /// `None` if the message is longer than the limit: then it is given up.
    fn make_room(&mut self, at: usize, fragment: &Fragment<'_>) -> Option<usize> {
        let mut at = at;
        loop {
            let others: usize = self.held() - self.slots[at].held();
            let needed = self.slots[at].held_with(fragment);
            if others + needed <= self.limits.bytes {
                return Some(at);
            }
            if self.slots.len() > self.active {
                self.slots.truncate(self.slots.len() - 1);
            } else if self.active > 1 {
                at = self.give_up_oldest_but(at);
            } else {
                self.active -= 1;
                self.slots.swap(at, self.active);
                self.slots.truncate(self.active);
                return None;
            }
        }
    }

    fn complete(&mut self, at: usize, now: MonotonicTime) -> Added<'_> {
        self.counters.complete += 1;
        let at = self.retire(at, now);
        let slot = &mut self.slots[at];
        let Some(channel) = slot.channel else {
            return Added::Ignored;
        };
        Added::Complete(Complete {
            channel,
            payload: &mut slot.payload,
            kernel: slot.kernel,
        })
    }

    /// Ends a slot that will never be whole: all its fragments are there and leave a hole.
    fn give_up_if_full(&mut self, at: usize, now: MonotonicTime) {
        if self.slots[at].is_full() {
            self.give_up(at, now);
        }
    }

    fn give_up(&mut self, at: usize, now: MonotonicTime) {
        self.counters.incomplete += 1;
        self.retire(at, now);
    }

    fn give_up_oldest(&mut self, now: MonotonicTime) {
        let oldest = (0..self.active).min_by_key(|at| self.slots[*at].last_fed);
        if let Some(at) = oldest {
            self.give_up(at, now);
        }
    }

    /// Gives up the oldest other than this, with its memory; where this then is.
    fn give_up_oldest_but(&mut self, keep: usize) -> usize {
        let others = (0..self.active).filter(|at| *at != keep);
        let Some(oldest) = others.min_by_key(|at| self.slots[*at].last_fed) else {
            return keep;
        };
        let now = self.slots[keep].last_fed;
        self.give_up(oldest, now);
        // The last growing slot took its place.
        if keep == self.active { oldest } else { keep }
    }

    /// Frees a growing slot, and remembers its message; returns the slot's index afterwards.
    fn retire(&mut self, at: usize, now: MonotonicTime) -> usize {
        let slot = &self.slots[at];
        self.done[self.next_done] = Some(Done {
            sender: slot.sender,
            sequence: slot.sequence,
            at: now,
        });
        self.next_done = (self.next_done + 1) % REMEMBERED;
        self.active -= 1;
        self.slots.swap(at, self.active);
        self.active
    }

    fn is_done(&self, sender: SenderId, sequence: u32, now: MonotonicTime) -> bool {
        let limit = i64::try_from(self.limits.idle.as_nanos()).unwrap_or(i64::MAX);
        self.done.iter().flatten().any(|done| {
            done.sequence == sequence && done.sender == sender && now.since(done.at) <= limit
        })
    }
}
