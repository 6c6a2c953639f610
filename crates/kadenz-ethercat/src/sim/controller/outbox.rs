//! Mailbox messages that wait for the MainDevice.

use std::collections::VecDeque;

use crate::sim::Time;

/// How many messages may wait.
pub(super) const CAPACITY: usize = 16;

/// A mailbox message, and when it may be read.
#[derive(Debug)]
struct OutboxMessage {
    due: Time,
    bytes: Vec<u8>,
}

/// A queue that keeps its last message, for a MainDevice that lost it.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<OutboxMessage>,
    /// The message in the mailbox, or the last one there.
    shown: Vec<u8>,
    /// The message that was read before that one.
    read: Vec<u8>,
    /// Whether the message in the mailbox was read already, and was requested again.
    again: bool,
    /// Buffers of sent messages, for reuse.
    spare: Vec<Vec<u8>>,
}

impl Outbox {
    pub(super) fn room(&self) -> usize {
        CAPACITY.saturating_sub(self.waiting.len())
    }

    /// Queues a message; returns false where the queue is full.
    pub(super) fn push(&mut self, message: &[u8], due: Time) -> bool {
        if self.room() == 0 {
            return false;
        }
        let bytes = self.copy(message);
        self.waiting.push_back(OutboxMessage { due, bytes });
        true
    }

    fn copy(&mut self, message: &[u8]) -> Vec<u8> {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(message);
        bytes
    }

    /// When the first message may be sent.
    pub(super) fn due(&self) -> Time {
        self.waiting.front().map_or(Time::NEVER, |it| it.due)
    }

    /// Takes the first message, if its time has come, for a mailbox that was read.
    pub(super) fn pop(&mut self, now: Time) -> Option<&[u8]> {
        if self.due() > now {
            return None;
        }
        let message = self.waiting.pop_front()?;
        let read = std::mem::replace(&mut self.shown, message.bytes);
        self.spare.push(std::mem::replace(&mut self.read, read));
        self.again = false;
        Some(&self.shown)
    }

    /// The message for a mailbox whose last one got lost after it was read; `None` where nothing changes. For a full
    /// mailbox that is the message before, since the one in it was not read, and follows later.
    pub(super) fn repeat(&mut self, full: bool) -> Option<&[u8]> {
        if full {
            if self.again || self.read.is_empty() {
                return None;
            }
            let before = std::mem::take(&mut self.read);
            let copy = self.copy(&before);
            self.read = before;
            let bytes = std::mem::replace(&mut self.shown, copy);
            let due = Time::ZERO;
            self.waiting.push_front(OutboxMessage { due, bytes });
        }
        self.again = true;
        Some(&self.shown[..]).filter(|it| !it.is_empty())
    }

    pub(super) fn clear(&mut self) {
        while let Some(message) = self.waiting.pop_front() {
            self.spare.push(message.bytes);
        }
        self.spare.truncate(CAPACITY);
        self.shown.clear();
        self.read.clear();
        self.again = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_in_order() {
        let mut outbox = Outbox::default();
        assert!(outbox.push(&[1], Time(10)) && outbox.push(&[2], Time(5)));
        assert_eq!(outbox.pop(Time(9)), None, "the second does not overtake");
        assert_eq!(outbox.pop(Time(10)), Some(&[1][..]));
        assert_eq!(outbox.pop(Time(10)), Some(&[2][..]));
        assert_eq!(outbox.due(), Time::NEVER);
    }

    #[test]
    fn what_got_lost_is_had_again_and_nothing_else_is_lost_by_that() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.repeat(false), None, "nothing was sent yet");
        for number in 1..=3 {
            assert!(outbox.push(&[number], Time::ZERO));
        }
        assert_eq!(outbox.pop(Time::ZERO), Some(&[1][..]));
        assert_eq!(outbox.repeat(true), None, "nothing was read yet");
        assert_eq!(outbox.repeat(false), Some(&[1][..]));
        assert_eq!(outbox.repeat(false), Some(&[1][..]), "and lost again");
        assert_eq!(outbox.pop(Time::ZERO), Some(&[2][..]));
        assert_eq!(outbox.repeat(true), Some(&[1][..]), "the second can wait");
        assert_eq!(outbox.repeat(true), None, "it lies there already");
        assert_eq!(outbox.repeat(false), Some(&[1][..]));
        assert_eq!(outbox.pop(Time::ZERO), Some(&[2][..]));
        assert_eq!(outbox.pop(Time::ZERO), Some(&[3][..]));
        assert_eq!(outbox.repeat(false), Some(&[3][..]));
    }

    #[test]
    fn a_full_outbox_takes_nothing() {
        let mut outbox = Outbox::default();
        for number in 0..CAPACITY {
            assert!(outbox.push(&[number as u8], Time::ZERO));
        }
        assert!(!outbox.push(&[99], Time::ZERO));
        outbox.clear();
        assert_eq!((outbox.room(), outbox.repeat(false)), (CAPACITY, None));
    }
}
