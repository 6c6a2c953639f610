//! Imports of recordings of the real programs: the run has the counts and values that the program printed.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::path::{Path, PathBuf};

use kadenz_record::recorder::Counts;
use kadenz_record::run::folder::RunReader;
use kadenz_record::run::model::{Kind, Run};
use kadenz_report::answers::{Headline, HeadlineAnswer, answer};
use kadenz_report::import::{self, Collected, ImportFormat};
use kadenz_report::summary::{Summary, SummaryOptions};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../conformance/import")
        .join(name)
}

/// Imports a fixture, whose format must be recognised; returns the run, which must equal the one in its folder.
fn imported(name: &str, format: ImportFormat) -> (tempfile::TempDir, Run) {
    let path = fixture(name);
    assert_eq!(import::detect(&path).unwrap(), format, "{name}");
    let folder = tempfile::tempdir().unwrap();
    let run = import::import(&path, format, folder.path()).unwrap();
    let reader = RunReader::open(folder.path()).unwrap();
    assert!(reader.complete());
    assert_eq!(reader.run(), &run);
    assert_eq!(run.experiment, "import");
    assert_eq!(run.parameters["source_file"], name);
    (folder, run)
}

fn counts(recorded: u64, early: u64, saturated: u64, min_ns: i64, max_ns: i64) -> Counts {
    Counts {
        recorded,
        early,
        saturated,
        min_ns: Some(min_ns),
        max_ns: Some(max_ns),
        ..Counts::default()
    }
}

/// A fixture under a deadline.
fn judged(name: &str, deadline_ns: u64) -> Summary {
    let options = SummaryOptions {
        deadline_ns: Some(deadline_ns),
        ..SummaryOptions::default()
    };
    Summary::of(fixture(name), options).unwrap()
}

fn warning<'a>(run: &'a Run, id: &str) -> &'a str {
    let found = run.warnings.iter().find(|warning| warning.id == id);
    &found
        .unwrap_or_else(|| panic!("no warning {id}: {:?}", run.warnings))
        .text
}

/// The values of a series' samples file, in order.
fn samples(folder: &Path, series: &str) -> Vec<i64> {
    let reader = RunReader::open(folder).unwrap();
    let mut values = Vec::new();
    let mut file = reader.samples(series).unwrap();
    file.for_each_value(|chunk| values.extend_from_slice(chunk))
        .unwrap();
    values
}

#[test]
fn cyclictest_text() {
    let (_folder, run) = imported("cyclictest.txt", ImportFormat::CyclictestText);
    assert_eq!(run.series.len(), 2);
    assert_eq!(run.series[0].counts, counts(1000, 0, 0, 4_000, 374_000));
    assert_eq!(run.series[1].counts, counts(1000, 0, 0, 5_000, 76_000));
    assert_eq!(run.series[0].kind, Kind::Lateness);
    assert!(warning(&run, "bins").contains("microsecond bins: each is placed at"));
    assert!(warning(&run, "coordinated_omission").contains("passes over"));
    assert!(warning(&run, "start_unknown").contains("1970"));
}

#[test]
fn cyclictest_json_has_more() {
    let (_folder, run) = imported("cyclictest.json", ImportFormat::CyclictestJson);
    assert_eq!(run.series[0].counts, counts(1000, 0, 0, 4_000, 374_000));
    assert_eq!(run.series[0].expected_interval_ns, Some(1_000_000));
    assert_eq!(run.started_at, "2026-11-21T21:13:40Z");
    assert_eq!(run.duration_ns, 1_000_000_000);
    assert_eq!(run.host.os, "linux");
    assert_eq!(run.host.preemption.as_deref(), Some("PREEMPT_DYNAMIC"));
    assert_eq!(run.parameters["source_program"], "cyclictest 2.40");
}

/// 544 of 600 values are in no bin. The importer has to repair the JSON first.
#[test]
fn overflows_of_cyclictest_are_counted() {
    let formats = [
        ("txt", ImportFormat::CyclictestText),
        ("json", ImportFormat::CyclictestJson),
    ];
    for (ending, format) in formats {
        let (_folder, run) = imported(&format!("cyclictest-overflow.{ending}"), format);
        assert_eq!(run.series.len(), 2, "the column of sums is not a thread");
        assert_eq!(run.series[0].counts, counts(600, 0, 544, 22_000, 2_435_000));
        assert_eq!(run.series[1].counts, counts(600, 0, 597, 31_000, 1_532_000));
        let text = warning(&run, "overflow");
        assert!(
            text.contains("thread0: 544 of 600 values (90.667 %)"),
            "{text}"
        );
        assert!(text.contains("others at 60 us"), "{text}");
    }
}

#[test]
fn cyclictest_in_nanoseconds() {
    let (_folder, run) = imported("cyclictest-nanoseconds.json", ImportFormat::CyclictestJson);
    assert_eq!(run.series[0].counts, counts(300, 0, 9, 57_792, 17_614_369));
    assert!(run.warnings.iter().all(|warning| warning.id != "bins"));
}

/// cyclictest keeps a million bins at most, even with a greater `-h`: 3 values were beyond the bins, not beyond `-h`.
#[test]
fn bins_are_those_that_cyclictest_kept() {
    let (_folder, run) = imported(
        "cyclictest-nanoseconds-wide.json",
        ImportFormat::CyclictestJson,
    );
    let counts = run.series[0].counts;
    assert_eq!(counts.max_ns, Some(2_907_846));
    let text = warning(&run, "overflow");
    assert!(text.contains("others at 1000 us"), "{text}");
}

#[test]
fn text_in_nanoseconds_is_known_by_its_status_lines() {
    let (_folder, run) = imported("cyclictest-nanoseconds.txt", ImportFormat::CyclictestText);
    assert_eq!(run.series[0].counts.max_ns, Some(3_992_911));
    assert!(
        run.warnings
            .iter()
            .all(|it| !["bins", "unit_assumed"].contains(&it.id.as_str()))
    );
}

/// With `-q` the file does not contain the unit.
#[test]
fn an_unknown_unit_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(fixture("cyclictest-nanoseconds.txt")).unwrap();
    let quiet = &text[text.find("# Histogram").unwrap()..];
    let file = folder.path().join("quiet.txt");
    std::fs::write(&file, quiet).unwrap();
    let read = |format, name| import::import(&file, format, &folder.path().join(name));
    let error = read(ImportFormat::CyclictestText, "unknown")
        .unwrap_err()
        .to_string();
    assert!(error.contains("--format cyclictest-ns"), "{error}");
    let run = read(ImportFormat::CyclictestNanoseconds, "ns").unwrap();
    assert_eq!(run.series[0].counts.max_ns, Some(3_992_911));
    let (_folder, run) = imported("cyclictest.txt", ImportFormat::CyclictestText);
    assert!(warning(&run, "unit_assumed").contains("microseconds"));
}

#[test]
fn a_summary_is_no_histogram() {
    let path = fixture("cyclictest-no-histogram.txt");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let format = import::detect(&path).unwrap();
    let error = import::import(&path, format, &out).unwrap_err().to_string();
    assert!(
        error.contains("it holds no histogram; cyclictest keeps one with -h"),
        "{error}"
    );
    assert!(!out.exists(), "a failed import leaves nothing behind");
}

#[test]
fn irtt_has_three_series_in_order() {
    let (folder, run) = imported("irtt.json", ImportFormat::Irtt);
    let names: Vec<&str> = run
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(names, ["rtt", "send-delay", "receive-delay"]);
    assert_eq!(run.series[0].counts, counts(50, 0, 0, 19_201, 181_935));
    assert_eq!(run.series[1].counts, counts(50, 0, 0, 6_828, 123_943));
    assert_eq!(run.series[2].counts, counts(50, 0, 0, 9_963, 86_273));
    assert_eq!(run.series[0].expected_interval_ns, Some(20_000_000));
    assert_eq!(samples(folder.path(), "rtt").iter().sum::<i64>(), 5_324_933);
    assert_eq!(samples(folder.path(), "rtt")[0], 47_076);
    assert!(
        run.started_at.starts_with("2026-11-21T20:35:42.962467887"),
        "{}",
        run.started_at
    );
    assert!(warning(&run, "one_way_clocks").contains("two wall clocks"));
    assert!(run.warnings.iter().all(|warning| warning.id != "lost"));
}

#[test]
fn what_irtt_lost_is_reported() {
    let (_folder, run) = imported("irtt-lossy.json.gz", ImportFormat::Irtt);
    assert_eq!(run.series[0].counts, counts(41, 0, 0, 240_798, 36_071_009));
    let text = warning(&run, "lost");
    assert!(text.starts_with("9 of 50 round trips were lost"), "{text}");
    assert!(
        text.contains("5 on the way to the server, 4 on the way back, 0 unknown"),
        "{text}"
    );
    assert!(warning(&run, "duplicates").starts_with("3 replies"));
    assert!(warning(&run, "late").starts_with("5 replies"));
    assert_eq!(run.parameters["packets_lost_to_server"], 5);
    assert_eq!(run.parameters["packets_late"], 5);
}

#[test]
fn jitterdebugger() {
    let (_folder, run) = imported("jitterdebugger.json", ImportFormat::Jitterdebugger);
    assert_eq!(run.series[0].name, "cpu0");
    assert_eq!(run.series[0].counts, counts(500, 0, 0, 7_000, 73_000));
    assert_eq!(run.series[1].counts, counts(500, 0, 0, 8_000, 665_000));
    assert_eq!(run.host.cpus, 2);

    let (_folder, run) = imported("jitterdebugger-overflow.json", ImportFormat::Jitterdebugger);
    assert_eq!(run.series[0].counts, counts(500, 0, 33, 8_000, 33_587_000));
    assert!(warning(&run, "overflow").contains("33 of 500 values"));

    let (_folder, run) = imported(
        "jitterdebugger-nanoseconds.json",
        ImportFormat::Jitterdebugger,
    );
    assert_eq!(run.series[0].counts, counts(300, 0, 0, 8_584, 33_890));
}

/// irtt leaves out what it cannot send in time, and numbers the rest without a gap.
#[test]
fn packets_that_irtt_did_not_send_are_named() {
    let (_folder, run) = imported("irtt.json", ImportFormat::Irtt);
    assert!(run.warnings.iter().all(|it| it.id != "unsent"));
    let text = std::fs::read_to_string(fixture("irtt.json")).unwrap();
    let missed = text.replace("\"timer_misses\": 0", "\"timer_misses\": 7");
    let sink = Collected::read(ImportFormat::Irtt, &mut missed.as_bytes()).unwrap();
    assert!(warning(&sink.run, "unsent").starts_with("7 packets were not sent"));
}

#[test]
fn sockperf_gives_what_it_printed() {
    let (folder, run) = imported("sockperf.csv", ImportFormat::Sockperf);
    assert_eq!(run.series[0].name, "latency");
    assert_eq!(run.series[0].counts, counts(108, 0, 0, 4_302, 5_670_826));
    assert_eq!(run.series[0].expected_interval_ns, Some(5_000_000));
    assert_eq!(
        samples(folder.path(), "latency").iter().sum::<i64>(),
        45_318_920
    );
    assert!(warning(&run, "half_round_trip").contains("half of each round trip"));

    let (_folder, run) = imported("sockperf-rtt.csv", ImportFormat::Sockperf);
    assert_eq!(run.series[0].name, "rtt");
    assert_eq!(run.series[0].counts, counts(53, 0, 0, 12_016, 12_056_559));
    assert_eq!(run.series[0].expected_interval_ns, Some(10_000_000));
}

#[test]
fn bmwcarit_has_values_below_zero() {
    let (_folder, run) = imported("bmwcarit-cyclic.log", ImportFormat::Bmwcarit);
    assert_eq!(
        (run.series[0].name.as_str(), run.series[0].kind),
        ("jitter", Kind::Jitter)
    );
    assert_eq!(run.series[0].counts, counts(500, 199, 0, -41_000, 41_000));
    assert_eq!(run.series[0].expected_interval_ns, Some(1_000_000));

    for (name, early, min_ns, max_ns) in [
        ("measured", 2, -4_000, 180_000),
        ("reported", 2, -7_000, 178_000),
    ] {
        let file = format!("bmwcarit-oneshot-{name}.log");
        let (_folder, run) = imported(&file, ImportFormat::Bmwcarit);
        assert_eq!(run.series[0].name, name);
        assert_eq!(run.series[0].counts, counts(300, early, 0, min_ns, max_ns));
        assert_eq!(run.parameters["timeout_us"], 1000);
    }
}

/// -1 us in these logs is a message that never came, not a value.
#[test]
fn missing_messages_of_bmwcarit_are_no_values() {
    let (_folder, run) = imported("bmwcarit-communication.log", ImportFormat::Bmwcarit);
    assert_eq!(run.series[0].counts, counts(197, 0, 0, 52_000, 211_000));
    assert!(warning(&run, "lost").starts_with("3 of 200 messages never came"));
}

/// cyclictest ran with `-h 60`: 544 of 600 values of each thread were longer, and how much longer only the largest.
#[test]
fn values_beyond_the_histogram_miss_a_deadline_that_the_maximum_misses() {
    let misses = |deadline_ns| {
        let summary = judged("cyclictest-overflow.json", deadline_ns);
        let series = &summary.series[0];
        (
            series.verdict.unwrap().misses,
            series.series.counts.saturated,
        )
    };
    let (misses_of_100_us, beyond) = misses(100_000);
    assert!(
        beyond > 1 && misses_of_100_us == beyond,
        "{misses_of_100_us} of {beyond}"
    );
    assert_eq!(misses(10_000_000).0, 0);
}

/// A value that never came cannot have kept the deadline.
#[test]
fn an_import_that_lost_values_keeps_no_deadline() {
    for name in ["irtt-lossy.json.gz", "bmwcarit-communication.log"] {
        let summary = judged(name, 60_000_000_000);
        for series in &summary.series {
            let verdict = series.verdict.unwrap();
            assert!(verdict.misses == 0 && !verdict.kept(), "{name}");
        }
        let headline = Headline::of(&summary);
        assert_eq!(
            headline.answer,
            HeadlineAnswer::No,
            "{name}: {}",
            headline.words
        );
        let words = answer(&summary).unwrap();
        assert!(
            words.contains("do not keep") || words.contains("does not keep"),
            "{words}"
        );
        assert!(
            words.contains("values were lost; of the others 0 misses"),
            "{words}"
        );
    }
}

/// The rows of a histogram that was cut off are those of the largest values.
#[test]
fn a_histogram_that_was_cut_off_keeps_no_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cut.txt");
    let text = std::fs::read_to_string(fixture("cyclictest.txt")).unwrap();
    let is_row = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
    let rows: Vec<&str> = text.lines().filter(is_row).take(40).collect();
    std::fs::write(&file, format!("# Histogram\n{}\n", rows.join("\n"))).unwrap();
    let options = SummaryOptions {
        deadline_ns: Some(60_000_000_000),
        ..SummaryOptions::default()
    };
    let summary = Summary::of(&file, options).unwrap();
    assert!(summary.series.iter().all(|it| !it.verdict.unwrap().kept()));
    let headline = Headline::of(&summary);
    assert_eq!(headline.answer, HeadlineAnswer::No);
    assert!(
        headline.words.contains("No: values may have been lost at"),
        "{}",
        headline.words
    );
    let words = answer(&summary).unwrap();
    assert!(
        words.contains("values may have been lost; of the others 0 misses"),
        "{words}"
    );
}

#[test]
fn csv_samples_keep_their_order_and_give_the_start() {
    let (folder, run) = imported("samples.csv", ImportFormat::Csv);
    assert_eq!(run.started_at, "2026-11-21T20:35:42Z");
    assert_eq!(run.duration_ns, 1_990_000_000);
    let values = samples(folder.path(), "values");
    assert_eq!((values.len(), values[0], values[150]), (200, 52_852, -300));
    assert_eq!(run.series[0].counts.early, 1);
}

/// An import is an ordinary run, which every report reads.
#[test]
fn reports_read_every_import() {
    use kadenz_report::{html, json, run_documents, text::Style};
    let folder = tempfile::tempdir().unwrap();
    let mut summaries = Vec::new();
    for entry in std::fs::read_dir(fixture("")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "README.md" || name == "cyclictest-no-histogram.txt" {
            continue;
        }
        let out = folder.path().join(&name);
        let run = import::import(&path, import::detect(&path).unwrap(), &out).unwrap();
        let summary = Summary::of_run(&out).unwrap();
        for (summarised, series) in summary.series.iter().zip(&run.series) {
            assert_eq!(summarised.count, series.counts.recorded, "{name}");
            assert_eq!(summarised.max_ns, series.counts.max_ns, "{name}");
            assert_eq!(summarised.min_ns, series.counts.min_ns, "{name}");
        }
        let document = run_documents::summary(&summary);
        assert!(document.terminal(Style::plain()).to_string().len() > 100);
        assert!(document.markdown().len() > 100);
        summaries.push(summary);
    }
    assert!(summaries.len() >= 16);
    let output = json::Output::new(&summaries).to_string();
    let output: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert!(output["series"].as_array().unwrap().len() >= 20);
    assert!(html::render(&summaries).contains("import"));
}

/// Half of a file becomes a run that is marked as incomplete.
#[test]
fn what_was_cut_off_is_imported_as_incomplete() {
    use std::io::Write as _;
    let folder = tempfile::tempdir().unwrap();
    let cut = |name: &str, bytes: &[u8], format: ImportFormat| {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        let run = import::import(&file, format, &file.with_extension("run")).unwrap();
        assert!(!run.complete, "{name}");
        assert!(warning(&run, "truncated").contains("cut off"), "{name}");
        let reader = RunReader::open(file.with_extension("run")).unwrap();
        assert!(!reader.complete(), "{name}");
        run.series[0].counts.recorded
    };
    let log = std::fs::read(fixture("../hlog/jHiccup-2.0.7S.logV2.hlog")).unwrap();
    assert!(cut("a.hlog", &log[..log.len() / 2], ImportFormat::Hlog) > 1_000);
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    zipped.write_all(&log).unwrap();
    let zipped = zipped.finish().unwrap();
    assert!(cut("b.hlog.gz", &zipped[..zipped.len() / 2], ImportFormat::Hlog) > 1_000);
    let log = std::fs::read_to_string(fixture("sockperf-rtt.csv")).unwrap();
    let (rows, _) = log.split_once("52, 2.94888").unwrap();
    // Between two rows, and in the last value, of which 4840.8 is left.
    assert_eq!(cut("d.csv", rows.as_bytes(), ImportFormat::Sockperf), 52);
    let (in_value, _) = log.split_once("82\n---").unwrap();
    assert_eq!(
        cut("e.csv", in_value.as_bytes(), ImportFormat::Sockperf),
        52
    );
    // The 6 could be the beginning of 61000.
    let rows = b"time_ns,value_ns\n0,52000\n1000000,6";
    assert_eq!(cut("c.csv", rows, ImportFormat::Csv), 1);
}
