//! Reading commands as a user types them: report, show, compare, import, export.

mod common;
use common::*;

use std::path::{Path, PathBuf};

/// A short run to read.
fn measured(folder: &Path, name: &str) -> PathBuf {
    let out = folder.join(name);
    let said = run(&[
        "timer",
        "cyclic",
        "--count",
        "400",
        "--interval",
        "50ms",
        "--deadline",
        "10s",
        "--out",
        text(&out),
    ]);
    assert_eq!(said.code, 0, "{}", said.err);
    out
}

#[test]
fn a_run_compared_with_itself_differs_by_nothing() {
    let folder = folder();
    let out = measured(folder.path(), "run");
    let said = run(&[
        "compare",
        text(&out),
        text(&out),
        "--fail-if",
        "p99 > 1.2x",
        "--fail-if",
        "misses > 0",
    ]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("lateness"), "{}", said.out);
}

#[test]
fn a_crossed_limit_is_exit_code_1_and_says_which() {
    let folder = folder();
    let out = measured(folder.path(), "run");
    let said = run(&["compare", text(&out), "--fail-if", "lateness: max > 1ns"]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("lateness: max > 1ns"), "{}", said.err);
}

#[test]
fn what_the_sample_cannot_carry_is_not_decided() {
    let folder = folder();
    let out = measured(folder.path(), "run");
    let said = run(&[
        "compare",
        text(&out),
        "--fail-if",
        "p99.999 > 1us",
        "--json",
    ]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert_eq!(said.json()["version"], 1);
}

#[test]
fn one_page_of_several_runs() {
    let folder = folder();
    let runs = ["one", "two"].map(|name| measured(folder.path(), name));
    let page = folder.path().join("both.html");
    let said = run(&[
        "report",
        text(&runs[0]),
        text(&runs[1]),
        "--out",
        text(&page),
    ]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(std::fs::read_to_string(&page).unwrap().contains("</html>"));
}

#[test]
fn a_file_of_another_program_may_stand_in_the_place_of_a_run() {
    let folder = folder();
    let out = measured(folder.path(), "run");
    let log = folder.path().join("night.hlog");
    std::fs::copy(out.join("lateness.hlog"), &log).unwrap();
    let said = run(&["show", text(&log), "--json"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_eq!(json["runs"][0]["folder"], text(&log));
    assert_eq!(json["series"][0]["count"], 400);

    let said = run(&["report", text(&log)]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(folder.path().join("night.html").exists());
    let said = run(&["compare", text(&log), text(&out)]);
    assert_eq!(said.code, 0, "{}", said.err);

    std::fs::write(&log, "no log\n").unwrap();
    let said = run(&["show", text(&log)]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("night.hlog"), "{}", said.err);
}

#[test]
fn every_export_leaves_what_it_names() {
    let folder = folder();
    let out = measured(folder.path(), "run");
    for format in ["hlog", "hgrm", "csv", "parquet", "gnuplot"] {
        let file = folder.path().join(format);
        let said = run(&[
            "export",
            text(&out),
            "--series",
            "lateness",
            "--format",
            format,
            "--out",
            text(&file),
        ]);
        assert_eq!(said.code, 0, "{format}: {}", said.err);
        assert!(
            said.out
                .lines()
                .all(|line| Path::new(line).metadata().unwrap().len() > 0),
            "{}",
            said.out
        );
        assert!(!said.out.is_empty());
    }
}

#[test]
fn what_was_exported_can_be_imported_again() {
    let folder = folder();
    let out = measured(folder.path(), "run");
    let before = run(&["show", text(&out), "--json"]).json();
    for format in ["hlog", "csv"] {
        let file = folder.path().join(format!("run.{format}"));
        let again = folder.path().join(format!("again-{format}"));
        let said = run(&[
            "export",
            text(&out),
            "--series",
            "lateness",
            "--format",
            format,
            "--out",
            text(&file),
        ]);
        assert_eq!(said.code, 0, "{}", said.err);
        let said = run(&["import", text(&file), "--out", text(&again), "--json"]);
        assert_eq!(said.code, 0, "{}", said.err);
        let after = said.json();
        assert_eq!(after["series"][0]["count"], 400, "{format}");
        assert_eq!(
            after["series"][0]["percentiles"]["50"],
            series(&before, "lateness")["percentiles"]["50"],
            "{format}"
        );
    }
}
