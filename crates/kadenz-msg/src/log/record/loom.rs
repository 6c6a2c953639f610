//! The ring between recording and writing under every interleaving that loom finds.

use super::ring::{Consumer, MessageHeader, Producer, ring};
use crate::sync::{Arc, AtomicU64, Ordering};

/// The bytes of a ring of eight words: one and a half of the messages that are pushed here.
const NARROW: usize = 64;

fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(run);
}

fn head(n: u32) -> MessageHeader {
    MessageHeader {
        length: payload(n).len() as u32,
        slot: n + 7,
        sequence: n,
        log_time: -i64::from(n),
        publish_time: i64::from(n),
    }
}

/// Of different lengths, so that heads are elsewhere in every round of the ring.
fn payload(n: u32) -> Vec<u8> {
    vec![n as u8 + 1; 8 * (n as usize % 2) + 3]
}

fn push(producer: &mut Producer, n: u32) -> bool {
    producer.push(&head(n), &[], &payload(n))
}

/// Takes the present messages; every message is whole, and later than the one before.
fn take(consumer: &mut Consumer, after: &mut Option<u32>) -> u32 {
    let (mut taken, mut bytes) = (0, Vec::new());
    while let Some(found) = consumer.pop(&mut bytes) {
        let n = found.sequence;
        assert!(after.is_none_or(|last| last < n), "{n} after {after:?}");
        assert_eq!((found, &bytes), (head(n), &payload(n)));
        *after = Some(n);
        taken += 1;
    }
    taken
}

#[test]
fn every_message_is_taken_whole_and_in_order_or_was_refused() {
    model(|| {
        let (mut producer, mut consumer) = ring(NARROW);
        let pushing =
            loom::thread::spawn(move || (0..3).filter(|n| push(&mut producer, *n)).count() as u32);
        let mut last = None;
        let mut taken = take(&mut consumer, &mut last);
        taken += take(&mut consumer, &mut last);
        let pushed = pushing.join().unwrap();
        taken += take(&mut consumer, &mut last);
        assert!(pushed >= 1, "the first one always has room");
        assert_eq!(taken, pushed);
    });
}

#[test]
fn room_that_was_given_back_is_not_read_any_more() {
    model(|| {
        let (mut producer, mut consumer) = ring(NARROW);
        assert!(push(&mut producer, 0) && !push(&mut producer, 1));
        let pushing = loom::thread::spawn(move || push(&mut producer, 1));
        let mut last = None;
        let mut taken = take(&mut consumer, &mut last);
        let pushed = pushing.join().unwrap();
        taken += take(&mut consumer, &mut last);
        assert_eq!(taken, 1 + u32::from(pushed));
    });
}

/// As `Writing::run` ends: after it has seen the end, it takes everything that was recorded before the end.
#[test]
fn what_was_recorded_before_the_end_is_taken_before_the_end() {
    model(|| {
        let (mut producer, mut consumer) = ring(NARROW * 2);
        let stop = Arc::new(AtomicU64::new(0));
        let recording = loom::thread::spawn({
            let stop = Arc::clone(&stop);
            move || {
                assert!(push(&mut producer, 0) && push(&mut producer, 1));
                stop.store(1, Ordering::Release);
            }
        });
        let (mut taken, mut last) = (0, None);
        loop {
            let ending = stop.load(Ordering::Acquire) == 1;
            let now = take(&mut consumer, &mut last);
            taken += now;
            if now == 0 {
                if ending {
                    break;
                }
                loom::thread::yield_now();
            }
        }
        recording.join().unwrap();
        assert_eq!(taken, 2);
    });
}
