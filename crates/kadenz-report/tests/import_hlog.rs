//! Imports of foreign interval logs: no value is lost, and tags become series.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod tools;

use kadenz_record::histogram::Histogram;
use kadenz_record::hlog::reader::IntervalLog;
use kadenz_record::run::folder::RunReader;
use kadenz_record::run::model::{Kind, Run};
use kadenz_report::import::{self, ImportFormat};
use tempfile::TempDir;
use tools::conformance;

fn imported(name: &str) -> (TempDir, Run) {
    let path = conformance("hlog").join(name);
    assert_eq!(import::detect(&path).unwrap(), ImportFormat::Hlog, "{name}");
    let folder = tempfile::tempdir().unwrap();
    let run = import::import(&path, ImportFormat::Hlog, folder.path()).unwrap();
    (folder, run)
}

/// Intervals, count and percentile 99.9 of a series of a run.
fn sums(folder: &TempDir, series: &str) -> (usize, u64, u64) {
    let log = RunReader::open(folder.path())
        .unwrap()
        .hlog(series)
        .unwrap();
    let mut sum = Histogram::new();
    let mut intervals = 0;
    for interval in log {
        interval.unwrap().histogram.add_to(&mut sum).unwrap();
        intervals += 1;
    }
    (intervals, sum.count(), sum.value_at_quantile(0.999))
}

/// The histograms of the interval lines, without their start times, which count from another start.
fn payloads(log: &str) -> Vec<&str> {
    let lines = log.lines().filter(|line| line.contains("HIST"));
    lines.map(|line| line.rsplit(',').next().unwrap()).collect()
}

/// Padding included: not every library reads Base64 without it.
#[test]
fn histograms_of_the_current_version_are_taken_over_to_the_letter() {
    let name = "jHiccup-2.0.7S.logV2.hlog";
    let (folder, run) = imported(name);
    let source = std::fs::read_to_string(conformance("hlog").join(name)).unwrap();
    let log = folder
        .path()
        .join(run.series[0].files.hlog.as_ref().unwrap());
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(payloads(&log), payloads(&source));
    assert!(payloads(&log).iter().any(|payload| payload.ends_with('=')));
}

/// The figures are those that HdrHistogram's own tests expect of these logs.
#[test]
fn logs_of_jhiccup_keep_every_value() {
    let cases = [
        ("jHiccup-2.0.6.logV1.hlog", 88, 65_964, 1_829_765_119),
        ("jHiccup-2.0.7S.logV2.hlog", 62, 48_761, 1_745_879_039),
        (
            "jHiccup-with-basetime-2.0.7S.logV2.hlog",
            62,
            48_761,
            1_745_879_039,
        ),
    ];
    for (name, intervals, count, p999) in cases {
        let (folder, run) = imported(name);
        assert_eq!(
            (run.series.len(), run.series[0].name.as_str()),
            (1, "hiccup"),
            "{name}"
        );
        assert_eq!(
            (run.series[0].kind, run.series[0].counts.recorded),
            (Kind::Hiccup, count)
        );
        assert_eq!(sums(&folder, "hiccup"), (intervals, count, p999), "{name}");
        assert!(
            run.duration_ns > 60_000_000_000,
            "{name}: {}",
            run.duration_ns
        );
        assert!(run.warnings.is_empty(), "{name}: {:?}", run.warnings);
    }
}

#[test]
fn start_times_are_kept() {
    let (folder, run) = imported("jHiccup-2.0.7S.logV2.hlog");
    assert_eq!(run.started_at, "2015-09-09T15:24:39.474Z");
    let log = RunReader::open(folder.path())
        .unwrap()
        .hlog("hiccup")
        .unwrap();
    let source = IntervalLog::open(conformance("hlog/jHiccup-2.0.7S.logV2.hlog")).unwrap();
    for (ours, theirs) in log.zip(source) {
        let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
        assert!((ours.start_s - theirs.start_s).abs() < 0.002);
        assert_eq!(ours.length_s, theirs.length_s);
        assert_eq!(
            ours.histogram.decode().unwrap(),
            theirs.histogram.decode().unwrap()
        );
    }
}

#[test]
fn tags_become_series() {
    let (folder, run) = imported("tagged-Log.logV2.hlog");
    let named: Vec<&str> = run
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(named, ["hiccup", "A"]);
    let (untagged, tagged) = (sums(&folder, "hiccup"), sums(&folder, "A"));
    assert_eq!(untagged, tagged, "tag A holds the same as no tag");
    assert_eq!((untagged.0 + tagged.0, untagged.1 + tagged.1), (42, 32_290));
}

#[test]
fn damaged_logs_name_line_and_cause() {
    for name in [
        "invalid_histogram",
        "invalid_tag_key",
        "invalid_timestamp",
        "missing_histogram",
    ] {
        let path = conformance("hlog").join(format!("test_tagged_{name}.txt"));
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let error = import::import(&path, ImportFormat::Hlog, &out)
            .unwrap_err()
            .to_string();
        let (_, cause) = error.split_once("cannot be imported as hlog: ").unwrap();
        assert!(cause.starts_with("line "), "{name}: {cause}");
        assert!(!out.exists());
    }
}

#[test]
fn a_log_that_was_cut_off_is_imported_up_to_there() {
    let whole = std::fs::read(conformance("hlog/jHiccup-2.0.7S.logV2.hlog")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.hlog");
    std::fs::write(&cut, &whole[..whole.len() - 20]).unwrap();
    let run = import::import(&cut, ImportFormat::Hlog, &folder.path().join("run")).unwrap();
    assert_eq!(run.warnings[0].id, "truncated");
    assert!(run.series[0].counts.recorded > 40_000);
}

#[test]
fn a_log_without_intervals_is_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let (log, out) = (folder.path().join("x.hlog"), folder.path().join("run"));
    std::fs::write(&log, "#[Histogram log format version 1.3]\n").unwrap();
    assert_eq!(import::detect(&log).unwrap(), ImportFormat::Hlog);
    let error = import::import(&log, ImportFormat::Hlog, &out).unwrap_err();
    assert!(
        error.to_string().contains("it holds no interval"),
        "{error}"
    );
}

#[test]
fn every_version_gives_the_same_run() {
    let runs = ["2.1.4.logV0", "2.1.6.logV1", "2.2.2.logV2"].map(|version| {
        let name = format!("made-by-hdrhistogram-{version}.hlog");
        let (folder, run) = imported(&name);
        let series = run.series[0].clone();
        let (intervals, count, p999) = sums(&folder, &series.name);
        assert_eq!(
            (intervals, count, p999),
            (24, 4_295_048_796, 1000),
            "{name}"
        );
        let first = RunReader::open(folder.path())
            .unwrap()
            .hlog(&series.name)
            .unwrap()
            .next();
        assert_eq!(
            first.unwrap().unwrap().relative_s,
            0.0,
            "none begins before the run"
        );
        (run.started_at, series)
    });
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[1], runs[2]);
}

#[test]
fn a_log_without_header_starts_at_its_first_interval() {
    let (_folder, run) = imported("bug-whitespace.hlog");
    assert_eq!(run.series[0].name, "bo-global-http");
    assert_eq!(run.started_at, "2018-05-28T12:31:26.313Z");
    assert_eq!(run.series[0].counts.recorded, 0);
    assert!(run.warnings.iter().any(|warning| warning.id == "unit"));
}

#[test]
fn histograms_of_fractions_are_refused() {
    let path = conformance("hlog/double.logV2.hlog");
    let folder = tempfile::tempdir().unwrap();
    let error = import::import(&path, ImportFormat::Hlog, &folder.path().join("run")).unwrap_err();
    assert!(error.to_string().contains("DoubleHistogram"), "{error}");
}
