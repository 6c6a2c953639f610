//! Tests that are small enough for Miri; `tests/loom.rs` checks every interleaving.

use std::{sync::Barrier, thread};

use super::{Phase, WriterReaderPhaser};
use crate::sync::{AtomicU64, Ordering::Relaxed};

const ENTRIES: u64 = if cfg!(miri) { 50 } else { 20_000 };

#[test]
fn phases_alternate() {
    let phaser = WriterReaderPhaser::new();
    assert_eq!(phaser.enter().phase(), Phase::Even);
    let mut turn = phaser.read();
    assert_eq!(turn.resting(), Phase::Odd);
    turn.flip();
    assert_eq!(turn.resting(), Phase::Even);
    assert_eq!(phaser.enter().phase(), Phase::Odd);
    turn.flip();
    assert_eq!(turn.resting(), Phase::Odd);
    assert_eq!(phaser.enter().phase(), Phase::Even);
    drop(turn);
    assert_eq!(phaser.read().resting(), Phase::Odd);
}

#[test]
fn a_flip_needs_no_writer() {
    let phaser = WriterReaderPhaser::new();
    let mut turn = phaser.read();
    for _ in 0..5 {
        turn.flip();
    }
}

#[test]
fn a_flip_waits_for_those_inside_only() {
    let phaser = WriterReaderPhaser::new();
    let inside = phaser.enter();
    let (entered, left) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut turn = phaser.read();
            turn.flip();
            assert_eq!(
                left.load(Relaxed),
                1,
                "the flip came back before the writer had left"
            );
        });
        // Later writers enter the other phase, and the flip does not wait for them.
        let late = loop {
            let section = phaser.enter();
            entered.fetch_add(1, Relaxed);
            if section.phase() == Phase::Odd {
                break section;
            }
            thread::yield_now();
        };
        left.store(1, Relaxed);
        drop(inside);
        reader.join().unwrap();
        drop(late);
    });
}

#[test]
fn nothing_is_lost_over_flips() {
    let phaser = WriterReaderPhaser::new();
    let counts = [AtomicU64::new(0), AtomicU64::new(0)];
    let start = Barrier::new(3);
    thread::scope(|scope| {
        let writers = [(); 2].map(|()| {
            scope.spawn(|| {
                start.wait();
                for _ in 0..ENTRIES {
                    let section = phaser.enter();
                    counts[section.phase().index()].fetch_add(1, Relaxed);
                }
            })
        });
        start.wait();
        let mut taken = 0;
        let mut take = || {
            let mut turn = phaser.read();
            turn.flip();
            let counter = &counts[turn.resting().index()];
            taken += counter.load(Relaxed);
            counter.store(0, Relaxed);
        };
        while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
            take();
            thread::yield_now();
        }
        take();
        take();
        assert_eq!(taken, 2 * ENTRIES);
    });
}
