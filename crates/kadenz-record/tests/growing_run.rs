//! A run that grows by whole runs: its content after each part, and after a crash.

mod common;

use std::io::Write as _;
use std::path::Path;

use common::{INTERVAL, intervals, numbered, run, spec};
use kadenz_record::run::folder::{
    AddPartError, CreateRunError, GrowingRun, OpenRunError, RunReader, RunWriter,
};
use kadenz_record::run::model::{EndedBy, Run};
use kadenz_record::samples::Sample;

/// A run of `values` values, from sample `first` on.
fn part(dir: &Path, first: u64, values: u64) -> RunReader {
    part_of(dir, (first..first + values).map(numbered))
}

fn part_of(dir: &Path, samples: impl Iterator<Item = Sample>) -> RunReader {
    let mut writer = RunWriter::create(dir, run()).expect("creates");
    let mut recorder = writer.series(spec("lateness", false)).expect("a series");
    let running = writer.start(INTERVAL).expect("starts");
    samples.for_each(|it| recorder.record(it));
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
    assert_eq!(run.series[0].files.hlog_parts, Some(3));
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

    // A run that was ended can grow, too.
    let mut whole = GrowingRun::reopen(&dir).expect("opens again");
    assert_eq!(whole.run().series[0].counts, run.series[0].counts);
    whole.add(&second, &[("lateness", "other")]).expect("grows");
    assert_eq!(whole.run().series.len(), 2);
}

/// As after a power cut, when the disk had `run.json` and not yet all of the log.
#[test]
fn a_run_whose_log_is_shorter_than_stated_is_counted_again_though_it_was_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("whole");
    let mut whole = GrowingRun::create(&dir, run()).expect("creates");
    let mut bytes = Vec::new();
    for n in 0..3 {
        let part = part(&folder.path().join(n.to_string()), 0, 300);
        whole.add(&part, &[("lateness", "cell")]).expect("grows");
        bytes.push(whole.run().series[0].files.hlog_bytes.expect("bytes"));
    }
    whole.finish(EndedBy::Finished).expect("finishes");
    let log = std::fs::read_to_string(dir.join("cell.hlog")).expect("reads");
    let first_line = log.find(",HIST").expect("an interval");
    let first_line = first_line + log[first_line..].find('\n').expect("its end") + 1;
    // A part can end with intervals without values.
    for (left, parts) in [(bytes[1], 2), (bytes[1] - 1, 2), (first_line as u64, 1)] {
        let log = std::fs::OpenOptions::new()
            .write(true)
            .open(dir.join("cell.hlog"));
        log.expect("a log").set_len(left).expect("cuts");
        let whole = GrowingRun::reopen(&dir).expect("opens again");
        let series = whole.run().series[0].clone();
        let run = whole.finish(EndedBy::Finished).expect("finishes");
        let there = intervals(&RunReader::open(&dir).expect("opens"), "cell");
        let counts = series.counts;
        assert_eq!(
            (counts.recorded, counts.early),
            (there.recorded, there.early)
        );
        assert!(!there.truncated && there.recorded < 900, "{there:?}");
        assert!(
            series.files.hlog_parts.is_some_and(|it| it <= parts),
            "{left}"
        );
        let (start_s, length_s) = *there.spans.last().expect("an interval");
        let end_s = run.duration_ns as f64 / 1e9;
        assert!((start_s + length_s - end_s).abs() < 0.002, "{end_s}");
    }
}

/// The recorder's counts are exact, those of a log are so to 0.1 %.
#[test]
fn a_series_whose_log_is_whole_keeps_its_counts_where_another_log_is_short() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("whole");
    let samples = |first: u64| (first..first + 300).map(numbered);
    let exact = |first| {
        samples(first).map(|it| Sample {
            value_ns: it.value_ns + 123_456_789,
            ..it
        })
    };
    let mut whole = GrowingRun::create(&dir, run()).expect("creates");
    for n in 0..2 {
        let part = part_of(&folder.path().join(n.to_string()), exact(300 * n));
        whole
            .add(&part, &[("lateness", "short"), ("lateness", "other")])
            .expect("grows");
    }
    let stated = whole.run().series.clone();
    whole.finish(EndedBy::Finished).expect("finishes");
    let bytes = stated[0].files.hlog_bytes.expect("bytes");
    let log = std::fs::OpenOptions::new()
        .write(true)
        .open(dir.join("short.hlog"));
    log.expect("a log").set_len(bytes - 1).expect("cuts");
    let whole = GrowingRun::reopen(&dir).expect("opens again");
    let [short, other] = whole.run().series.as_slice() else {
        panic!("{:?}", whole.run().series);
    };
    assert_ne!(short.counts, stated[0].counts);
    assert_eq!(*other, stated[1]);
}

/// The logs, and the content of `run.json`.
fn on_disk(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(dir).expect("lists");
    let mut files: Vec<_> = entries
        .map(|it| {
            let it = it.expect("an entry");
            let bytes = std::fs::read(it.path()).expect("reads");
            (it.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    files.sort();
    files
}

/// A part goes into two logs, and then into `run.json`: a process may be killed before, between and after
/// any of the writes.
#[test]
fn wherever_a_process_is_killed_the_part_is_taken_as_a_whole_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("whole");
    let names = [("lateness", "cell"), ("lateness", "other")];
    let parts = [0, 1, 2].map(|n| part(&folder.path().join(n.to_string()), 300 * n, 300));
    let mut whole = GrowingRun::create(&dir, run()).expect("creates");
    for (number, part) in parts.iter().enumerate() {
        let before = on_disk(&dir);
        whole.add(part, &names).expect("grows");
        drop(whole);
        let after = on_disk(&dir);
        let length = |files: &[(String, Vec<u8>)], name: &str| {
            let log = files.iter().find(|it| it.0 == name);
            log.map_or(0, |it| it.1.len())
        };
        let [cell, other] = ["cell.hlog", "other.hlog"].map(|name| {
            let (old, new) = (length(&before, name), length(&after, name));
            [old, old + 1, (old + new) / 2, new - 1, new]
        });
        // While the first log is at any length, the second is as it was; it is begun when the first is complete.
        let all = *cell.last().expect("a length");
        let moments = cell.map(|it| (it, other[0])).into_iter();
        for (cell, other) in moments.chain(other.map(|it| (all, it))) {
            for (name, bytes) in &after {
                let (left, bytes) = match name.as_str() {
                    "cell.hlog" => (cell, bytes),
                    "other.hlog" => (other, bytes),
                    _ => {
                        let old = before.iter().find(|it| it.0 == *name);
                        (usize::MAX, &old.expect("a run.json").1)
                    }
                };
                let bytes = &bytes[..left.min(bytes.len())];
                std::fs::write(dir.join(name), bytes).expect("writes");
            }
            if number == 0 && other == 0 {
                std::fs::remove_file(dir.join("other.hlog")).expect("removes");
            }
            let state = format!("part {number} with {cell} and {other} bytes");
            let killed = RunReader::open(&dir).unwrap_or_else(|it| panic!("{state}: {it}"));
            for series in &killed.run().series {
                let counted = intervals(&killed, &series.name).recorded;
                assert_eq!(counted, 300 * number as u64, "{state}");
            }
            let mut again = GrowingRun::reopen(&dir).unwrap_or_else(|it| panic!("{state}: {it}"));
            again
                .add(part, &names)
                .unwrap_or_else(|error| panic!("{state}: {error}"));
            let run = again.finish(EndedBy::Finished).expect("finishes");
            let reader = RunReader::open(&dir).expect("opens");
            for series in &run.series {
                let wanted = 300 * (number as u64 + 1);
                let log = intervals(&reader, &series.name);
                assert_eq!(series.counts.recorded, wanted, "{state}");
                assert_eq!((log.recorded, log.truncated), (wanted, false), "{state}");
            }
        }
        whole = GrowingRun::reopen(&dir).expect("opens again");
    }
}

/// The counts are exact, though a histogram has only three digits.
#[test]
fn counts_survive_a_crash_to_the_last_digit() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("whole");
    let mut whole = GrowingRun::create(&dir, run()).expect("creates");
    let sample = Sample {
        value_ns: 123_456_789,
        ..Sample::default()
    };
    let part = part_of(&folder.path().join("0"), std::iter::once(sample));
    whole.add(&part, &[("lateness", "cell")]).expect("grows");
    let counts = whole.run().series[0].counts;
    drop(whole);
    let whole = GrowingRun::reopen(&dir).expect("opens again");
    assert_eq!(whole.run().series[0].counts, counts);
    assert_eq!(counts.max_ns, Some(123_456_789));
}

#[test]
fn a_part_that_cannot_be_written_to_its_end_leaves_the_run_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("whole");
    let mut whole = GrowingRun::create(&dir, run()).expect("creates");
    let part = part(&folder.path().join("0"), 0, 100);
    whole.add(&part, &[("lateness", "a")]).expect("grows");
    let (before, run) = (on_disk(&dir), whole.run().clone());
    // In the place of the second log there is a folder.
    std::fs::create_dir(dir.join("b.hlog")).expect("creates");
    let names = [("lateness", "a"), ("lateness", "b")];
    let error = whole.add(&part, &names);
    assert!(
        matches!(error, Err(AddPartError::Write { .. })),
        "{error:?}"
    );
    std::fs::remove_dir(dir.join("b.hlog")).expect("removes");
    assert_eq!((on_disk(&dir), whole.run()), (before, &run));
    whole.add(&part, &names).expect("grows");
    let run = whole.finish(EndedBy::Finished).expect("finishes");
    let counts = run.series.iter().map(|it| it.counts.recorded);
    assert_eq!(counts.collect::<Vec<_>>(), [200, 100]);
}

#[test]
fn a_run_that_names_a_log_elsewhere_does_not_grow() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("whole");
    let mut whole = GrowingRun::create(&dir, run()).expect("creates");
    let part = part(&folder.path().join("0"), 0, 10);
    whole.add(&part, &[("lateness", "a")]).expect("grows");
    let error = whole.add(&part, &[("lateness", "A")]);
    assert!(matches!(error, Err(AddPartError::Name(_))), "{error:?}");
    drop(whole);
    let elsewhere = folder.path().join("b.hlog");
    std::fs::write(&elsewhere, "another file").expect("writes");
    let json = std::fs::read_to_string(dir.join("run.json")).expect("reads");
    let json = json.replace("\"name\": \"a\"", "\"name\": \"../b\"");
    std::fs::write(dir.join("run.json"), json).expect("writes");
    let error = GrowingRun::reopen(&dir).expect_err("refuses a name that leaves the folder");
    assert!(matches!(error, OpenRunError::Malformed { .. }), "{error}");
    let kept = std::fs::read_to_string(&elsewhere).expect("reads");
    assert_eq!(kept, "another file");
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
