//! Statistics of the messages on a bus: rate, regularity, size and loss; sans-IO.
//!
//! A [`Watcher`] takes every received message, with its time, and returns at any time the statistics of each
//! channel. `kadenz msg spy`, `hz` and `list` show these; a watcher runs as well in virtual time or over a
//! log.
//!
//! ```
//! use kadenz_msg::channel::Channel;
//! use kadenz_msg::watch::{ReceivedMessage, WatchOptions, Watcher};
//! use kadenz_rt::clock::MonotonicTime;
//!
//! let mut watcher = Watcher::new(WatchOptions::default());
//! let ms = |ms: u64| MonotonicTime::from_ns(ms * 1_000_000);
//! for beat in 0..=100 {
//!     watcher.add(&ReceivedMessage::at(ms(10 * beat), Channel::new("FEEDBACK")?, 200));
//! }
//! let feedback = &watcher.figures(ms(1000))[0];
//! let pace = feedback.pace.expect("more than one was received");
//! assert_eq!((feedback.messages, pace.rate_hz.round()), (101, 100.0));
//! assert_eq!(pace.jitter.expect("two intervals are enough").p50_ns, Some(0));
//! # Ok::<(), kadenz_msg::channel::ChannelError>(())
//! ```
//!
//! Memory is bounded for any messages: by the number of channels, of senders, and of messages that are
//! remembered of each channel. Not for a real-time path: it allocates as channels appear.

mod channel;
mod echo_filter;
mod recent;
mod traces;

use std::collections::BTreeMap;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

pub use channel::{ChannelFigures, SenderFigures};
pub use echo_filter::EchoFilter;
pub use recent::{Jitter, Pace};
pub use traces::{Sparkline, Traces};

use crate::arrival::SourceInfo;
use crate::bus::Raw;
use crate::channel::Channel;
use crate::loss::{LossMeter, SenderTally};
use crate::message::Fingerprint;
use channel::ChannelWatch;

/// How much is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchOptions {
    /// The span before now whose messages count for rates, jitter and bandwidth.
    pub window: Duration,
    /// The maximum number of messages of a channel that are remembered for them.
    pub most_messages: usize,
    /// The maximum number of channels that are counted apart; messages of further ones are counted together.
    pub most_channels: usize,
    /// The maximum number of senders that are counted apart.
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
pub struct ReceivedMessage {
    /// The time, best by the kernel's stamp.
    pub at: MonotonicTime,
    /// The channel it was published to.
    pub channel: Channel,
    /// The length of its payload.
    pub bytes: usize,
    /// The sender and the number that it gave the message.
    pub source: SourceInfo,
    /// The first eight bytes, as the hash of its type; `None` for fewer than eight bytes.
    pub fingerprint: Option<Fingerprint>,
}

impl ReceivedMessage {
    /// Returns a message with these values and no others.
    #[must_use]
    pub fn at(at: MonotonicTime, channel: Channel, bytes: usize) -> Self {
        Self {
            at,
            channel,
            bytes,
            source: SourceInfo::default(),
            fingerprint: None,
        }
    }
}

/// Its time is the kernel's stamp if there is one.
impl From<&Raw<'_>> for ReceivedMessage {
    fn from(raw: &Raw<'_>) -> Self {
        let stamps = raw.stamps();
        Self {
            at: stamps.kernel.unwrap_or(stamps.taken),
            channel: raw.channel,
            bytes: raw.payload.len(),
            source: raw.delivery.info.source,
            fingerprint: raw.fingerprint(),
        }
    }
}

/// The counts of channels beyond the maximum that are counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UntrackedCounts {
    /// Number of messages on these channels.
    pub messages: u64,
    /// The bytes of their payloads together.
    pub bytes: u64,
}

/// Keeps the statistics of the channels of a bus.
#[derive(Debug)]
pub struct Watcher {
    options: WatchOptions,
    channels: BTreeMap<Channel, ChannelWatch>,
    loss: LossMeter,
    untracked: UntrackedCounts,
}

impl Watcher {
    /// Returns a watcher without messages.
    #[must_use]
    pub fn new(options: WatchOptions) -> Self {
        Self {
            options,
            channels: BTreeMap::new(),
            loss: LossMeter::new(options.most_senders),
            untracked: UntrackedCounts::default(),
        }
    }

    /// Counts a message. Loss is exact if the caller passes all messages of a sender, on whatever channel;
    /// which of them are shown is another question.
    pub fn add(&mut self, received: &ReceivedMessage) {
        let SourceInfo { sender, sequence } = received.source;
        if let Some(sequence) = sequence {
            self.loss.note(sender, sequence, received.channel.as_str());
        }
        if let Some(channel_watch) = self.channel_watch(received.channel) {
            channel_watch.add(received);
            return;
        }
        self.untracked.messages += 1;
        self.untracked.bytes += received.bytes as u64;
    }

    /// Counts a message of a known channel that could not be decoded.
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

    /// Returns the present statistics of each channel, by name, with the loss of the messages that this
    /// watcher received.
    #[must_use]
    pub fn figures(&self, now: MonotonicTime) -> Vec<ChannelFigures> {
        self.figures_with(now, self.loss.counters())
    }

    /// As [`Watcher::figures`] with the loss of a source that receives more messages, such as
    /// [`Bus::losses`]: messages that a slow listener dropped itself are then not taken for a loss on the
    /// way.
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

    /// Returns the number of messages of a channel in each second, for a small picture; `None` if no message
    /// of the channel has arrived.
    #[must_use]
    pub fn sparkline(&self, channel: &str, now: MonotonicTime) -> Option<Sparkline> {
        let channel_watch = self.channels.get(channel)?;
        Some(channel_watch.sparkline(now))
    }

    /// Returns the counts of each sender, by the messages that this watcher received.
    pub fn losses(&self) -> impl Iterator<Item = &SenderTally> {
        self.loss.counters()
    }

    /// Returns the counts of further channels.
    #[must_use]
    pub fn untracked(&self) -> UntrackedCounts {
        self.untracked
    }
}

// A maximum rate of the messages of each channel.

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
    /// Returns a throttle of at most so many channels; messages of further ones are held back.
    #[must_use]
    pub fn new(interval: Duration, most: usize) -> Self {
        Self {
            interval,
            most,
            next: BTreeMap::new(),
        }
    }

    /// Returns whether a message may pass now. On average the rate is kept also if messages arrive a little
    /// early or late: a message that passes is due on a beat of the interval.
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
    fn a_rate_that_is_not_a_part_of_the_other_is_kept_on_average() {
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
