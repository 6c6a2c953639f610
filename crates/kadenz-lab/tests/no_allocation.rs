//! Rule 2 of the design: a measuring loop allocates nothing after its start.
//!
//! The counter counts by thread, so the writer thread of the run may allocate.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::time::Duration;

use kadenz_lab::floor::{FloorPlan, floor};
use kadenz_lab::hiccup::{HiccupPlan, HiccupRecorders, hiccup};
use kadenz_lab::measuring_threads::LoopContext;
use kadenz_lab::stop::Stop;
use kadenz_lab::timer::{CyclicPlan, OneShotPlan, OneShotRecorders, cyclic, oneshot};
use kadenz_record::run::folder::{RunWriter, SeriesRecorder, SeriesSpec};
use kadenz_record::run::model::{EndedBy, FORMAT_VERSION, Run, Series};
use kadenz_rt::beat::{Interval, Overrun};
use kadenz_rt::clock::{self, ClockKind};
use kadenz_rt::sleep::{self, SleeperKind, SleeperOptions};

/// A run with three recorders that keep raw samples.
fn run(folder: &std::path::Path) -> (RunWriter, [SeriesRecorder; 3]) {
    let run = Run {
        version: FORMAT_VERSION,
        start_monotonic_ns: clock::now().as_ns(),
        ..Run::default()
    };
    let mut writer = RunWriter::create(&folder.join("run"), run).unwrap();
    let recorders = ["a", "b", "c"].map(|name| {
        let series = Series {
            name: name.to_owned(),
            unit: "ns".to_owned(),
            deadline_ns: Some(1),
            ..Series::default()
        };
        writer.series(SeriesSpec { series, raw: true }).unwrap()
    });
    (writer, recorders)
}

/// Allocations of `work` on this thread, with a sleeper of `kind` and all recorders in use.
fn allocations<R>(
    kind: SleeperKind,
    hold: impl FnOnce([SeriesRecorder; 3]) -> R,
    work: impl FnOnce(&mut LoopContext<'_>, &mut R),
) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let (writer, recorders) = run(folder.path());
    let running = writer.start(Duration::from_millis(20)).unwrap();
    let clock = clock::open(ClockKind::Monotonic).unwrap();
    let mut sleeper = sleep::open(kind, SleeperOptions::default()).unwrap();
    let stop = Stop::default();
    let mut context = LoopContext {
        start: clock::now() + Duration::from_millis(5),
        origin: clock::now(),
        clock: clock.as_ref(),
        sleeper: sleeper.as_mut(),
        stop: &stop,
        owed: 0,
    };
    let mut held = hold(recorders);
    let counted = allocation_counter::measure(|| work(&mut context, &mut held));
    let run = running.finish(EndedBy::Finished).unwrap();
    // The number of samples depends on how busy the machine is; without any, the test would show nothing.
    assert!(
        run.series.iter().any(|series| series.counts.recorded > 0),
        "{run:?}"
    );
    counted.count_total
}

#[test]
fn the_cyclic_loop_allocates_nothing_with_any_sleeper() {
    for (kind, pace) in SleeperKind::available()
        .into_iter()
        .flat_map(|kind| Overrun::GOING_ON.map(|pace| (kind, pace)))
    {
        let plan = CyclicPlan {
            interval: Interval::from_fraction(500_000, 1).unwrap(),
            pace,
            warm_up: 2,
            cycles: Some(50),
            phase: Duration::ZERO,
            grace: Duration::ZERO,
        };
        let count = allocations(
            kind,
            |recorders| recorders,
            |context, [lateness, jitter, _]| cyclic(&plan, context, lateness, Some(jitter)),
        );
        assert_eq!(count, 0, "{kind}, {pace}");
    }
}

#[test]
fn the_one_shot_loop_allocates_nothing_with_any_sleeper() {
    let plan = OneShotPlan {
        timeout: Duration::from_micros(300),
        repetitions: 100,
    };
    for kind in SleeperKind::available() {
        let count = allocations(
            kind,
            |[measured, reported, difference]| OneShotRecorders {
                measured,
                reported,
                difference,
            },
            |context, recorders| oneshot(&plan, context, recorders),
        );
        assert_eq!(count, 0, "{kind}");
    }
}

#[test]
fn the_hiccup_loop_allocates_nothing() {
    let plan = HiccupPlan {
        resolution: Duration::from_micros(500),
        duration: Some(Duration::from_millis(100)),
    };
    let count = allocations(
        SleeperKind::recommended(),
        |[hiccup, lateness, _]| HiccupRecorders { hiccup, lateness },
        |context, recorders| hiccup(&plan, context, recorders),
    );
    assert_eq!(count, 0);
}

#[test]
fn the_floor_loop_allocates_nothing() {
    let plan = FloorPlan {
        duration: Duration::from_millis(100),
        ..FloorPlan::default()
    };
    let count = allocations(
        SleeperKind::recommended(),
        |recorders| recorders,
        |context, [gaps, ..]| floor(&plan, context, gaps),
    );
    assert_eq!(count, 0);
}

#[test]
fn the_counter_counts() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert!(counted.count_total > 0);
}
