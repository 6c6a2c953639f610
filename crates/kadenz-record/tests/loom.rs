//! Models of the phaser and of the recorder, under every interleaving that loom finds:
//! `RUSTFLAGS="--cfg loom" cargo test -p kadenz-record --test loom --release`.
//!
//! The reader of the phaser's models reads and writes the counters in two steps: if another thread used the same
//! buffer in between, a count would be lost and the sum would be wrong.
#![cfg(loom)]

use kadenz_record::{
    histogram::SignedHistogram, phaser::WriterReaderPhaser, recorder, recorder::Counts,
};
use loom::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

/// Checks `run` under all interleavings with up to three preemptions, which take seconds; more take hours.
/// (`LOOM_MAX_PREEMPTIONS` sets another number.)
fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(run);
}

#[derive(Default)]
struct Counted {
    phaser: WriterReaderPhaser,
    counts: [AtomicU64; 2],
}

impl Counted {
    fn count(&self) {
        let section = self.phaser.enter();
        self.counts[section.phase().index()].fetch_add(1, Relaxed);
    }

    fn flip_and_take(&self) -> u64 {
        let mut turn = self.phaser.read();
        turn.flip();
        let counter = &self.counts[turn.resting().index()];
        let count = counter.load(Relaxed);
        counter.store(0, Relaxed);
        count
    }
}

#[test]
fn every_entry_of_two_writers_is_taken_once() {
    model(|| {
        let counted = Arc::new(Counted::default());
        let writers = [(); 2].map(|()| {
            let counted = Arc::clone(&counted);
            thread::spawn(move || counted.count())
        });
        let mut taken = counted.flip_and_take();
        taken += counted.flip_and_take();
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
        taken += counted.flip_and_take();
        assert_eq!(taken, 2);
    });
}

#[test]
fn two_readers_take_turns() {
    model(|| {
        let counted = Arc::new(Counted::default());
        let reader = thread::spawn({
            let counted = Arc::clone(&counted);
            move || counted.flip_and_take()
        });
        let writer = thread::spawn({
            let counted = Arc::clone(&counted);
            move || counted.count()
        });
        let mut taken = counted.flip_and_take();
        taken += reader.join().unwrap();
        writer.join().unwrap();
        taken += counted.flip_and_take();
        assert_eq!(taken, 1);
    });
}

#[test]
fn a_flip_returns_everything_that_had_left() {
    model(|| {
        let counted = Arc::new(Counted::default());
        let writer = thread::spawn({
            let counted = Arc::clone(&counted);
            move || counted.count()
        });
        writer.join().unwrap();
        assert_eq!(counted.flip_and_take(), 1);
        assert_eq!(counted.flip_and_take(), 0);
    });
}

/// The expected counts of two values, one a miss and one early.
fn expected() -> Counts {
    Counts {
        recorded: 2,
        early: 1,
        misses: 1,
        longest_miss_run: 1,
        min_ns: Some(-1),
        max_ns: Some(2),
        ..Counts::default()
    }
}

/// Two flips, the second after `join`; returns how many values they returned.
fn two_flips(reader: &mut recorder::IntervalReader, join: impl FnOnce()) -> u64 {
    let mut interval = SignedHistogram::new();
    reader.flip_into(&mut interval);
    let handed_out = interval.count();
    let counts = reader.counts();
    assert_eq!(counts.recorded, handed_out);
    assert!(
        counts.misses >= interval.count_above(1),
        "counts lag behind"
    );
    let largest = interval.buckets().last().map(|bucket| bucket.low);
    assert!(counts.max_ns >= largest, "counts lag behind");
    join();
    reader.flip_into(&mut interval);
    handed_out + interval.count()
}

#[test]
fn a_single_writer_loses_nothing() {
    model(|| {
        let (mut writer, mut reader) = recorder::pair(Some(1));
        let writing = thread::spawn(move || {
            writer.record(2);
            writer.record(-1);
        });
        let handed_out = two_flips(&mut reader, || writing.join().unwrap());
        assert_eq!(handed_out, 2);
        assert_eq!(reader.counts(), expected());
    });
}

#[test]
fn threads_that_share_a_recorder_lose_nothing() {
    model(|| {
        let (recorder, mut reader) = recorder::shared(Some(1));
        let writing = [2, -1].map(|value| {
            let recorder = recorder.clone();
            thread::spawn(move || recorder.record(value))
        });
        let handed_out = two_flips(&mut reader, || {
            writing
                .into_iter()
                .for_each(|writer| writer.join().unwrap());
        });
        assert_eq!(handed_out, 2);
        assert_eq!(reader.counts(), expected());
    });
}
