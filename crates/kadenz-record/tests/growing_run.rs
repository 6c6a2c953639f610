//! A run that grows by whole runs: what it holds after each part, and after a crash.

mod common;

use std::io::Write as _;
use std::path::Path;

use common::{INTERVAL, intervals, numbered, run, spec};
use kadenz_record::run::folder::{
    AddPartError, CreateRunError, GrowingRun, OpenRunError, RunReader, RunWriter,
};
use kadenz_record::run::model::{EndedBy, Run};

/// A run of `values` values, from sample `first` on.
fn part(dir: &Path, first: u64, values: u64) -> RunReader {
    let mut writer = RunWriter::create(dir, run()).expect("creates");
    let mut recorder = writer.series(spec("lateness", false)).expect("a series");
    let running = writer.start(INTERVAL).expect("starts");
    (first..first + values).for_each(|n| recorder.record(numbered(n)));
    std::thread::sleep(3 * INTERVAL);
    running.finish(EndedBy::Finished).expect("finishes");
    RunReader::open(dir).expect("opens")
}

#[test]
fn parts_become_one_series_each_at_its_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut whole = GrowingRun::create(&folder.path().join("whole"), run()).expect("creates");
    let mut counts = Vec::new();
    for n in 0..3 {
        let part = part(&folder.path().join(n.to_string()), 300 * n, 300);
        whole.add(&part, &[("lateness", "cell")]).expect("grows");
        counts.push(part.run().series[0].counts);
    }
    let run = whole.finish(EndedBy::Finished).expect("finishes");
    let reader = RunReader::open(folder.path().join("whole")).expect("opens");
    assert_eq!(*reader.run(), run);
    assert!(reader.complete());

    let sum = run.series[0].counts;
    assert_eq!(sum.recorded, 900);
    assert_eq!(sum.early, counts.iter().map(|it| it.early).sum::<u64>());
    assert_eq!(sum.misses, counts.iter().map(|it| it.misses).sum::<u64>());
    assert_eq!((sum.min_ns, sum.max_ns), (Some(-100), Some(799)));
    let log = intervals(&reader, "cell");
    assert_eq!((log.recorded, log.early), (900, 100));
    assert!(log.spans.windows(2).all(|it| it[0].0 <= it[1].0), "{log:?}");
    let (start_s, length_s) = *log.spans.last().expect("intervals");
    let end_s = run.duration_ns as f64 / 1e9;
    assert!(
        (start_s + length_s - end_s).abs() < 0.002,
        "{log:?} {end_s}"
    );
}

#[test]
fn a_growing_run_is_readable_after_every_part_and_grows_on_after_a_crash() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("whole");
    let mut whole = GrowingRun::create(&dir, run()).expect("creates");
    let first = part(&folder.path().join("0"), 0, 500);
    whole.add(&first, &[("lateness", "cell")]).expect("grows");
    // The process is killed here, in the middle of the next line.
    drop(whole);
    let mut log = std::fs::OpenOptions::new()
        .append(true)
        .open(dir.join("cell.hlog"));
    let torn = b"1.0,0.04,0.9,HISTFAAAB";
    log.as_mut()
        .expect("a log")
        .write_all(torn)
        .expect("writes");

    let reader = RunReader::open(&dir).expect("opens");
    assert!(!reader.complete());
    assert_eq!(reader.run().series[0].counts.recorded, 500);

    let mut whole = GrowingRun::reopen(&dir).expect("opens again");
    assert!(
        whole.run().warnings.is_empty(),
        "{:?}",
        whole.run().warnings
    );
    let second = part(&folder.path().join("1"), 0, 250);
    whole.add(&second, &[("lateness", "cell")]).expect("grows");
    let run = whole.finish(EndedBy::Interrupted).expect("finishes");
    assert_eq!(run.series[0].counts.recorded, 750);
    let reader = RunReader::open(&dir).expect("opens");
    let log = intervals(&reader, "cell");
    assert_eq!((log.recorded, log.truncated), (750, false));

    // Also a run that was ended grows on.
    let mut whole = GrowingRun::reopen(&dir).expect("opens again");
    assert_eq!(whole.run().series[0].counts, run.series[0].counts);
    whole.add(&second, &[("lateness", "other")]).expect("grows");
    assert_eq!(whole.run().series.len(), 2);
}

#[test]
fn a_part_that_will_not_do_leaves_the_run_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("whole");
    let mut whole = GrowingRun::create(&dir, run()).expect("creates");
    let good = part(&folder.path().join("0"), 0, 10);
    let error = whole.add(&good, &[("lateness", "a"), ("jitter", "b")]);
    assert!(
        matches!(error, Err(AddPartError::NoSuchSeries { .. })),
        "{error:?}"
    );
    let error = whole.add(&good, &[("lateness", "../a")]);
    assert!(matches!(error, Err(AddPartError::Name(_))), "{error:?}");
    std::fs::write(folder.path().join("0/lateness.hlog"), "no log").expect("writes");
    let error = whole.add(&good, &[("lateness", "a")]);
    assert!(matches!(error, Err(AddPartError::Read(_))), "{error:?}");
    assert!(whole.run().series.is_empty());
    assert_eq!(std::fs::read_dir(&dir).expect("lists").count(), 1);
}

#[test]
fn a_folder_that_is_taken_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(GrowingRun::create(folder.path(), Run::default()).expect("creates"));
    let error = GrowingRun::create(folder.path(), Run::default()).expect_err("taken");
    assert!(matches!(error, CreateRunError::HoldsRun { .. }), "{error}");
    let error = GrowingRun::reopen(&folder.path().join("none")).expect_err("nothing there");
    assert!(matches!(error, OpenRunError::NoRun { .. }), "{error}");
}
