//! Reading a run of `kadenz tune` as a user types it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

use std::path::{Path, PathBuf};

use kadenz::record::histogram::Histogram;
use kadenz::record::hlog::writer::IntervalLogWriter;
use kadenz::record::recorder::Counts;
use kadenz::record::run::model::{EndedBy, Kind, Run, Series, SeriesFiles, TuningMeasure};

/// A matrix of two cells under heavy load: `none` misses now and then, and `P` is late by `late_ns`.
fn matrix(folder: &Path, late_ns: u64) -> PathBuf {
    let out = folder.join("tune");
    std::fs::create_dir_all(&out).unwrap();
    let mut series = Vec::new();
    for (cell, worst) in [("none", 900_000), ("P", late_ns)] {
        for kind in [Kind::Lateness, Kind::Jitter] {
            series.push(one(&out, cell, kind, worst));
        }
    }
    let run = Run {
        version: 1,
        experiment: "tune".into(),
        complete: true,
        ended_by: Some(EndedBy::Finished),
        parameters: [("loads".to_owned(), "heavy".into())].into(),
        series,
        ..Run::default()
    };
    let text = serde_json::to_string(&run).unwrap();
    std::fs::write(out.join("run.json"), text).unwrap();
    out
}

fn one(out: &Path, cell: &str, kind: Kind, worst: u64) -> Series {
    let end = if kind == Kind::Jitter { "-jitter" } else { "" };
    let name = format!("heavy-{cell}{end}");
    let file = format!("{name}.hlog");
    let mut log = IntervalLogWriter::create(&out.join(&file), 0.0).unwrap();
    let mut second = Histogram::new();
    second.record_n(10_000, 999);
    second.record_n(worst, 1);
    for start in 0..40 {
        log.append(None, f64::from(start), 1.0, &second).unwrap();
    }
    let misses = if worst > 400_000 { 40 } else { 0 };
    Series {
        name,
        kind,
        unit: "ns".into(),
        expected_interval_ns: Some(1_000_000),
        deadline_ns: (kind == Kind::Lateness).then_some(400_000),
        tuning: (cell == "P").then(priority).into_iter().collect(),
        files: SeriesFiles {
            hlog: Some(file),
            ..SeriesFiles::default()
        },
        counts: Counts {
            recorded: 40_000,
            misses: if kind == Kind::Lateness { misses } else { 0 },
            longest_miss_run: misses.min(1),
            min_ns: Some(10_000),
            max_ns: Some(worst as i64),
            ..Counts::default()
        },
        ..Series::default()
    }
}

fn priority() -> TuningMeasure {
    TuningMeasure::granted("policy", "SCHED_FIFO 80")
}

#[test]
fn show_gives_the_answer_and_the_matrix_instead_of_its_series() {
    let folder = folder();
    let out = matrix(folder.path(), 50_000);
    let said = run(&["show", text(&out), "--details"]);
    assert_eq!(said.code, 0, "a cell keeps it: {}{}", said.out, said.err);
    assert!(
        said.out
            .contains("Use P. Real-time priority is the cheapest"),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains("sudo kadenz run --priority 80 -- ./your-program")
    );
    assert!(!said.out.contains("heavy-P-jitter"), "{}", said.out);
}

#[test]
fn show_of_a_matrix_without_a_cell_that_keeps_the_deadline_is_exit_code_1() {
    let folder = folder();
    let out = matrix(folder.path(), 500_000);
    let said = run(&["show", text(&out), "--details"]);
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    let words: Vec<&str> = said.out.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("100 us beyond the deadline"), "{text}");
}

#[test]
fn show_as_json_keeps_every_series() {
    let folder = folder();
    let out = matrix(folder.path(), 50_000);
    let said = run(&["show", text(&out), "--json"]);
    let output: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(output["series"].as_array().unwrap().len(), 4);
}

#[test]
fn report_makes_the_page_of_a_matrix() {
    let folder = folder();
    let out = matrix(folder.path(), 50_000);
    let said = run(&["report", text(&out)]);
    assert_eq!(said.code, 0, "{}", said.err);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("P is enough") && page.contains("id=\"periods-heavy\""));
    assert!(!page.contains("id=\"modes\""));
    let said = run(&["report", text(&out), "--modes"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("id=\"periods-heavy\"") && page.contains("<section id=\"modes\">"));
    assert!(page.contains(": nothing recurs in "));
}
