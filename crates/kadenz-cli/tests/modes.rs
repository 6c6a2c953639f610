//! `kadenz modes` as a user types it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The finisher of SplitMix64: without it multiples of a number have periods of their own.
fn scrambled(index: u64) -> u64 {
    let mut z = index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Five minutes at 100 Hz with a spike every five seconds.
fn recorded(folder: &Path) -> PathBuf {
    let mut csv = String::from("time_ns,value_ns\n");
    for index in 0..30_000_u64 {
        let spike = if index % 500 == 77 { 20_000 } else { 0 };
        let noise = scrambled(index) >> 54;
        writeln!(csv, "{},{}", index * 10_000_000, 190_000 + noise + spike).unwrap();
    }
    let (file, out) = (folder.join("rtt.csv"), folder.join("rtt"));
    std::fs::write(&file, csv).unwrap();
    let said = run(&["import", text(&file), "--out", text(&out)]);
    assert_eq!(said.code, 0, "{}", said.err);
    out
}

#[test]
fn a_spike_every_five_seconds_is_in_words_and_in_json() {
    let folder = folder();
    let out = recorded(folder.path());
    let said = run(&["modes", text(&out)]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("every 5.00 s one "), "{}", said.out);
    assert!(said.out.contains("(60 of 60 seen"), "{}", said.out);

    let quiet = run(&["modes", text(&out), "--quiet"]);
    assert_eq!(quiet.out.lines().count(), 1, "{}", quiet.out);
    assert!(quiet.out.contains("every 5.00 s one "), "{}", quiet.out);

    let json = run(&["modes", text(&out), "--json"]).json();
    assert_eq!(json["modes"].as_array().map(Vec::len), Some(1), "{json}");
    let mode = &json["modes"][0];
    assert_eq!(mode["kind"], "spike");
    assert_eq!(mode["occurrences"], 60);
    assert!((mode["period_s"].as_f64().unwrap() - 5.0).abs() < 0.05);
    assert_eq!(json["series"][0]["source"], "samples");
}

#[test]
fn a_series_that_is_not_there_and_a_run_that_is_none_are_refused() {
    let folder = folder();
    let out = recorded(folder.path());
    let said = run(&["modes", text(&out), "--series", "wakeup"]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("has no series \"wakeup\"; it has "),
        "{}",
        said.err
    );
    let said = run(&["modes", text(folder.path())]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("run.json"), "{}", said.err);
}

#[test]
fn without_samples_the_intervals_are_searched_and_that_is_said() {
    let folder = folder();
    let log = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../conformance/hlog/jHiccup-2.0.7S.logV2.hlog");
    let out = folder.path().join("hiccups");
    let said = run(&["import", text(&log), "--out", text(&out)]);
    assert_eq!(said.code, 0, "{}", said.err);
    let said = run(&["modes", text(&out)]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("intervals over"), "{}", said.out);
    assert!(said.out.contains("maxima of the intervals"), "{}", said.out);
}

#[test]
fn every_series_of_a_run_is_searched_unless_one_is_named() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run_line(&format!(
        "hiccup --duration 1s --samples --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    let all = run(&["modes", text(&out), "--json"]).json();
    let names: Vec<&str> = all["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|series| series["name"].as_str().unwrap())
        .collect();
    assert!(names.len() > 1, "{names:?}");
    let one = run(&["modes", text(&out), "--series", names[1], "--json"]).json();
    assert_eq!(one["series"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["series"][0]["name"], names[1]);
}

#[test]
fn show_and_report_list_modes_where_they_are_asked_to() {
    let folder = folder();
    let out = recorded(folder.path());
    let plain = run(&["show", text(&out)]);
    assert!(!plain.out.contains("recurring mode"), "{}", plain.out);
    let said = run(&["show", text(&out), "--modes"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(
        said.out.contains("1 recurring mode in 30,000"),
        "{}",
        said.out
    );

    let json = run(&["show", text(&out), "--modes", "--json"]).json();
    assert_valid("output", &json);
    let modes = &json["series"][0]["modes"];
    assert_eq!(modes["source"], "samples");
    assert_eq!(modes["found"][0]["occurrences"], 60, "{modes}");
    let plain = run(&["show", text(&out), "--json"]).json();
    assert!(plain["series"][0]["modes"].is_null());

    let page = folder.path().join("page.html");
    let said = run(&["report", text(&out), "--modes", "--out", text(&page)]);
    assert_eq!(said.code, 0, "{}", said.err);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<section id=\"modes\">"));
    assert!(page.contains("<th scope=\"row\">every 5.00 s one "));
    assert!(page.contains("<svg class=\"shape\" role=\"img\""));
}

#[test]
fn a_file_of_another_program_is_searched_before_its_import_goes() {
    let folder = folder();
    recorded(folder.path());
    let file = folder.path().join("rtt.csv");
    let said = run(&["show", text(&file), "--modes"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("every 5.00 s one "), "{}", said.out);
}
