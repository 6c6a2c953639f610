//! Counts the messages of each sender that were lost, doubled or out of order, by the numbers that the
//! messages carry; sans-IO.
//!
//! LCM's programs number all their messages with one counter each, and no LCM receiver evaluates it for this.
//! A [`LossMeter`] that gets every message of a sender, on whatever channel, counts exactly the missing ones;
//! the sender needs no change.
//!
//! ```
//! use kadenz_msg::loss::{LossMeter, SequenceStatus};
//! use kadenz_msg::arrival::{Scope, SenderId, Sequence};
//!
//! let mut meter = LossMeter::new(100);
//! let mut see = |number| {
//!     meter.note(SenderId(1), Sequence { number, scope: Scope::Sender }, "ARM")
//! };
//! assert_eq!(see(7), SequenceStatus::First);
//! assert_eq!(see(10), SequenceStatus::Gap { lost: 2 });
//! assert_eq!(see(8), SequenceStatus::Late);
//! let tally = meter.total();
//! assert_eq!((tally.received, tally.lost, tally.reordered), (3, 1, 1));
//! ```

mod window;

use crate::arrival::{Scope, SenderId, Sequence};
use crate::channel::Channel;
pub use window::WINDOW;
use window::Window;

/// The place of a message in the order of its sender's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SequenceStatus {
    /// The first of this sender.
    First,
    /// The message that was due.
    Next,
    /// Earlier messages have not arrived.
    Gap {
        /// Number of missing messages.
        lost: u32,
    },
    /// A message that was counted as lost has arrived.
    Late,
    /// The message has arrived before.
    Duplicate,
    /// The sender restarted its count.
    Restarted,
}

/// The counts of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Messages that arrived, without duplicates.
    pub received: u64,
    /// Messages that have not arrived; one that arrives late is subtracted again.
    pub lost: u64,
    /// Messages that arrived once more.
    pub duplicated: u64,
    /// Messages that arrived after later ones.
    pub reordered: u64,
    /// How often senders restarted their count.
    pub restarted: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
        self.restarted += other.restarted;
    }

    /// Returns the part of all messages sent that was lost, from 0 to 1; 0 if no message is known.
    #[must_use]
    pub fn lost_part(&self) -> f64 {
        let sent = self.received + self.lost;
        if sent == 0 {
            return 0.0;
        }
        self.lost as f64 / sent as f64
    }
}

/// The counts of one counter of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderTally {
    /// The sender whose messages are counted.
    pub sender: SenderId,
    /// The channel, if the counter counts one channel, or the sender has used one channel only; the lost
    /// messages were then sent to it.
    pub channel: Option<Channel>,
    /// The counts of its messages.
    pub tally: Tally,
}

/// Counts loss, duplicates and reordering of many senders.
///
/// # Real-time safety
/// Real-time safe once it is made: memory for all senders is taken then, and finding one of them takes a time
/// that grows with their number.
#[derive(Debug)]
pub struct LossMeter {
    senders: Vec<SenderState>,
    most: usize,
    clock: u64,
    /// The counts of forgotten senders.
    past: Tally,
    forgotten: u64,
}

/// The state of one counter of a sender.
#[derive(Debug)]
struct SenderState {
    counted: SenderTally,
    /// Whether the counter counts one channel.
    is_of_channel: bool,
    last_used: u64,
    window: Window,
}

impl LossMeter {
    /// Returns a meter for at most that many senders, or senders with channels if they count by channel; at
    /// least one. If more arrive, the meter forgets the sender that has been silent for the longest time: its
    /// counts stay in [`LossMeter::total`], and when it returns it is a new sender.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        Self {
            senders: Vec::with_capacity(most),
            most,
            clock: 0,
            past: Tally::default(),
            forgotten: 0,
        }
    }

    /// Counts a message. The caller must pass messages of every channel if a sender numbers them together.
    pub fn note(&mut self, sender: SenderId, sequence: Sequence, channel: &str) -> SequenceStatus {
        self.clock += 1;
        let by_channel = sequence.scope == Scope::Channel;
        let found = self.senders.iter().position(|entry| {
            let same_channel = || {
                entry
                    .counted
                    .channel
                    .is_some_and(|it| it.as_str() == channel)
            };
            entry.counted.sender == sender
                && entry.is_of_channel == by_channel
                && (!by_channel || same_channel())
        });
        let clock = self.clock;
        let Some(at) = found else {
            self.begin(sender, sequence, channel);
            return SequenceStatus::First;
        };
        let entry = &mut self.senders[at];
        entry.last_used = clock;
        if entry
            .counted
            .channel
            .is_some_and(|it| it.as_str() != channel)
        {
            entry.counted.channel = None;
        }
        entry.window.note(sequence.number, &mut entry.counted.tally)
    }

    fn begin(&mut self, sender: SenderId, sequence: Sequence, channel: &str) {
        if self.senders.len() == self.most {
            let oldest = (0..self.most).min_by_key(|at| self.senders[*at].last_used);
            let given_up = self.senders.swap_remove(oldest.unwrap_or(0));
            self.past.add(&given_up.counted.tally);
            self.forgotten += 1;
        }
        let tally = Tally {
            received: 1,
            ..Tally::default()
        };
        self.senders.push(SenderState {
            counted: SenderTally {
                sender,
                channel: Channel::new(channel).ok(),
                tally,
            },
            is_of_channel: sequence.scope == Scope::Channel,
            last_used: self.clock,
            window: Window::beginning_with(sequence.number),
        });
    }

    /// Begins anew with every sender, so that a gap before its next message is not a loss; the counts stay in
    /// [`LossMeter::total`].
    #[cfg(all(feature = "shm", target_os = "linux"))]
    pub(crate) fn begin_anew(&mut self) {
        for entry in self.senders.drain(..) {
            self.past.add(&entry.counted.tally);
        }
    }

    /// Returns the counts of all senders together, also of forgotten ones.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut total = self.past;
        for entry in &self.senders {
            total.add(&entry.counted.tally);
        }
        total
    }

    /// Returns each counter of each sender that is not forgotten.
    pub fn counters(&self) -> impl ExactSizeIterator<Item = &SenderTally> {
        self.senders.iter().map(|entry| &entry.counted)
    }

    /// Returns the number of senders that were forgotten because there were too many.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }
}

#[cfg(test)]
mod tests;
