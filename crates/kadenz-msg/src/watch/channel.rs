//! The statistics of one channel.

use std::collections::VecDeque;

use kadenz_rt::clock::MonotonicTime;

use super::recent::{Pace, Recent};
use super::{ReceivedMessage, Sparkline, WatchOptions};
use crate::arrival::SenderId;
use crate::channel::Channel;
use crate::loss::Tally;
use crate::message::Fingerprint;

/// The number of senders of one channel that are counted apart.
const MAX_SENDERS: usize = 32;
/// The number of seconds whose counts are remembered.
const SECONDS: usize = 60;

/// The statistics of one channel.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelFigures {
    /// The channel whose messages are counted.
    pub channel: Channel,
    /// Messages since the beginning.
    pub messages: u64,
    /// The bytes of their payloads together.
    pub bytes: u64,
    /// The rate of the messages; `None` until two have arrived.
    pub pace: Option<Pace>,
    /// The time of the last one.
    pub last_at: MonotonicTime,
    /// How long its payload was.
    pub last_bytes: usize,
    /// The hash of its type; `None` if it had fewer than eight bytes.
    pub fingerprint: Option<Fingerprint>,
    /// The number of messages whose hash differs from that of the message before: a program publishes another
    /// type here.
    pub type_changes: u64,
    /// Messages that could not be decoded.
    pub undecodable: u64,
    /// The senders, the first 32 of them.
    pub senders: Vec<SenderFigures>,
    /// The messages that were lost, doubled and out of order here: of senders whose numbers count this
    /// channel alone. `None` if no such sender is known.
    pub loss: Option<Tally>,
}

/// The statistics of one sender on one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderFigures {
    /// The sender whose messages are counted.
    pub sender: SenderId,
    /// Its messages on this channel.
    pub messages: u64,
    /// The lost, doubled and out-of-order messages of the sender; `None` if it has no numbers, or its numbers
    /// count other channels as well.
    pub loss: Option<Tally>,
}

impl ChannelFigures {
    pub(super) fn note_loss(&mut self, sender: SenderId, tally: &Tally) {
        self.loss.get_or_insert_default().add(tally);
        let mut senders = self.senders.iter_mut();
        if let Some(of) = senders.find(|it| it.sender == sender) {
            of.loss = Some(*tally);
        }
    }
}

#[derive(Debug)]
pub(super) struct ChannelWatch {
    channel: Channel,
    messages: u64,
    bytes: u64,
    recent: Recent,
    last_at: MonotonicTime,
    last_bytes: usize,
    fingerprint: Option<Fingerprint>,
    type_changes: u64,
    pub(super) undecodable: u64,
    senders: Vec<SenderFigures>,
    seconds: Seconds,
}

impl ChannelWatch {
    pub(super) fn new(channel: Channel, options: &WatchOptions) -> Self {
        Self {
            channel,
            messages: 0,
            bytes: 0,
            recent: Recent::new(options.window, options.most_messages, options.expected),
            last_at: MonotonicTime::default(),
            last_bytes: 0,
            fingerprint: None,
            type_changes: 0,
            undecodable: 0,
            senders: Vec::new(),
            seconds: Seconds::default(),
        }
    }

    pub(super) fn add(&mut self, received: &ReceivedMessage) {
        if self.messages > 0 && self.fingerprint != received.fingerprint {
            self.type_changes += 1;
        }
        self.messages += 1;
        self.bytes += received.bytes as u64;
        self.recent.add(received.at, received.bytes);
        self.seconds.add(received.at);
        self.last_at = self.last_at.max(received.at);
        self.last_bytes = received.bytes;
        self.fingerprint = received.fingerprint;
        let has_room = self.senders.len() < MAX_SENDERS;
        let mut senders = self.senders.iter_mut();
        match senders.find(|it| it.sender == received.source.sender) {
            Some(sender) => sender.messages += 1,
            None if has_room => self.senders.push(SenderFigures {
                sender: received.source.sender,
                messages: 1,
                loss: None,
            }),
            None => {}
        }
    }

    pub(super) fn figures(&self, now: MonotonicTime) -> ChannelFigures {
        ChannelFigures {
            channel: self.channel,
            messages: self.messages,
            bytes: self.bytes,
            pace: self.recent.pace(now),
            last_at: self.last_at,
            last_bytes: self.last_bytes,
            fingerprint: self.fingerprint,
            type_changes: self.type_changes,
            undecodable: self.undecodable,
            senders: self.senders.clone(),
            loss: None,
        }
    }

    pub(super) fn sparkline(&self, now: MonotonicTime) -> Sparkline {
        self.seconds.sparkline(now)
    }
}

/// The number of messages in each of the last whole seconds of the clock.
#[derive(Debug, Default)]
struct Seconds {
    counts: VecDeque<u64>,
    /// The second of the last count.
    newest: u64,
}

impl Seconds {
    fn add(&mut self, at: MonotonicTime) {
        let second = at.as_ns() / 1_000_000_000;
        if self.counts.is_empty() {
            self.newest = second;
            self.counts.push_back(0);
        }
        // Late messages belong to a second that is there already.
        let steps = second.saturating_sub(self.newest);
        if steps > SECONDS as u64 {
            self.counts.clear();
        }
        for _ in 0..steps.min(SECONDS as u64 + 1) {
            self.counts.push_back(0);
        }
        self.newest = self.newest.max(second);
        while self.counts.len() > SECONDS + 1 {
            self.counts.pop_front();
        }
        let back = usize::try_from(self.newest - second).unwrap_or(usize::MAX);
        let at = self.counts.len().saturating_sub(1).checked_sub(back);
        if let Some(count) = at.and_then(|at| self.counts.get_mut(at)) {
            *count += 1;
        }
    }

    /// Returns the counts without the present second, and with the silent ones since.
    fn sparkline(&self, now: MonotonicTime) -> Sparkline {
        let mut sparkline = Sparkline::new(SECONDS);
        let second = now.as_ns() / 1_000_000_000;
        let first = (self.newest + 1).saturating_sub(self.counts.len() as u64);
        for (at, count) in (first..).zip(&self.counts) {
            if at < second {
                sparkline.push(*count as f64);
            }
        }
        let silent = second.saturating_sub(self.newest + 1);
        for _ in 0..silent.min(SECONDS as u64) {
            sparkline.push(0.0);
        }
        sparkline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(times_ms: &[u64], now_ms: u64) -> Vec<f64> {
        let mut seconds = Seconds::default();
        for ms in times_ms {
            seconds.add(MonotonicTime::from_ns(ms * 1_000_000));
        }
        let now = MonotonicTime::from_ns(now_ms * 1_000_000);
        seconds.sparkline(now).values().collect()
    }

    #[test]
    fn each_whole_second_has_its_count() {
        assert_eq!(drawn(&[100, 200, 1_100, 3_000], 3_500), [2.0, 1.0, 0.0]);
        assert_eq!(drawn(&[100, 200], 3_500), [2.0, 0.0, 0.0]);
        assert_eq!(drawn(&[900, 1_100, 950], 2_000), [2.0, 1.0]);
        assert_eq!(drawn(&[], 5_000), [0.0; 4], "nothing came");
    }

    #[test]
    fn no_more_than_a_minute_is_remembered() {
        let beats: Vec<u64> = (0..200).map(|second| second * 1000).collect();
        assert_eq!(drawn(&beats, 200_000).len(), SECONDS);
        let after_a_pause = drawn(&[0, 10_000_000], 10_001_000);
        assert_eq!(
            (after_a_pause.len(), after_a_pause.last()),
            (SECONDS, Some(&1.0))
        );
        assert_eq!(after_a_pause.iter().sum::<f64>(), 1.0);
    }
}
