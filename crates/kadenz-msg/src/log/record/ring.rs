//! A bounded ring of messages between one thread that records and one that writes.
//!
//! Assumption: one producer and one consumer, which the types ensure. Guarantees: neither waits for the
//! other, and the consumer reads whole messages only, because `end` is stored with release after the words
//! and loaded with acquire before them, and `begin` the other way round. The words are atomics, so that no
//! unsafe code is needed (as in decision 0211). Loom checks that in `loom.rs` beside this file, and Miri runs
//! the tests below.

use crate::sync::{Arc, AtomicU64, Ordering};

/// The fields before a message's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageHeader {
    pub(super) length: u32,
    pub(super) slot: u32,
    pub(super) sequence: u32,
    pub(super) log_time: i64,
    pub(super) publish_time: i64,
}

/// How many words a head takes.
const HEAD_WORDS: u64 = 4;

struct WordRing {
    words: Box<[AtomicU64]>,
    /// How many words have ever been read and written.
    begin: AtomicU64,
    end: AtomicU64,
}

impl WordRing {
    fn at(&self, place: u64) -> &AtomicU64 {
        let mask = self.words.len() as u64 - 1;
        &self.words[(place & mask) as usize]
    }
}

/// The end that messages are put into.
pub(super) struct Producer(Arc<WordRing>);

/// The end that messages are taken from.
pub(super) struct Consumer(Arc<WordRing>);

/// The minimum number of words of a ring; in a model each word is one more thing to interleave.
const MIN_WORDS: usize = if cfg!(loom) { 8 } else { 64 };

/// A ring of at least so many bytes, all of which are taken and touched now.
pub(super) fn ring(bytes: usize) -> (Producer, Consumer) {
    let count = bytes.div_ceil(8).max(MIN_WORDS).next_power_of_two();
    let words = Arc::new(WordRing {
        words: (0..count).map(|_| AtomicU64::new(u64::MAX)).collect(),
        begin: AtomicU64::new(0),
        end: AtomicU64::new(0),
    });
    (Producer(Arc::clone(&words)), Consumer(words))
}

impl Producer {
    /// Puts a message in, of two parts whose total length is in its head; `false` if there is no room.
    ///
    /// # Real-time safety
    /// It is wait-free, and allocates nothing.
    pub(super) fn push(&mut self, head: &MessageHeader, begin: &[[u8; 8]], payload: &[u8]) -> bool {
        let ring = &self.0;
        let needed = HEAD_WORDS + (begin.len() + payload.len().div_ceil(8)) as u64;
        let end = ring.end.load(Ordering::Relaxed);
        let used = end - ring.begin.load(Ordering::Acquire);
        if needed > ring.words.len() as u64 - used {
            return false;
        }
        let first = u64::from(head.length) | u64::from(head.slot) << 32;
        let words = [
            first,
            head.sequence.into(),
            head.log_time.cast_unsigned(),
            head.publish_time.cast_unsigned(),
        ];
        let mut place = end;
        for word in words {
            ring.at(place).store(word, Ordering::Relaxed);
            place += 1;
        }
        let (whole, rest) = payload.as_chunks::<8>();
        for bytes in begin.iter().chain(whole) {
            ring.at(place)
                .store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
            place += 1;
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            ring.at(place)
                .store(u64::from_le_bytes(last), Ordering::Relaxed);
        }
        ring.end.store(end + needed, Ordering::Release);
        true
    }
}

impl Consumer {
    /// Takes the oldest message out, its bytes over what the vector holds.
    pub(super) fn pop(&mut self, payload: &mut Vec<u8>) -> Option<MessageHeader> {
        let ring = &self.0;
        let begin = ring.begin.load(Ordering::Relaxed);
        if begin == ring.end.load(Ordering::Acquire) {
            return None;
        }
        let word = |place: u64| ring.at(begin + place).load(Ordering::Relaxed);
        let first = word(0);
        let head = MessageHeader {
            length: first as u32,
            slot: (first >> 32) as u32,
            sequence: word(1) as u32,
            log_time: word(2).cast_signed(),
            publish_time: word(3).cast_signed(),
        };
        let words = u64::from(head.length).div_ceil(8);
        payload.clear();
        for place in HEAD_WORDS..HEAD_WORDS + words {
            payload.extend_from_slice(&word(place).to_le_bytes());
        }
        payload.truncate(head.length as usize);
        ring.begin
            .store(begin + HEAD_WORDS + words, Ordering::Release);
        Some(head)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn head(n: u32, length: usize) -> MessageHeader {
        MessageHeader {
            length: length as u32,
            slot: n ^ 0xffff,
            sequence: n,
            log_time: -i64::from(n),
            publish_time: i64::MAX - i64::from(n),
        }
    }

    #[test]
    fn messages_come_out_whole_and_in_order_between_threads() {
        let (mut producer, mut consumer) = ring(1 << 10);
        let bytes = |n: u32| vec![n as u8; n as usize % 77];
        // Miri takes a minute for what takes a processor a moment.
        let count = if cfg!(miri) { 300 } else { 20_000 };
        let pushing = std::thread::spawn(move || {
            for n in 0..count {
                while !producer.push(&head(n, bytes(n).len()), &[], &bytes(n)) {
                    std::thread::yield_now();
                }
            }
        });
        let mut payload = Vec::new();
        for n in 0..count {
            let found = loop {
                match consumer.pop(&mut payload) {
                    Some(found) => break found,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(found, head(n, bytes(n).len()));
            assert_eq!(payload, bytes(n));
        }
        pushing.join().unwrap();
    }

    #[test]
    fn a_full_ring_refuses_and_takes_again_what_fits() {
        let (mut producer, mut consumer) = ring(512);
        assert!(!producer.push(&head(0, 600), &[], &[0; 600]));
        assert!(producer.push(&head(1, 200), &[], &[1; 200]));
        assert!(producer.push(&head(2, 200), &[], &[2; 200]));
        assert!(!producer.push(&head(3, 200), &[], &[3; 200]));
        let mut payload = Vec::new();
        assert_eq!(consumer.pop(&mut payload), Some(head(1, 200)));
        assert!(producer.push(&head(3, 200), &[], &[3; 200]));
        assert_eq!(consumer.pop(&mut payload), Some(head(2, 200)));
        assert_eq!(consumer.pop(&mut payload), Some(head(3, 200)));
        assert_eq!((consumer.pop(&mut payload), payload.len()), (None, 200));
    }

    #[test]
    fn recording_allocates_nothing() {
        let (mut producer, _consumer) = ring(1 << 16);
        let counted = allocation_counter::measure(|| {
            for n in 0..100 {
                producer.push(&head(n, 100), &[], &[n as u8; 100]);
            }
        });
        assert_eq!(counted.count_total, 0);
    }
}
