//! A run folder from its first byte to its last, and folders that no run may be written into.

mod common;

use std::path::Path;
use std::sync::Barrier;

use common::{INTERVAL, assert_contiguous, intervals, numbered, run, sequences, spec};
use kadenz_record::run::folder::{
    AddSeriesError, CreateRunError, MAX_SERIES, OpenRunError, OpenSeriesError, RunReader, RunWriter,
};
use kadenz_record::run::model::{EndedBy, FORMAT_VERSION, Run, Series, TuningMeasure, Warning};

#[test]
fn a_run_comes_back_as_it_was_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("new/run");
    let mut writer = RunWriter::create(&dir, run()).expect("creates");
    let mut raw = writer.series(spec("raw", true)).expect("a series");
    let mut counted = writer.series(spec("counted", false)).expect("a series");
    let running = writer.start(INTERVAL).expect("starts");
    let measuring = std::thread::spawn(move || {
        for n in 0..5000 {
            raw.record(numbered(n));
            counted.record(numbered(3 * n));
            if n % 50 == 0 {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
    });
    let ok = TuningMeasure::granted("policy", "");
    assert!(running.add_series_tuning("raw", vec![ok]));
    assert!(!running.add_series_tuning("other", Vec::new()));
    running.add_warning(Warning {
        id: "w".to_owned(),
        ..Warning::default()
    });
    running.update(|run| run.clock.record_cost_ns = Some(9.5));
    measuring.join().expect("measures");
    assert_eq!(running.progress().series.len(), 2);
    let written = running.finish(EndedBy::Finished).expect("finishes");

    let reader = RunReader::open(&dir).expect("opens");
    assert_eq!(*reader.run(), written);
    assert_eq!(written.clock.record_cost_ns, Some(9.5));
    assert_eq!(written.warnings.len(), 1);
    assert_eq!(written.series[0].tuning.len(), 1);
    assert_whole(&reader);
}

/// Asserts that the files hold the values measured above, and that there is no other file.
fn assert_whole(reader: &RunReader) {
    assert!(reader.complete());
    assert_eq!(reader.run().ended_by, Some(EndedBy::Finished));
    let [raw, counted] = reader.run().series.as_slice() else {
        panic!("two series")
    };
    let (min, max) = (Some(-100), Some(999));
    for series in [raw, counted] {
        assert_eq!((series.counts.recorded, series.counts.dropped), (5000, 0));
        assert_eq!((series.counts.min_ns, series.counts.max_ns), (min, max));
        let log = intervals(reader, &series.name);
        assert_eq!((log.recorded, log.early), (5000, series.counts.early));
        assert!(log.spans.len() > 2);
        assert_contiguous(&log.spans);
        assert_eq!(series.unit, "ns");
    }
    assert_eq!(
        raw.counts.misses,
        (0..5000).filter(|&n| numbered(n).value_ns > 900).count() as u64
    );
    assert_eq!(raw.counts.longest_miss_run, 99);
    assert_eq!(sequences(reader, "raw"), ((0..5000).collect(), false));
    assert!(matches!(
        reader.samples("counted"),
        Err(OpenSeriesError::NotKept { .. })
    ));
    assert!(matches!(
        reader.hlog("other"),
        Err(OpenSeriesError::NoSuchSeries { .. })
    ));
    let mut files: Vec<_> = std::fs::read_dir(reader.dir())
        .expect("lists")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .collect();
    files.sort();
    assert_eq!(
        files,
        ["counted.hlog", "raw.hlog", "raw.samples.arrow", "run.json"]
    );
}

#[test]
fn a_run_that_is_given_up_keeps_what_was_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = RunWriter::create(folder.path(), run()).expect("creates");
    let mut recorder = writer.series(spec("wakeup", true)).expect("a series");
    let running = writer.start(INTERVAL).expect("starts");
    (0..1100).for_each(|n| recorder.record(numbered(n)));
    drop(running);
    let reader = RunReader::open(folder.path().join("run.json")).expect("opens by its file");
    assert!(!reader.complete());
    assert_eq!(reader.run().ended_by, None);
    assert_eq!(
        reader
            .run()
            .warnings
            .last()
            .map(|warning| warning.id.as_str()),
        Some("incomplete")
    );
    let counts = reader.run().series[0].counts;
    assert_eq!(
        (counts.recorded, counts.early, counts.misses),
        (1100, 100, 99)
    );
    assert_eq!((counts.min_ns, counts.max_ns), (Some(-100), Some(999)));
    assert_eq!(
        counts.longest_miss_run, 99,
        "all samples are there, so it is exact"
    );
    assert!(reader.run().duration_ns > 0);
}

#[test]
fn values_above_the_ring_are_dropped_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = RunWriter::create(folder.path(), run()).expect("creates");
    let mut recorder = writer.series(spec("wakeup", true)).expect("a series");
    // Before the start no thread empties the ring.
    (0..20_000).for_each(|n| recorder.record(numbered(n)));
    let running = writer.start(INTERVAL).expect("starts");
    let counts = running.finish(EndedBy::Finished).expect("finishes").series[0].counts;
    assert_eq!((counts.recorded, counts.dropped), (20_000, 20_000 - 16_384));
    let reader = RunReader::open(folder.path()).expect("opens");
    assert_eq!(sequences(&reader, "wakeup"), ((0..16_384).collect(), false));
}

#[test]
fn folders_in_use_are_refused_with_a_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "x").expect("writes");
    let refused = |dir: &Path| RunWriter::create(dir, run()).expect_err("refused");
    let error = refused(&file);
    assert!(
        matches!(error, CreateRunError::NotAFolder { .. }),
        "{error}"
    );
    let error = refused(&file.join("below"));
    assert!(
        matches!(error, CreateRunError::Unwritable { .. }),
        "{error}"
    );
    let error = refused(folder.path());
    assert!(matches!(error, CreateRunError::NotEmpty { .. }), "{error}");
    let dir = folder.path().join("run");
    let first = RunWriter::create(&dir, run()).expect("creates");
    let error = refused(&dir);
    assert!(matches!(error, CreateRunError::HoldsRun { .. }), "{error}");
    assert!(error.to_string().contains("name another folder"), "{error}");
    drop(first);
    assert!(matches!(refused(&dir), CreateRunError::HoldsRun { .. }));
    assert!(std::fs::read_to_string(&file).expect("reads") == "x");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    // Even root cannot create anything there.
    let error = RunWriter::create(Path::new("/proc/kadenz"), run()).expect_err("refused");
    assert!(
        matches!(error, CreateRunError::Unwritable { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("/proc/kadenz"), "{error}");
}

#[test]
fn of_many_that_want_a_folder_one_gets_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let barrier = Barrier::new(8);
    let dir = folder.path().join("run");
    let won = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    RunWriter::create(&dir, run()).is_ok()
                })
            })
            .collect();
        tries
            .into_iter()
            .map(|one| one.join().expect("tries"))
            .filter(|won| *won)
            .count()
    });
    assert_eq!(won, 1);
    assert!(RunReader::open(&dir).is_ok());
}

#[test]
fn names_that_clash_or_are_not_file_names_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = RunWriter::create(folder.path(), run()).expect("creates");
    writer.series(spec("wakeup", false)).expect("a series");
    let error = writer.series(spec("Wakeup", false)).expect_err("taken");
    assert!(matches!(error, AddSeriesError::Duplicate { .. }), "{error}");
    let error = writer
        .series(spec("../wakeup", false))
        .expect_err("no name");
    assert!(matches!(error, AddSeriesError::BadName { .. }), "{error}");
}

#[test]
fn what_is_not_a_run_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = |content: Option<&str>| {
        if let Some(content) = content {
            std::fs::write(folder.path().join("run.json"), content).expect("writes");
        }
        RunReader::open(folder.path()).expect_err("no run")
    };
    assert!(matches!(open(None), OpenRunError::NoRun { .. }));
    assert!(matches!(open(Some("")), OpenRunError::NeverBegan { .. }));
    let log = folder.path().join("wakeup.hlog");
    std::fs::write(&log, "its values").expect("writes");
    let error = open(Some(""));
    assert!(matches!(error, OpenRunError::Emptied { .. }), "{error}");
    assert!(!error.to_string().contains("remove"), "{error}");
    std::fs::remove_file(log).expect("removes");
    let error = open(Some("{\"version\": 1,\n \"kadenz\": 7}"));
    assert!(matches!(error, OpenRunError::Malformed { .. }), "{error}");
    assert!(error.to_string().contains("line 2"), "{error}");
    let error = open(Some("{\"version\": 2}"));
    assert!(
        matches!(error, OpenRunError::Newer { version: 2, .. }),
        "{error}"
    );
    let absent = RunReader::open(folder.path().join("absent")).expect_err("absent");
    assert!(matches!(absent, OpenRunError::NoRun { .. }), "{absent}");
}

#[test]
fn a_run_json_cannot_point_outside_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = RunWriter::create(folder.path(), run()).expect("creates");
    writer.series(spec("wakeup", true)).expect("a series");
    writer
        .start(INTERVAL)
        .expect("starts")
        .finish(EndedBy::Finished)
        .expect("finishes");
    let path = folder.path().join("run.json");
    let json = std::fs::read_to_string(&path).expect("reads");
    for outside in ["../wakeup.hlog", "/etc/passwd", "a/wakeup.hlog", "..", "."] {
        std::fs::write(&path, json.replace("wakeup.hlog", outside)).expect("writes");
        let error = RunReader::open(folder.path()).expect_err("outside");
        assert!(
            matches!(error, OpenRunError::Malformed { .. }),
            "{outside}: {error}"
        );
    }
    std::fs::write(&path, json.replace("\"wakeup\"", "\"../x\"")).expect("writes");
    let error = RunReader::open(folder.path()).expect_err("outside");
    assert!(matches!(error, OpenRunError::Malformed { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn a_file_of_a_run_is_not_read_through_a_link_out_of_its_folder() {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = parent.path().join("run");
    let mut writer = RunWriter::create(&dir, run()).expect("creates");
    writer.series(spec("wakeup", true)).expect("a series");
    let running = writer.start(INTERVAL).expect("starts");
    running.finish(EndedBy::Finished).expect("finishes");
    for file in ["wakeup.hlog", "wakeup.samples.arrow"] {
        let outside = parent.path().join(file);
        std::fs::rename(dir.join(file), &outside).expect("moves");
        std::os::unix::fs::symlink(outside, dir.join(file)).expect("a link");
    }
    let reader = RunReader::open(&dir).expect("opens");
    let log = reader.hlog("wakeup").expect_err("a link out").to_string();
    assert!(log.contains("leads out of the run folder"), "{log}");
    let samples = reader.samples("wakeup").expect_err("a link out");
    assert!(samples.to_string().contains("leads out"), "{samples}");
}

#[test]
fn a_run_of_too_many_series_is_neither_written_nor_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.json");
    let series = |n: usize| Series {
        name: format!("s{n}"),
        ..Series::default()
    };
    let written = |count: usize| Run {
        version: FORMAT_VERSION,
        complete: true,
        series: (0..count).map(series).collect(),
        ..run()
    };
    let write = |count| {
        let json = serde_json::to_vec(&written(count)).expect("JSON");
        std::fs::write(&path, json).expect("writes");
    };
    write(MAX_SERIES);
    assert!(RunReader::open(folder.path()).is_ok());
    write(MAX_SERIES + 1);
    let error = RunReader::open(folder.path()).expect_err("too many");
    assert!(matches!(error, OpenRunError::TooLarge { .. }), "{error}");
    std::fs::write(&path, vec![b' '; 9 << 20]).expect("writes");
    let error = RunReader::open(folder.path()).expect_err("too large");
    assert!(error.to_string().contains("8 MiB"), "{error}");

    let new = folder.path().join("new");
    let mut writer = RunWriter::create(&new, run()).expect("creates");
    writer.run_mut().series = written(MAX_SERIES).series;
    let error = writer.series(spec("one-more", false)).expect_err("no more");
    assert!(matches!(error, AddSeriesError::TooMany { .. }), "{error}");
}
