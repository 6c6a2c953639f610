//! The messages that a bridge has sent itself and must not carry back.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

/// Remembers messages that were sent to a bus, so that each is recognised once when it returns from there:
/// from the bridge's own socket, or by way of another bridge.
///
/// A message is recognised by channel and content. Another sender's message of the same content on the same
/// channel within the remembered time may be taken for it; one of the two is still carried, and never more
/// than were sent.
///
/// ```
/// use std::time::Duration;
/// use kadenz_msg::watch::EchoFilter;
/// use kadenz_rt::clock::MonotonicTime;
///
/// let mut sent = EchoFilter::new(Duration::from_secs(1), 1000);
/// let now = MonotonicTime::from_ns(0);
/// sent.remember("ARM", b"message", now);
/// assert!(sent.recognises("ARM", b"message", now));
/// assert!(!sent.recognises("ARM", b"message", now), "it was sent but once");
/// ```
#[derive(Debug)]
pub struct EchoFilter {
    keep: Duration,
    most: usize,
    hasher: RandomState,
    expected: HashMap<u64, u32>,
    order: VecDeque<(MonotonicTime, u64)>,
}

impl EchoFilter {
    /// Returns an empty memory that holds messages for that long, and at most so many.
    #[must_use]
    pub fn new(keep: Duration, most: usize) -> Self {
        Self {
            keep,
            most,
            hasher: RandomState::new(),
            expected: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    /// Notes a message before it is sent.
    pub fn remember(&mut self, channel: &str, payload: &[u8], now: MonotonicTime) {
        self.forget(now);
        if self.order.len() >= self.most {
            self.forget_oldest();
        }
        let key = self.hasher.hash_one((channel, payload));
        *self.expected.entry(key).or_default() += 1;
        self.order.push_back((now, key));
    }

    /// Returns whether a message is one that was sent, which is then not expected any more.
    pub fn recognises(&mut self, channel: &str, payload: &[u8], now: MonotonicTime) -> bool {
        self.forget(now);
        let key = self.hasher.hash_one((channel, payload));
        let Some(count) = self.expected.get_mut(&key) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            self.expected.remove(&key);
        }
        let found = self.order.iter().position(|it| it.1 == key);
        if let Some(at) = found {
            self.order.remove(at);
        }
        true
    }

    fn forget(&mut self, now: MonotonicTime) {
        let keep = self.keep;
        let old = |it: &(MonotonicTime, u64)| now.remaining(it.0) > keep;
        while self.order.front().is_some_and(old) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((_, key)) = self.order.pop_front() else {
            return;
        };
        if let Some(count) = self.expected.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.expected.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ms * 1_000_000)
    }

    #[test]
    fn each_message_comes_back_as_often_as_it_was_sent() {
        let mut sent = EchoFilter::new(Duration::from_secs(1), 10);
        sent.remember("A", b"x", at(0));
        sent.remember("A", b"x", at(1));
        sent.remember("B", b"x", at(1));
        let mut back = |channel| sent.recognises(channel, b"x", at(2));
        assert_eq!([back("A"), back("A"), back("A")], [true, true, false]);
        assert_eq!([back("B"), back("B")], [true, false]);
    }

    #[test]
    fn a_message_too_long_ago_is_another_senders() {
        let mut sent = EchoFilter::new(Duration::from_secs(1), 10);
        sent.remember("A", b"x", at(0));
        assert!(!sent.recognises("A", b"x", at(1001)));
        assert!(sent.expected.is_empty());
    }

    #[test]
    fn no_more_is_remembered_than_allowed() {
        let mut sent = EchoFilter::new(Duration::from_secs(1), 3);
        for message in 0..10_u8 {
            sent.remember("A", &[message], at(0));
        }
        assert_eq!((sent.order.len(), sent.expected.len()), (3, 3));
        assert!(sent.recognises("A", &[9], at(0)) && !sent.recognises("A", &[0], at(0)));
    }
}
