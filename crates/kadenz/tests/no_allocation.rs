//! A periodic loop allocates nothing after its start. The counter counts by thread, so the thread that writes the run
//! may allocate.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::time::Duration;

use kadenz::rt::sleep::SleeperKind;
use kadenz::{Periodic, Recording, Tick, Ticks};

/// Allocations of a loop that is late now and then, from its first tick on.
fn allocations(ticks: Ticks<'_>) -> u64 {
    let mut ticks = ticks.take(100);
    let mut skipped = 0;
    let counted = allocation_counter::measure(|| {
        for tick in &mut ticks {
            skipped += tick.skipped();
            if tick.index() % 20 == 0 {
                overrun(&tick);
            }
        }
    });
    assert!(skipped > 0, "the loop was late, too");
    counted.count_total
}

/// Takes three intervals of time.
fn overrun(tick: &Tick) {
    let end = tick.intended() + 3 * tick.step();
    while kadenz::rt::clock::now() < end {
        std::hint::spin_loop();
    }
}

#[test]
fn a_loop_allocates_nothing_with_any_sleeper() {
    for kind in SleeperKind::available() {
        let periodic = Periodic::new("2kHz").unwrap().sleeper(kind);
        assert_eq!(allocations(periodic.start().unwrap()), 0, "{kind}");
    }
}

#[test]
fn a_loop_in_slices_allocates_nothing() {
    let mut ticks = Periodic::new("200Hz").unwrap().start().unwrap();
    let counted = allocation_counter::measure(|| {
        let mut seen = 0;
        while seen < 10 {
            seen += u32::from(ticks.next_within(Duration::from_millis(1)).is_some());
        }
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn a_recorded_loop_allocates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let run = Recording::create(folder.path()).unwrap();
    let periodic = Periodic::new("2kHz").unwrap().deadline("400us").unwrap();
    let ticks = periodic.record(&run, "lateness").unwrap();
    assert_eq!(allocations(ticks), 0);
    assert!(run.finish().unwrap().run().series[0].counts.recorded >= 100);
}

#[test]
fn a_duration_is_recorded_without_an_allocation() {
    let folder = tempfile::tempdir().unwrap();
    let run = Recording::create(folder.path()).unwrap();
    let mut control = run.durations("control").unwrap();
    let counted = allocation_counter::measure(|| {
        for step in 0..1_000_u64 {
            assert_eq!(control.time(|| std::hint::black_box(step)), step);
        }
    });
    assert_eq!(counted.count_total, 0);
    let run = run.finish().unwrap();
    assert_eq!(run.run().series[0].counts.recorded, 1_000);
}

#[test]
fn the_counter_counts() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert!(counted.count_total > 0);
}
