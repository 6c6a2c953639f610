//! The queue of one subscription: a bounded ring of slots whose memory is reused.
//!
//! Assumed: one thread at a time posts (the leader of the inlet), and one at a time collects (the owner of
//! the subscription). Guaranteed then: each posted message is collected in order or counted as dropped, and a
//! collector that parks after it found nothing is unparked by the next message.

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use crate::arrival::{Arrival, MessageInfo, Payload};
use crate::channel::Channel;
use crate::sync::{AtomicU64, Lock, Ordering, Thread, thread};

/// The policy of a subscription whose queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// The oldest in the queue makes room: what is received is fresh.
    #[default]
    DropOldest,
    /// The message itself is dropped, as LCM does: what was queued stays in sequence.
    DropNewest,
    /// The receiving thread of the bus waits that long for room, and drops the message then. All
    /// subscriptions of the bus wait with it, so that a slow one slows the sender down if the provider has
    /// back pressure.
    Block(Duration),
}

/// A message in the queue.
#[derive(Debug, Default)]
pub(crate) struct QueuedMessage {
    pub(crate) envelope: Envelope,
    pub(crate) payload: Vec<u8>,
}

/// The metadata of an arrival, without its payload.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Envelope {
    pub(crate) channel: Channel,
    pub(crate) info: MessageInfo,
}

impl Envelope {
    pub(crate) fn of(arrival: &Arrival<'_>, channel: Channel) -> Self {
        Self {
            channel,
            info: arrival.info,
        }
    }
}

/// The queue of one subscription.
#[derive(Debug)]
pub(crate) struct Mailbox {
    state: Lock<MailboxState>,
    when_full: WhenFull,
    pub(crate) tallies: Tallies,
}

/// The slots of a mailbox as a ring, and the threads that wait for them or for room.
#[derive(Debug)]
struct MailboxState {
    slots: Box<[QueuedMessage]>,
    first: usize,
    count: usize,
    /// The thread that parks until a message arrives.
    collector: Option<Thread>,
    /// The thread that parks until there is room.
    poster: Option<Thread>,
    /// No thread will collect any more.
    closed: bool,
}

/// The outcome of posting a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Posted {
    Kept,
    InsteadOfOldest,
    NoRoom,
}

impl Mailbox {
    /// Returns a queue of that many slots with that much room each. Allocates it all.
    pub(crate) fn new(length: usize, room: usize, when_full: WhenFull) -> Self {
        let message = || QueuedMessage {
            payload: Vec::with_capacity(room),
            ..QueuedMessage::default()
        };
        let slots = std::iter::repeat_with(message)
            .take(length.max(1))
            .collect();
        Self {
            state: Lock::new(MailboxState {
                slots,
                first: 0,
                count: 0,
                collector: None,
                poster: None,
                closed: false,
            }),
            when_full,
            tallies: Tallies::default(),
        }
    }

    /// Puts a message at the end, by the policy if there is no room; `until` bounds the wait of
    /// [`WhenFull::Block`].
    pub(crate) fn post(
        &self,
        envelope: &Envelope,
        payload: Payload<'_>,
        until: Option<MonotonicTime>,
    ) {
        self.tallies.arrived.add_one();
        if let WhenFull::Block(longest) = self.when_full {
            self.wait_for_room(longest, until);
        }
        let (posted, collector) = self.state.with(|state| {
            let posted = state.post(envelope, payload, self.when_full);
            (posted, state.collector.take())
        });
        match posted {
            Posted::Kept => {}
            Posted::InsteadOfOldest => self.tallies.dropped_oldest.add_one(),
            Posted::NoRoom => self.tallies.dropped_newest.add_one(),
        }
        if let Some(collector) = collector {
            collector.unpark();
        }
    }

    /// Swaps the first message with the collector's own, whose memory the queue uses from now on.
    pub(crate) fn collect(&self, into: &mut QueuedMessage) -> bool {
        let (found, poster) = self.state.with(|state| {
            let found = state.collect(into);
            (found, state.poster.take_if(|_| found))
        });
        if let Some(poster) = poster {
            poster.unpark();
        }
        found
    }

    /// Returns whether something waits; if not, the calling thread is unparked by the next message.
    pub(crate) fn wait_for_message(&self) -> bool {
        self.state.with(|state| {
            let waits = state.count > 0;
            state.collector = (!waits).then(thread::current);
            waits
        })
    }

    /// Ends the wait for room, now and later, because no thread will make room any more.
    pub(crate) fn close(&self) {
        let poster = self.state.with(|state| {
            state.closed = true;
            state.poster.take()
        });
        if let Some(poster) = poster {
            poster.unpark();
        }
    }

    /// Returns how many messages wait.
    pub(crate) fn waiting(&self) -> usize {
        self.state.with(|state| state.count)
    }

    #[cfg(not(loom))]
    fn wait_for_room(&self, longest: Duration, until: Option<MonotonicTime>) {
        let policy_ends = kadenz_rt::clock::now() + longest;
        let end = until.map_or(policy_ends, |until| until.min(policy_ends));
        while !self.has_room_or_registers() {
            let left = end.remaining(kadenz_rt::clock::now());
            if left.is_zero() {
                return;
            }
            thread::park_timeout(left);
        }
    }

    #[cfg(loom)]
    fn wait_for_room(&self, _longest: Duration, _until: Option<MonotonicTime>) {
        while !self.has_room_or_registers() {
            thread::park();
        }
    }

    fn has_room_or_registers(&self) -> bool {
        self.state.with(|state| {
            let room = state.closed || state.count < state.slots.len();
            state.poster = (!room).then(thread::current);
            room
        })
    }
}

impl MailboxState {
    fn post(&mut self, envelope: &Envelope, payload: Payload<'_>, when_full: WhenFull) -> Posted {
        let mut posted = Posted::Kept;
        if self.count == self.slots.len() {
            if when_full != WhenFull::DropOldest {
                return Posted::NoRoom;
            }
            posted = Posted::InsteadOfOldest;
            self.first = (self.first + 1) % self.slots.len();
            self.count -= 1;
        }
        let index = (self.first + self.count) % self.slots.len();
        let message = &mut self.slots[index];
        message.envelope = *envelope;
        payload.put_into(&mut message.payload);
        self.count += 1;
        posted
    }

    fn collect(&mut self, into: &mut QueuedMessage) -> bool {
        if self.count == 0 {
            return false;
        }
        std::mem::swap(&mut self.slots[self.first], into);
        self.first = (self.first + 1) % self.slots.len();
        self.count -= 1;
        true
    }
}

// The counters of a subscription's messages.

/// Counters of a subscription's messages since it began. [`crate::loss`] counts the messages that the network
/// lost before they reached this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Messages that arrived for the subscription.
    pub arrived: u64,
    /// Messages that were handed to the user, decoded.
    pub received: u64,
    /// Messages that made room for newer ones.
    pub dropped_oldest: u64,
    /// Messages for which there was no room.
    pub dropped_newest: u64,
    /// Messages that were skipped because the caller took a newer one ([`latest`]).
    ///
    /// [`latest`]: super::Subscription::latest
    pub superseded: u64,
    /// Messages that were older than the contract allows when the caller took them.
    pub too_old: u64,
    /// Spans between two messages that were longer than the contract's deadline.
    pub missed_deadlines: u64,
    /// Messages that are not of the type that was subscribed.
    pub undecodable: u64,
}

/// The same counters, incremented by several threads.
///
/// # Real-time safety
/// Real-time safe.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    pub(crate) arrived: AtomicCounter,
    pub(crate) received: AtomicCounter,
    pub(crate) dropped_oldest: AtomicCounter,
    pub(crate) dropped_newest: AtomicCounter,
    pub(crate) superseded: AtomicCounter,
    pub(crate) too_old: AtomicCounter,
    pub(crate) missed_deadlines: AtomicCounter,
    pub(crate) undecodable: AtomicCounter,
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

/// One counter; it orders no other memory access among threads.
#[derive(Debug, Default)]
pub(crate) struct AtomicCounter(AtomicU64);

impl AtomicCounter {
    pub(crate) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
