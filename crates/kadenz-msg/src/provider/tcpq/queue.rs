//! The messages that wait for a client that does not read as fast as others publish.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;

use crate::provider::stream::connection_slots::Share;

/// The memory of a message beside its bytes.
const AROUND: usize = 128;
/// The maximum number of messages that are written by one call.
const BATCH: usize = 16;

/// The wire form of a message: one copy for all clients that wait for it.
#[derive(Debug)]
pub(super) struct WireMessage {
    bytes: Box<[u8]>,
    _memory: Share,
}

impl WireMessage {
    /// Returns the memory of a message whose parts have that many bytes.
    pub(super) fn cost(length: usize) -> usize {
        length + AROUND
    }

    /// Returns a copy, in memory that was claimed for it.
    pub(super) fn new(parts: &[&[u8]], memory: Share) -> Arc<Self> {
        let bytes = parts.concat().into_boxed_slice();
        Arc::new(Self {
            bytes,
            _memory: memory,
        })
    }
}

/// Messages in the order in which they are to be sent.
#[derive(Debug, Default)]
pub(super) struct SendQueue {
    waiting: VecDeque<Arc<WireMessage>>,
    /// The number of sent bytes of the first.
    sent: usize,
    bytes: usize,
}

impl SendQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes that wait, as if no message were shared.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the memory of the queue itself, without messages.
    pub(super) fn own_bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<Arc<WireMessage>>()
    }

    /// Reserves memory for one more.
    pub(super) fn reserve(&mut self) {
        self.waiting.reserve(1);
    }

    /// Adds a message, of which so many bytes are sent if it is the first.
    pub(super) fn push(&mut self, message: Arc<WireMessage>, sent: usize) {
        if self.waiting.is_empty() {
            self.sent = sent;
        }
        self.bytes += message.bytes.len() - sent;
        self.waiting.push_back(message);
    }

    /// Writes until nothing waits or nothing more is taken, but not much more than `limit` bytes;
    /// whether more may be taken.
    pub(super) fn flush(
        &mut self,
        limit: usize,
        mut write: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<bool> {
        let mut done = 0;
        while !self.waiting.is_empty() && done < limit {
            let mut slices = [IoSlice::new(&[]); BATCH];
            let mut count = 0;
            for (slice, message) in slices.iter_mut().zip(&self.waiting) {
                let sent = if count == 0 { self.sent } else { 0 };
                *slice = IoSlice::new(&message.bytes[sent..]);
                count += 1;
            }
            let written = write(&slices[..count])?;
            if written == 0 {
                return Ok(false);
            }
            self.forget(written);
            done += written;
        }
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
        Ok(true)
    }

    fn forget(&mut self, mut written: usize) {
        self.bytes = self.bytes.saturating_sub(written);
        while let Some(first) = self.waiting.front() {
            let left = first.bytes.len() - self.sent;
            if written < left {
                self.sent += written;
                return;
            }
            written -= left;
            self.sent = 0;
            self.waiting.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::stream::connection_slots::Budget;

    #[test]
    fn a_message_is_held_once_for_all_that_wait_for_it() {
        let budget = Budget::new(10_000);
        let memory = budget.take(WireMessage::cost(1000)).unwrap();
        let message = WireMessage::new(&[&[1; 400], &[2; 600]], memory);
        let mut queues: Vec<SendQueue> = (0..100).map(|_| SendQueue::default()).collect();
        for queue in &mut queues {
            queue.push(Arc::clone(&message), 0);
            assert_eq!(queue.bytes(), 1000);
        }
        drop(message);
        assert_eq!(budget.taken(), WireMessage::cost(1000));
        queues.clear();
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn however_little_is_taken_at_once_the_bytes_are_the_same() {
        let budget = Budget::new(10_000);
        for most in [1, 2, 7, 1000] {
            let mut queue = SendQueue::default();
            for (text, sent) in [("abcd", 2), ("e", 0), ("fgh", 0)] {
                let memory = budget.take(WireMessage::cost(text.len())).unwrap();
                queue.push(WireMessage::new(&[text.as_bytes()], memory), sent);
            }
            assert_eq!(queue.bytes(), 6);
            let mut came = Vec::new();
            let mut write = |slices: &[IoSlice<'_>]| {
                let all: Vec<u8> = slices.iter().flat_map(|it| it.to_vec()).collect();
                let count = all.len().min(most);
                came.extend_from_slice(&all[..count]);
                Ok(count)
            };
            assert!(queue.flush(1, &mut write).unwrap());
            assert!(queue.flush(usize::MAX, &mut write).unwrap());
            assert_eq!((came, queue.bytes()), (b"cdefgh".to_vec(), 0));
            assert!(queue.is_empty() && budget.taken() == 0);
        }
    }

    #[test]
    fn a_turn_writes_no_more_than_its_limit_and_a_full_socket_ends_it() {
        let budget = Budget::new(10_000);
        let mut queue = SendQueue::default();
        for _ in 0..2 * BATCH {
            let memory = budget.take(WireMessage::cost(10)).unwrap();
            queue.push(WireMessage::new(&[&[0; 10]], memory), 0);
        }
        let all = |slices: &[IoSlice<'_>]| Ok(slices.iter().map(|it| it.len()).sum());
        assert!(queue.flush(10, all).unwrap());
        assert_eq!(queue.bytes(), 10 * BATCH);
        assert!(!queue.flush(10, |_| Ok(0)).unwrap());
        assert_eq!(queue.bytes(), 10 * BATCH);
    }
}
