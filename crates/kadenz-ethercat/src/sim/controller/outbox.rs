//! Mailbox messages that wait for the MainDevice.

use std::collections::VecDeque;

use crate::sim::Time;

/// How many messages may wait.
pub(super) const CAPACITY: usize = 16;

#[derive(Debug)]
struct Message {
    due: Time,
    bytes: Vec<u8>,
}

/// A queue that forgets its last message only when there is a newer: it may be asked for again.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<Message>,
    last: Vec<u8>,
    /// Memory of messages that are gone.
    spare: Vec<Vec<u8>>,
}

impl Outbox {
    pub(super) fn room(&self) -> usize {
        CAPACITY - self.waiting.len()
    }

    /// Whether it was taken.
    pub(super) fn push(&mut self, message: &[u8], due: Time) -> bool {
        if self.room() == 0 {
            return false;
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(message);
        self.waiting.push_back(Message { due, bytes });
        true
    }

    /// When the first may go.
    pub(super) fn due(&self) -> Time {
        self.waiting.front().map_or(Time::NEVER, |it| it.due)
    }

    /// The first, if its time has come.
    pub(super) fn pop(&mut self, now: Time) -> Option<&[u8]> {
        if self.due() > now {
            return None;
        }
        let message = self.waiting.pop_front()?;
        self.spare
            .push(std::mem::replace(&mut self.last, message.bytes));
        Some(&self.last)
    }

    /// The last that went, for a MainDevice that lost it.
    pub(super) fn last(&self) -> Option<&[u8]> {
        Some(&self.last[..]).filter(|it| !it.is_empty())
    }

    pub(super) fn clear(&mut self) {
        while let Some(message) = self.waiting.pop_front() {
            self.spare.push(message.bytes);
        }
        self.spare.truncate(CAPACITY);
        self.last.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_in_order_and_the_last_can_be_had_again() {
        let mut outbox = Outbox::default();
        assert!(outbox.push(&[1], Time(10)) && outbox.push(&[2], Time(5)));
        assert_eq!(outbox.pop(Time(9)), None, "the second does not overtake");
        assert_eq!(outbox.pop(Time(10)), Some(&[1][..]));
        assert_eq!(outbox.last(), Some(&[1][..]));
        assert_eq!(outbox.pop(Time(10)), Some(&[2][..]));
        assert_eq!(outbox.due(), Time::NEVER);
    }

    #[test]
    fn a_full_outbox_takes_nothing() {
        let mut outbox = Outbox::default();
        for number in 0..CAPACITY {
            assert!(outbox.push(&[number as u8], Time::ZERO));
        }
        assert!(!outbox.push(&[99], Time::ZERO));
        outbox.clear();
        assert_eq!((outbox.room(), outbox.last()), (CAPACITY, None));
    }
}
