//! What goes over a bus: how often, how evenly, how much, and how much of it is lost; sans-IO.
//!
//! A [`Watcher`] takes every message that is heard, with its time, and says at any time what
//! each channel does. It is what `kadenz msg spy`, `hz` and `list` show, and runs as well in virtual
//! time or over a log.
//!
//! ```
//! use kadenz_msg::channel::Channel;
//! use kadenz_msg::watch::{HeardMessage, WatchOptions, Watcher};
//! use kadenz_rt::clock::MonotonicTime;
//!
//! let mut watcher = Watcher::new(WatchOptions::default());
//! let ms = |ms: u64| MonotonicTime::from_ns(ms * 1_000_000);
//! for beat in 0..=100 {
//!     watcher.hear(&HeardMessage::at(ms(10 * beat), Channel::new("FEEDBACK")?, 200));
//! }
//! let feedback = &watcher.figures(ms(1000))[0];
//! let pace = feedback.pace.expect("more than one was heard");
//! assert_eq!((feedback.messages, pace.rate_hz.round()), (101, 100.0));
//! assert_eq!(pace.jitter.expect("two intervals are enough").p50_ns, Some(0));
//! # Ok::<(), kadenz_msg::channel::ChannelError>(())
//! ```
//!
//! Memory is bounded whatever comes: by the number of channels, of senders, and of messages that are
//! remembered of each channel. Not for a real-time path: it allocates as channels appear.

mod channel;
mod recent;
mod traces;
mod turned_back;

use std::collections::BTreeMap;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

pub use channel::{ChannelFigures, SenderFigures};
pub use recent::{Jitter, Pace};
pub use traces::{Spark, Traces};
pub use turned_back::TurnedBack;

use crate::arrival::{SenderId, Sequence};
use crate::bus::Raw;
use crate::channel::Channel;
use crate::loss::{LossMeter, SenderTally};
use crate::message::Fingerprint;
use channel::ChannelWatch;

/// How much is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchOptions {
    /// Rates, jitter and bandwidth are of the messages within this span before now.
    pub window: Duration,
    /// At most that many messages of a channel are remembered for them.
    pub most_messages: usize,
    /// At most that many channels are told apart; messages of further ones are counted together.
    pub most_channels: usize,
    /// At most that many senders are told apart.
    pub most_senders: usize,
    /// The interval that messages should keep; without it, jitter is against their median interval.
    pub expected: Option<Duration>,
}

impl Default for WatchOptions {
    /// 5 s, 4096 messages a channel, 1000 channels and 1000 senders.
    fn default() -> Self {
        Self {
            window: Duration::from_secs(5),
            most_messages: 4096,
            most_channels: 1000,
            most_senders: 1000,
            expected: None,
        }
    }
}

/// A message that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeardMessage {
    /// When, best by the kernel's stamp.
    pub at: MonotonicTime,
    /// The channel it was published to.
    pub channel: Channel,
    /// The length of its payload.
    pub bytes: usize,
    /// Who sent it.
    pub sender: SenderId,
    /// Its number, where the provider counts.
    pub sequence: Option<Sequence>,
    /// What it carries as the hash of its type; `None` for fewer than eight bytes.
    pub fingerprint: Option<Fingerprint>,
}

impl HeardMessage {
    /// A message of which no more is known.
    #[must_use]
    pub fn at(at: MonotonicTime, channel: Channel, bytes: usize) -> Self {
        Self {
            at,
            channel,
            bytes,
            sender: SenderId::default(),
            sequence: None,
            fingerprint: None,
        }
    }
}

/// Its time is the kernel's stamp where there is one.
impl From<&Raw<'_>> for HeardMessage {
    fn from(raw: &Raw<'_>) -> Self {
        let stamps = raw.stamps();
        Self {
            at: stamps.kernel.unwrap_or(stamps.taken),
            channel: raw.channel,
            bytes: raw.payload.len(),
            sender: raw.delivery.sender,
            sequence: raw.delivery.sequence,
            fingerprint: raw.fingerprint(),
        }
    }
}

/// What was heard on channels beyond the most that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Beyond {
    /// Messages.
    pub messages: u64,
    /// Their payloads together.
    pub bytes: u64,
}

/// Keeps channel_watch over the channels of a bus.
#[derive(Debug)]
pub struct Watcher {
    options: WatchOptions,
    channels: BTreeMap<Channel, ChannelWatch>,
    loss: LossMeter,
    beyond: Beyond,
}

impl Watcher {
    /// Begins with nothing heard.
    #[must_use]
    pub fn new(options: WatchOptions) -> Self {
        Self {
            options,
            channels: BTreeMap::new(),
            loss: LossMeter::new(options.most_senders),
            beyond: Beyond::default(),
        }
    }

    /// Notes a message. Loss is exact where all messages of a sender are told here, on whatever
    /// channel; what is to be shown of them is another question.
    pub fn hear(&mut self, heard: &HeardMessage) {
        if let Some(sequence) = heard.sequence {
            let channel = heard.channel.as_str();
            self.loss.note(heard.sender, sequence, channel);
        }
        if let Some(channel_watch) = self.channel_watch(heard.channel) {
            channel_watch.hear(heard);
            return;
        }
        self.beyond.messages += 1;
        self.beyond.bytes += heard.bytes as u64;
    }

    /// Notes that a message of a channel, which it heard before, could not be decoded.
    pub fn undecodable(&mut self, channel: Channel) {
        if let Some(channel_watch) = self.channels.get_mut(&channel) {
            channel_watch.undecodable += 1;
        }
    }

    fn channel_watch(&mut self, channel: Channel) -> Option<&mut ChannelWatch> {
        let is_full = self.channels.len() >= self.options.most_channels;
        if is_full && !self.channels.contains_key(&channel) {
            return None;
        }
        let options = &self.options;
        let channel_watch = self.channels.entry(channel);
        Some(channel_watch.or_insert_with(|| ChannelWatch::new(channel, options)))
    }

    /// What each channel does now, by name; loss as told by the messages that were heard.
    #[must_use]
    pub fn figures(&self, now: MonotonicTime) -> Vec<ChannelFigures> {
        self.figures_with(now, self.loss.counters())
    }

    /// The same with loss as somebody tells it who hears more, as [`Bus::losses`] does: what a slow
    /// listener dropped itself is then not taken for a loss on the way.
    ///
    /// [`Bus::losses`]: crate::bus::Bus::losses
    #[must_use]
    pub fn figures_with<'a>(
        &self,
        now: MonotonicTime,
        losses: impl IntoIterator<Item = &'a SenderTally>,
    ) -> Vec<ChannelFigures> {
        let channel_watch = self.channels.values();
        let mut figures: Vec<_> = channel_watch
            .map(|channel_watch| channel_watch.figures(now))
            .collect();
        for counted in losses {
            let Some(channel) = counted.channel else {
                continue;
            };
            let at = figures.binary_search_by_key(&channel, |figures| figures.channel);
            if let Ok(at) = at {
                figures[at].note_loss(counted.sender, &counted.tally);
            }
        }
        figures
    }

    /// How many messages came to a channel each second, for a small picture; `None` where it was not
    /// heard of.
    #[must_use]
    pub fn spark(&self, channel: &str, now: MonotonicTime) -> Option<Spark> {
        let channel_watch = self.channels.get(channel)?;
        Some(channel_watch.spark(now))
    }

    /// What was counted of each sender, by the messages that were heard.
    pub fn losses(&self) -> impl Iterator<Item = &SenderTally> {
        self.loss.counters()
    }

    /// What was heard on further channels.
    #[must_use]
    pub fn beyond(&self) -> Beyond {
        self.beyond
    }
}

// No more than so many messages a second of each channel.

/// Lets messages of a channel pass at most once an interval; the others are held back.
///
/// ```
/// use std::time::Duration;
/// use kadenz_msg::channel::Channel;
/// use kadenz_msg::watch::Throttle;
/// use kadenz_rt::clock::MonotonicTime;
///
/// let mut throttle = Throttle::new(Duration::from_millis(100), 1000);
/// let camera = Channel::new("CAMERA")?;
/// let passed = (0..30).filter(|frame| {
///     throttle.passes(camera, MonotonicTime::from_ns(frame * 33_333_333))
/// });
/// assert_eq!(passed.count(), 10);
/// # Ok::<(), kadenz_msg::channel::ChannelError>(())
/// ```
#[derive(Debug)]
pub struct Throttle {
    interval: Duration,
    most: usize,
    next: BTreeMap<Channel, MonotonicTime>,
}

impl Throttle {
    /// Of at most so many channels; messages of further ones are held back.
    #[must_use]
    pub fn new(interval: Duration, most: usize) -> Self {
        Self {
            interval,
            most,
            next: BTreeMap::new(),
        }
    }

    /// Whether a message may pass now. On average the rate is kept also where messages come a little
    /// early or late: what passes is due on a beat of the interval.
    pub fn passes(&mut self, channel: Channel, now: MonotonicTime) -> bool {
        let Some(next) = self.next.get_mut(&channel) else {
            let has_room = self.next.len() < self.most;
            if has_room {
                self.next.insert(channel, now + self.interval);
            }
            return has_room;
        };
        if now < *next {
            return false;
        }
        // After a pause a new beat begins: no burst makes up for it.
        let behind = now.remaining(*next) >= self.interval;
        *next = if behind { now } else { *next } + self.interval;
        true
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod throttle_tests {
    use super::*;

    fn passed(times_ms: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut throttle = Throttle::new(Duration::from_millis(100), 10);
        let channel = Channel::new("A").unwrap();
        let times = times_ms.into_iter();
        times
            .filter(|ms| throttle.passes(channel, MonotonicTime::from_ns(ms * 1_000_000)))
            .collect()
    }

    #[test]
    fn a_pause_is_not_made_up_for_by_a_burst() {
        let times = [0, 1000, 1001, 1002, 1100];
        assert_eq!(passed(times), [0, 1000, 1100]);
    }

    #[test]
    fn a_rate_that_is_no_part_of_the_other_is_kept_on_average() {
        let passed = passed((0..1000).map(|at| at * 7)).len();
        assert_eq!(passed, 70);
    }

    #[test]
    fn further_channels_are_held_back() {
        let mut throttle = Throttle::new(Duration::from_millis(1), 1);
        let now = MonotonicTime::from_ns(0);
        assert!(throttle.passes(Channel::new("A").unwrap(), now));
        assert!(!throttle.passes(Channel::new("B").unwrap(), now));
    }
}
