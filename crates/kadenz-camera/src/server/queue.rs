//! Units between the thread that receives and the thread that decodes.

use std::collections::VecDeque;

use kadenz_rt::clock::MonotonicTime;

use crate::source::{Capture, Coding, Content, Unit};

/// Beyond so many waiting units they are given up: 4 seconds at 30 frames a second.
const MAX_UNITS: usize = 120;
/// Beyond so many waiting bytes the units are given up: 64 MiB.
const MAX_BYTES: usize = 64 << 20;
/// After so many units a stream whose key pictures are not recognised is decoded anyway.
const MAX_WITHOUT_KEY: u64 = 300;

/// A unit that owns its bytes.
#[derive(Debug)]
pub(super) struct QueuedUnit {
    coding: Coding,
    bytes: Vec<u8>,
    is_key: bool,
    pub(super) meta: Meta,
}

/// What the receiver knows of a unit besides its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) number: u64,
    pub(super) capture: Capture,
    pub(super) first_byte: MonotonicTime,
    pub(super) arrival: MonotonicTime,
    pub(super) is_damaged: bool,
    /// Frames missed up to here, in all.
    pub(super) missed: u64,
    /// Frames with the same bytes as the frame before, up to here, in all.
    pub(super) duplicated: u64,
}

impl QueuedUnit {
    pub(super) fn coding(&self) -> Coding {
        self.coding
    }

    /// The unit, with the number of frames missed just before it.
    pub(super) fn unit(&self, missed: u64) -> Unit<'_> {
        Unit {
            content: Content::Encoded(self.coding, &self.bytes),
            is_key: self.is_key,
            capture: self.meta.capture,
            first_byte: self.meta.first_byte,
            arrival: self.meta.arrival,
            missed,
            is_damaged: self.meta.is_damaged,
        }
    }
}

/// The waiting units. When decoding falls behind, the newest key picture and what follows it stay, and the rest is
/// skipped: late pictures are worth nothing to a control loop.
#[derive(Debug, Default)]
pub(super) struct UnitQueue {
    waiting: VecDeque<QueuedUnit>,
    bytes: usize,
    /// Buffers to use again.
    spare: Vec<Vec<u8>>,
    /// Units skipped since the last overflow; `None` once a key picture came.
    without_key: Option<u64>,
    skipped: u64,
}

impl UnitQueue {
    /// Takes a copy of an encoded unit in.
    pub(super) fn push(&mut self, coding: Coding, bytes: &[u8], is_key: bool, meta: Meta) {
        // With one unit waiting the decoder still keeps up; with two or more it is behind.
        let is_behind = self.waiting.len() > 1;
        if is_key && (is_behind || self.without_key.is_some()) {
            self.skip_all();
            self.without_key = None;
        }
        if let Some(skipped) = &mut self.without_key {
            *skipped += 1;
            self.skipped += 1;
            if *skipped < MAX_WITHOUT_KEY {
                return;
            }
            self.without_key = None;
        }
        if self.waiting.len() >= MAX_UNITS || self.bytes + bytes.len() > MAX_BYTES {
            self.skip_all();
            self.skipped += 1;
            self.without_key = Some(0);
            return;
        }
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(bytes);
        self.bytes += copy.len();
        self.waiting.push_back(QueuedUnit {
            coding,
            bytes: copy,
            is_key,
            meta,
        });
    }

    /// Takes the oldest waiting unit.
    pub(super) fn pop(&mut self) -> Option<QueuedUnit> {
        let unit = self.waiting.pop_front()?;
        self.bytes -= unit.bytes.len();
        Some(unit)
    }

    /// Gives a buffer back.
    pub(super) fn done(&mut self, unit: QueuedUnit) {
        if self.spare.len() < 4 {
            self.spare.push(unit.bytes);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Units that were skipped so far.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Drops the waiting units without counting them, where the stream restarts.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.bytes = 0;
        self.without_key = None;
    }

    fn skip_all(&mut self) {
        self.skipped += self.waiting.len() as u64;
        self.waiting.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queue: &mut UnitQueue, number: u64, is_key: bool) {
        let meta = Meta {
            number,
            capture: Capture::Unknown,
            first_byte: MonotonicTime::default(),
            arrival: MonotonicTime::default(),
            is_damaged: false,
            missed: 0,
            duplicated: 0,
        };
        queue.push(Coding::H264, &[number as u8], is_key, meta);
    }

    fn numbers(queue: &mut UnitQueue) -> Vec<u64> {
        std::iter::from_fn(|| queue.pop())
            .map(|it| it.meta.number)
            .collect()
    }

    #[test]
    fn a_decoder_that_keeps_up_gets_every_unit() {
        let mut queue = UnitQueue::default();
        for number in 0..300 {
            push(&mut queue, number, number % 30 == 0);
            assert_eq!(numbers(&mut queue), [number]);
        }
        assert_eq!(queue.skipped(), 0);
    }

    #[test]
    fn a_decoder_that_fell_behind_goes_on_at_the_newest_key() {
        let mut queue = UnitQueue::default();
        for number in 0..35 {
            push(&mut queue, number, number % 30 == 0);
        }
        assert_eq!(numbers(&mut queue), [30, 31, 32, 33, 34]);
        assert_eq!(queue.skipped(), 30);
    }

    #[test]
    fn where_every_unit_is_a_key_the_newest_two_are_left_at_most() {
        let mut queue = UnitQueue::default();
        for number in 0..10 {
            push(&mut queue, number, true);
        }
        assert!(numbers(&mut queue).len() <= 2);
    }

    #[test]
    fn the_queue_is_bounded_and_goes_on_with_a_key() {
        let mut queue = UnitQueue::default();
        push(&mut queue, 0, true);
        for number in 1..=200 {
            push(&mut queue, number, false);
        }
        assert_eq!(
            numbers(&mut queue),
            Vec::<u64>::new(),
            "nothing decodes without a key"
        );
        push(&mut queue, 201, true);
        push(&mut queue, 202, false);
        assert_eq!(numbers(&mut queue), [201, 202]);
        assert_eq!(queue.skipped(), 201);
    }

    #[test]
    fn a_stream_with_unrecognised_keys_is_decoded_anyway() {
        let mut queue = UnitQueue::default();
        for number in 0..450 {
            push(&mut queue, number, false);
        }
        assert!(!numbers(&mut queue).is_empty());
    }
}
