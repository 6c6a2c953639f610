//! Tests that are small enough for Miri; `tests/loom.rs` checks every interleaving.

use std::thread;

use super::{LAYOUT, pair, shared};
use crate::{
    histogram::{Histogram, SignedHistogram},
    recorder::Counts,
};

const VALUES: i64 = if cfg!(miri) { 30 } else { 100_000 };
const HOUR: i64 = 3_600_000_000_000;

/// Values of all magnitudes, some early, one in ten a miss.
fn value(n: i64) -> i64 {
    let magnitude = (n * 7919) % 1000;
    if n % 10 == 0 {
        1_000_000 + n
    } else if n % 3 == 0 {
        -magnitude - 1
    } else {
        magnitude
    }
}

const DEADLINE: u64 = 999_999;

fn empty() -> SignedHistogram {
    let [late, early] = [LAYOUT; 2].map(Histogram::with_layout);
    SignedHistogram { late, early }
}

fn directly(values: impl Iterator<Item = i64>) -> SignedHistogram {
    let mut histogram = empty();
    values.for_each(|value| histogram.record(value));
    histogram
}

#[test]
fn counts_are_exact() {
    let (mut writer, mut reader) = pair(Some(100));
    for value in [7, -3, 101, 102, 100, 103, HOUR, HOUR + 1, -HOUR - 1] {
        writer.record(value);
    }
    assert_eq!(reader.counts(), Counts::default());
    let mut interval = SignedHistogram::new();
    reader.flip_into(&mut interval);
    let expected = Counts {
        recorded: 9,
        dropped: 0,
        early: 2,
        saturated: 2,
        misses: 5,
        longest_miss_run: 3,
        min_ns: Some(-HOUR - 1),
        max_ns: Some(HOUR + 1),
    };
    assert_eq!(reader.counts(), expected);
    assert_eq!(interval.count(), 9);
}

#[test]
fn a_run_of_misses_goes_on_over_a_flip() {
    let (mut writer, mut reader) = pair(Some(100));
    let (recorder, mut other) = shared(Some(100));
    let mut interval = SignedHistogram::new();
    for values in [&[101, 101][..], &[101, 5, 101], &[101]] {
        values.iter().for_each(|value| writer.record(*value));
        values.iter().for_each(|value| recorder.record(*value));
        reader.flip_into(&mut interval);
        other.flip_into(&mut interval);
        assert_eq!(reader.counts(), other.counts());
    }
    assert_eq!(reader.counts().longest_miss_run, 3);
    assert_eq!(reader.counts().misses, 5);
}

#[test]
fn without_a_deadline_nothing_is_missed() {
    for deadline in [None, Some(u64::MAX)] {
        let (mut writer, mut reader) = pair(deadline);
        writer.record(i64::MAX);
        reader.flip_into(&mut SignedHistogram::new());
        assert_eq!(reader.counts().misses, 0);
    }
}

#[test]
fn an_interval_holds_nothing_stale() {
    let (mut writer, mut reader) = pair(None);
    let mut interval = directly([1, 2, 3].into_iter());
    writer.record(-40);
    writer.record(-50);
    reader.flip_into(&mut interval);
    assert_eq!(interval, directly([-40, -50].into_iter()));
    reader.flip_into(&mut interval);
    assert!(interval.is_empty());
    writer.record(60);
    reader.flip_into(&mut interval);
    assert_eq!(interval, directly([60].into_iter()));
    assert_eq!(
        (reader.counts().min_ns, reader.counts().max_ns),
        (Some(-50), Some(60))
    );
}

#[test]
fn a_lone_writer_loses_nothing_over_flips() {
    let (mut writer, mut reader) = pair(Some(DEADLINE));
    let writing = thread::spawn(move || (0..VALUES).for_each(|n| writer.record(value(n))));
    let (mut sum, mut interval) = (empty(), empty());
    while !writing.is_finished() {
        reader.flip_into(&mut interval);
        sum.add(&interval);
        thread::yield_now();
    }
    // Only `join` orders the writer's stores before the reads below; `is_finished` does not.
    writing.join().expect("the writer does not panic");
    reader.flip_into(&mut interval);
    sum.add(&interval);
    assert_eq!(sum, directly((0..VALUES).map(value)));
    let counts = reader.counts();
    assert_eq!(counts.recorded, VALUES.unsigned_abs());
    assert_eq!(counts.misses, VALUES.unsigned_abs() / 10);
    assert_eq!(counts.early, sum.early.count());
    assert_eq!(counts.min_ns, (0..VALUES).map(value).min());
    assert_eq!(counts.max_ns, (0..VALUES).map(value).max());
}

#[test]
fn several_writers_lose_nothing_over_flips() {
    let (recorder, mut reader) = shared(Some(DEADLINE));
    let writers = [0, 1].map(|_| {
        let recorder = recorder.clone();
        thread::spawn(move || (0..VALUES).for_each(|n| recorder.record(value(n))))
    });
    let (mut sum, mut interval) = (empty(), empty());
    while !writers.iter().all(thread::JoinHandle::is_finished) {
        reader.flip_into(&mut interval);
        sum.add(&interval);
        thread::yield_now();
    }
    for writer in writers {
        writer.join().expect("a writer does not panic");
    }
    reader.flip_into(&mut interval);
    sum.add(&interval);
    assert_eq!(sum, directly((0..VALUES).chain(0..VALUES).map(value)));
    let counts = reader.counts();
    assert_eq!(counts.recorded, 2 * VALUES.unsigned_abs());
    assert_eq!(counts.misses, 2 * (VALUES.unsigned_abs() / 10));
    assert_eq!(counts.min_ns, (0..VALUES).map(value).min());
    assert_eq!(counts.max_ns, (0..VALUES).map(value).max());
}

#[test]
fn many_falling_values_count_as_if_recorded_one_by_one() {
    for (first_ns, last_ns, count) in [
        (5_000_000, 1_000, 5_000),
        (2_000, 0, 17),
        (1_000_003, 999_997, 3),
        (HOUR + 50, HOUR - 50, 20),
        (70, 70, 9),
        (70, 70, 1),
        (70, 70, 0),
    ] {
        let values = super::Falling {
            first_ns,
            last_ns,
            count: count.min(VALUES.unsigned_abs()),
        };
        let (mut together, mut of_together) = pair(Some(DEADLINE));
        let (mut one_by_one, mut of_one_by_one) = pair(Some(DEADLINE));
        together.record_falling(&values);
        (0..values.count).for_each(|place| one_by_one.record(values.at(place)));
        let [mut counted, mut expected] = [empty(), empty()];
        of_together.flip_into(&mut counted);
        of_one_by_one.flip_into(&mut expected);
        assert_eq!(counted, expected, "{values:?}");
        assert_eq!(of_together.counts(), of_one_by_one.counts(), "{values:?}");
    }
}
