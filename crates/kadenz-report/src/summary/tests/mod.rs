mod loss;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kadenz_record::histogram::{Histogram, Layout};
use kadenz_record::hlog::reader::IntervalLog;
use kadenz_record::hlog::writer::IntervalLogWriter;
use kadenz_record::run::folder::{EARLY_TAG, RunWriter, SeriesSpec};
use kadenz_record::run::model::{EndedBy, SeriesFiles};
use kadenz_record::samples::writer::SamplesWriter;
use kadenz_record::samples::{Sample, SamplesHeader};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::verdict::Standing;

/// A run of one series with these values, in a folder that lives as long as the first part.
fn recorded(values: &[i64], raw: bool) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("run");
    let series = Series {
        name: "wakeup".into(),
        kind: Kind::Lateness,
        expected_interval_ns: Some(1_000_000),
        deadline_ns: Some(400_000),
        ..Series::default()
    };
    let mut writer = RunWriter::create(&dir, Run::default()).unwrap();
    let mut recorder = writer.series(SeriesSpec { series, raw }).unwrap();
    let running = writer.start(Duration::from_secs(1)).unwrap();
    for (sequence, &value_ns) in values.iter().enumerate() {
        recorder.record(Sample {
            sequence: sequence as u64,
            intended_ns: sequence as i64 * 1_000_000,
            value_ns,
            ..Sample::default()
        });
    }
    running.finish(EndedBy::Finished).unwrap();
    (folder, dir)
}

fn ids(summary: &Summary) -> Vec<&str> {
    summary
        .warnings
        .iter()
        .map(|warning| warning.id.as_str())
        .collect()
}

#[test]
fn a_run_of_too_many_different_values_names_the_limit() {
    let values: Vec<i64> = (0..100).map(|n| n * 1_000_000).collect();
    let (_folder, dir) = recorded(&values, false);
    let read = |limit| Summary::read_within(&dir, SummaryOptions::default(), limit);
    assert_eq!(read(100).unwrap().series[0].count, 100);
    let error = read(99).unwrap_err().to_string();
    assert!(error.contains("more than 99 different values"), "{error}");
}

fn edit(path: &Path, change: impl FnOnce(&str) -> String) {
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, change(&text)).unwrap();
}

fn values() -> Vec<i64> {
    (0..5000)
        .map(|i| (i * 7919) % 100_000 - 1_000 + if i % 1000 == 999 { 400_000 } else { 0 })
        .collect()
}

#[test]
fn a_run_with_samples_is_summarised_exactly() {
    let values = values();
    let (_folder, dir) = recorded(&values, true);
    let summary = Summary::of_run(&dir).unwrap();
    assert_eq!(ids(&summary), Vec::<&str>::new());
    let series = &summary.series[0];
    assert_eq!(series.count, 5000);
    assert_eq!(series.min_ns, values.iter().min().copied());
    assert_eq!(series.max_ns, values.iter().max().copied());
    let mean = values.iter().sum::<i64>() as f64 / 5000.0;
    assert!((series.mean_ns.unwrap() - mean).abs() < 1e-6);
    let samples = series.samples.as_ref().unwrap();
    assert_eq!(
        (samples.count, samples.highest.len(), samples.lowest.len()),
        (5000, 10, 10)
    );
    assert_eq!(samples.jitter.as_ref().unwrap().count, 4999);
    let verdict = series.verdict.unwrap();
    let misses = values.iter().filter(|&&value| value > 400_000).count() as u64;
    assert_eq!(
        (verdict.misses, verdict.longest_run, verdict.standing),
        (misses, 1, Standing::Missed)
    );
    assert_eq!(
        series
            .intervals
            .iter()
            .map(|point| point.count)
            .sum::<u64>(),
        5000
    );
}

#[test]
fn without_samples_the_histogram_answers() {
    let values = values();
    let (_folder, dir) = recorded(&values, false);
    let summary = Summary::of_run(&dir).unwrap();
    let series = &summary.series[0];
    assert_eq!((series.count, series.samples.is_none()), (5000, true));
    assert_eq!(series.max_ns, values.iter().max().copied());
    let mean = values.iter().sum::<i64>() as f64 / 5000.0;
    assert!((series.mean_ns.unwrap() / mean - 1.0).abs() < 1e-3);
}

#[test]
fn a_deadline_may_be_stated_afterwards() {
    let values = values();
    for raw in [true, false] {
        let (_folder, dir) = recorded(&values, raw);
        let options = SummaryOptions {
            deadline_ns: Some(50_000),
            ..SummaryOptions::default()
        };
        let verdict = Summary::of_run_with(&dir, options).unwrap().series[0]
            .verdict
            .unwrap();
        let misses = values.iter().filter(|&&value| value > 50_000).count() as f64;
        assert_eq!(verdict.limit_ns, 50_000);
        assert!(
            (verdict.misses as f64 / misses - 1.0).abs() < 2e-3,
            "{verdict:?}, {misses}"
        );
        assert_eq!(verdict.longest_run > 0, raw);
    }
}

fn judged(dir: &Path, deadline_ns: u64) -> Verdict {
    let options = SummaryOptions {
        deadline_ns: Some(deadline_ns),
        ..SummaryOptions::default()
    };
    let summary = Summary::of_run_with(dir, options).unwrap();
    summary.series[0].verdict.unwrap()
}

#[test]
fn a_deadline_below_the_exact_maximum_is_missed_even_within_one_bucket_of_it() {
    let (_folder, dir) = recorded(&[100_000, 400_050, 100_000], false);
    let misses = |deadline_ns| judged(&dir, deadline_ns).misses;
    assert_eq!((misses(400_049), misses(400_050)), (1, 0));
}

#[test]
fn a_maximum_whose_line_of_the_log_is_damaged_still_misses_a_deadline() {
    let (_folder, dir) = recorded(&[100_000; 10], false);
    edit(&dir.join("run.json"), |text| {
        text.replace("\"max_ns\": 100000", "\"max_ns\": 900000")
            .replace("\"recorded\": 10", "\"recorded\": 11")
    });
    assert_eq!(judged(&dir, 800_000).misses, 1);
}

/// A packet without an answer has no sample: the sequence goes on behind it.
#[test]
fn a_lost_packet_shifts_no_sample_number_and_has_no_jitter() {
    let (_folder, dir) = recorded(&[100_000, 100_000, 300_000, 300_000], true);
    edit(&dir.join("run.json"), |text| {
        text.replace("\"lateness\"", "\"latency\"")
    });
    let sample = |(sequence, value_ns)| Sample {
        sequence,
        value_ns,
        ..Sample::default()
    };
    let file = fs::File::create(dir.join("wakeup.samples.arrow")).unwrap();
    let mut writer = SamplesWriter::new(file, &SamplesHeader::default()).unwrap();
    for chunk in [[(0, 100_000), (1, 100_000)], [(7, 300_000), (8, 300_000)]] {
        writer.write(&chunk.map(sample)).unwrap();
    }
    writer.finish().unwrap();
    let summary = Summary::of_run(&dir).unwrap();
    let samples = summary.series[0].samples.as_ref().unwrap();
    assert_eq!(samples.highest[0].index, 7);
    let jitter = samples.jitter.as_ref().unwrap();
    assert_eq!((jitter.count, jitter.max_ns), (2, 0));
}

#[test]
fn a_run_that_was_killed_is_summarised_and_says_so() {
    let (_folder, dir) = recorded(&values(), true);
    edit(&dir.join("run.json"), |text| {
        text.replace("\"complete\": true", "\"complete\": false")
    });
    let summary = Summary::of_run(&dir).unwrap();
    assert!(!summary.run.complete);
    assert!(ids(&summary).contains(&"incomplete"), "{:?}", ids(&summary));
    assert_eq!(summary.series[0].count, 5000);
    assert!(summary.series[0].verdict.unwrap().misses_per_hour.is_some());
}

#[test]
fn a_count_of_misses_that_cannot_be_is_counted_again() {
    let (_folder, dir) = recorded(&values(), true);
    let misses = |summary: &Summary| summary.series[0].verdict.unwrap().misses;
    let before = misses(&Summary::of_run(&dir).unwrap());
    edit(&dir.join("run.json"), |text| {
        let (start, rest) = text.split_once("\"misses\": ").unwrap();
        let rest = rest.trim_start_matches(|it: char| it.is_ascii_digit());
        format!("{start}\"misses\": 18446744073709551600{rest}")
    });
    let summary = Summary::of_run(&dir).unwrap();
    assert_eq!(ids(&summary), ["counts_differ"]);
    assert_eq!(misses(&summary), before);
}

/// A loop that waits for a span after its work has a longer interval than that span.
#[test]
fn misses_an_hour_count_the_time_that_the_loop_kept() {
    let points = |counts: &[u64]| -> Vec<IntervalPoint> {
        let point = |(index, &count): (usize, &u64)| IntervalPoint {
            start_s: index as f64,
            length_s: 1.0,
            count,
            ..IntervalPoint::default()
        };
        counts.iter().enumerate().map(point).collect()
    };
    let hourly = |counts: &[u64], hlog_parts| {
        let mut histogram = SignedHistogram::default();
        (0..counts.iter().sum()).for_each(|_| histogram.record(100_000));
        let series = Series {
            deadline_ns: Some(50_000),
            expected_interval_ns: Some(1_000_000),
            counts: Counts {
                recorded: histogram.count(),
                misses: histogram.count(),
                ..Counts::default()
            },
            files: SeriesFiles {
                hlog_parts,
                ..SeriesFiles::default()
            },
            ..Series::default()
        };
        let summary = SeriesSummary::new(series, &histogram, points(counts), 0);
        summary.verdict.unwrap().misses_per_hour.unwrap().round()
    };
    assert_eq!(hourly(&[300, 500, 500, 200], None), 500.0 * 3600.0);
    // No interval lies within: the beat counts.
    assert_eq!(hourly(&[300, 500], None), 1000.0 * 3600.0);
    // Each part of a log begins with the time in which other series were measured.
    assert_eq!(hourly(&[300, 500, 500, 200], Some(2)), 1000.0 * 3600.0);
}

#[test]
fn damage_is_reported_and_the_rest_is_read() {
    let (_folder, dir) = recorded(&values(), true);
    edit(&dir.join("wakeup.hlog"), |text| {
        format!("{text}nonsense\n0.1,1.0,2.0,HISTFAAA")
    });
    let summary = Summary::of_run(&dir).unwrap();
    assert_eq!(ids(&summary), ["log_damaged", "log_truncated"]);
    assert!(
        summary.warnings[0].text.contains("1 line is left out"),
        "{:?}",
        summary.warnings
    );
    assert_eq!(summary.series[0].count, 5000);
}

#[test]
fn lost_lines_show_in_the_counts() {
    let (_folder, dir) = recorded(&values(), false);
    edit(&dir.join("wakeup.hlog"), |text| {
        text.lines()
            .filter(|line| !line.starts_with("Tag=early"))
            .map(|l| format!("{l}\n"))
            .collect()
    });
    let summary = Summary::of_run(&dir).unwrap();
    assert_eq!(ids(&summary), ["counts_differ"]);
}

#[test]
fn a_damaged_log_leaves_the_recorder_s_verdict() {
    for (raw, misses, count, warned) in [
        (true, 5, 5000, "log_incomplete"),
        (false, 5, 5000, "counts_differ"),
    ] {
        let (_folder, dir) = recorded(&values(), raw);
        fs::write(dir.join("wakeup.hlog"), "").unwrap();
        let options = SummaryOptions {
            samples: false,
            ..SummaryOptions::default()
        };
        for options in [options, SummaryOptions::default()] {
            let summary = Summary::of_run_with(&dir, options).unwrap();
            assert!(ids(&summary).contains(&warned), "{:?}", ids(&summary));
            let verdict = summary.series[0].verdict.unwrap();
            assert_eq!((verdict.misses, verdict.count), (misses, count));
        }
    }
}

#[test]
fn either_file_alone_suffices_and_none_does_not() {
    let (_folder, dir) = recorded(&values(), true);
    let whole = Summary::of_run(&dir).unwrap();
    fs::rename(dir.join("wakeup.hlog"), dir.join("hidden")).unwrap();
    let of_samples = Summary::of_run(&dir).unwrap();
    assert_eq!(ids(&of_samples), ["log_unreadable"]);
    assert_eq!(
        of_samples.series[0].percentiles,
        whole.series[0].percentiles
    );
    fs::remove_file(dir.join("wakeup.samples.arrow")).unwrap();
    let error = Summary::of_run(&dir).unwrap_err().to_string();
    assert!(error.contains("wakeup.hlog"), "{error}");
    fs::rename(dir.join("hidden"), dir.join("wakeup.hlog")).unwrap();
    let of_log = Summary::of_run(&dir).unwrap();
    assert_eq!(ids(&of_log), ["samples_unreadable"]);
    assert_eq!(of_log.series[0].percentiles, whole.series[0].percentiles);
}

#[test]
fn what_is_no_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = Summary::of_run(folder.path()).unwrap_err();
    assert!(matches!(error, SummariseError::Open(_)), "{error}");
}

/// An interval log of `(start, early?, values)`.
fn log_of(lines: &[(f64, bool, &[u64])]) -> log::LogFacts {
    let mut writer = IntervalLogWriter::new(Vec::new(), 0.0).unwrap();
    for &(start_s, early, values) in lines {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        writer
            .append(early.then_some(EARLY_TAG), start_s, 1.0, &histogram)
            .unwrap();
    }
    log::read(IntervalLog::from_reader(&writer.into_inner()[..]), None)
}

#[test]
fn early_and_late_lines_make_one_point() {
    let facts = log_of(&[
        (0.0, false, &[10, 20, 30]),
        (0.0, true, &[5, 40]),
        (1.0, false, &[]),
        (1.0, true, &[7]),
        (2.0, false, &[8]),
        (3.5, true, &[9]),
    ]);
    let points: Vec<(f64, u64, i64, i64)> = facts
        .intervals
        .iter()
        .map(|point| (point.start_s, point.count, point.min_ns, point.max_ns))
        .collect();
    assert_eq!(
        points,
        [
            (0.0, 5, -40, 30),
            (1.0, 1, -7, -7),
            (2.0, 1, 8, 8),
            (3.5, 1, -9, -9)
        ]
    );
    assert_eq!(facts.intervals[0].p50_ns, Some(10));
    assert_eq!(facts.intervals[0].p99_ns, None);
    assert_eq!(
        (facts.total.early.count(), facts.total.late.count()),
        (4, 4)
    );
}

#[test]
fn coarse_logs_stay_coarse_and_wide_ones_fit() {
    let coarse = Layout::new(20_000, 30 * 24 * 3600 * 1_000_000_000, 2).unwrap();
    let mut writer = IntervalLogWriter::new(Vec::new(), 0.0).unwrap();
    let two_hours = 7_200_000_000_000;
    for value in [1_000_000, two_hours] {
        let mut histogram = Histogram::with_layout(coarse);
        histogram.record(value);
        writer.append(None, 0.0, 1.0, &histogram).unwrap();
    }
    let facts = log::read(IntervalLog::from_reader(&writer.into_inner()[..]), None);
    assert_eq!(facts.total.late.max(), coarse.highest_equivalent(two_hours));
    assert_eq!(facts.total.late.min(), coarse.lowest_equivalent(1_000_000));
    assert_eq!(
        facts.total.late.value_at_quantile(0.5),
        coarse.highest_equivalent(1_000_000)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_points_add_up_to_the_total(
        lines in prop::collection::vec(
            (any::<bool>(), prop::collection::vec(0_u64..10_000_000, 0..30)), 0..20),
    ) {
        let lines: Vec<(f64, bool, &[u64])> = lines
            .iter()
            .enumerate()
            .map(|(index, (early, values))| ((index / 2) as f64, *early, &values[..]))
            .collect();
        let facts = log_of(&lines);
        let points = facts.intervals.iter().filter(|point| point.count > 0);
        let total = &facts.total;
        prop_assert_eq!(points.clone().map(|point| point.count).sum::<u64>(), total.count());
        if !total.is_empty() {
            prop_assert_eq!(points.clone().map(|point| point.min_ns).min(), Some(total.min()));
            prop_assert_eq!(points.map(|point| point.max_ns).max(), Some(total.max()));
        }
    }
}

/// A coarse interval after a fine one: the total is as coarse, and reports no value too low.
#[test]
fn what_mixes_layouts_understates_nothing() {
    let coarse = Layout::new(1000, 3_600_000_000_000, 2).unwrap();
    let mut writer = IntervalLogWriter::new(Vec::new(), 0.0).unwrap();
    for layout in [Layout::STANDARD, coarse] {
        let mut histogram = Histogram::with_layout(layout);
        histogram.record(5_000_000);
        histogram.record_n(21_900_000, 9);
        writer.append(None, 0.0, 1.0, &histogram).unwrap();
    }
    let facts = log::read(IntervalLog::from_reader(&writer.into_inner()[..]), None);
    let median = facts.total.late.value_at_quantile(0.5);
    assert!(median >= 21_900_000, "{median}");
    assert_eq!(facts.total.late.count(), 20);
}
