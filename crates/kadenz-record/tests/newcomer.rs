//! Series that are added to a run while it is measured.

mod common;

use std::time::Duration;

use common::{INTERVAL, intervals, numbered, run, sequences, spec};
use kadenz_record::run::folder::{AddSeriesError, RunReader, RunWriter};
use kadenz_record::run::model::EndedBy;

#[test]
fn a_series_joins_a_run_that_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = RunWriter::create(folder.path(), run()).expect("creates");
    let mut first = writer.series(spec("first", false)).expect("a series");
    let running = writer.start(INTERVAL).expect("starts");
    (0..100).for_each(|n| first.record(numbered(n)));
    std::thread::sleep(2 * INTERVAL);
    let mut second = running.series(spec("second", true)).expect("joins");
    (0..300).for_each(|n| second.record(numbered(n)));
    std::thread::sleep(2 * INTERVAL);
    (300..500).for_each(|n| second.record(numbered(n)));
    let run = running.finish(EndedBy::Finished).expect("finishes");

    let counted: Vec<(&str, u64)> = run
        .series
        .iter()
        .map(|series| (series.name.as_str(), series.counts.recorded))
        .collect();
    assert_eq!(counted, [("first", 100), ("second", 500)]);
    let reader = RunReader::open(folder.path()).expect("opens");
    assert_eq!(intervals(&reader, "second").recorded, 500);
    let (sequences, torn) = sequences(&reader, "second");
    assert_eq!((sequences, torn), ((0..500).collect(), false));
}

#[test]
fn a_name_that_is_taken_is_refused_and_the_run_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = RunWriter::create(folder.path(), run()).expect("creates");
    let mut first = writer.series(spec("first", false)).expect("a series");
    let running = writer.start(INTERVAL).expect("starts");
    let refused = running.series(spec("First", false)).expect_err("is taken");
    assert!(matches!(refused, AddSeriesError::Duplicate { .. }));
    first.record(numbered(1));
    let run = running.finish(EndedBy::Finished).expect("finishes");
    assert_eq!(run.series.len(), 1);
    assert!(run.complete);
}

#[test]
fn a_series_that_joined_a_run_is_in_it_also_if_the_run_is_dropped_before_the_next_interval() {
    let folder = tempfile::tempdir().expect("a folder");
    let writer = RunWriter::create(folder.path(), run()).expect("creates");
    let running = writer.start(Duration::from_secs(3600)).expect("starts");
    let mut recorder = running.series(spec("late", false)).expect("joins");
    (0..10).for_each(|n| recorder.record(numbered(n)));
    drop(running);
    let reader = RunReader::open(folder.path()).expect("opens");
    let series = &reader.run().series;
    assert_eq!((series.len(), reader.complete()), (1, false));
    assert_eq!(series[0].counts.recorded, 10);
}
