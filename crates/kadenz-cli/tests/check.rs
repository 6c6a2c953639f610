//! `kadenz check` as a user types it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

#[test]
fn check_answers_in_words_and_leaves_a_run_with_a_page() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run(&[
        "check",
        "--rate",
        "1kHz",
        "--deadline",
        "400us",
        "--duration",
        "1s",
        "--out",
        text(&out),
    ]);
    assert!(said.code == 0 || said.code == 1, "{}", said.err);
    assert!(said.out.contains("This machine"), "{}", said.out);
    assert!(
        said.out.contains("realtime") && said.out.contains("ordinary"),
        "{}",
        said.out
    );
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"));
    let run = run_json(&out);
    assert_eq!(run["complete"], true);
    assert_eq!(run["parameters"]["rate"], "1kHz");
}

#[test]
fn the_exit_code_is_the_verdict_of_the_real_time_series() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run(&[
        "check",
        "--duration",
        "500ms",
        "--deadline",
        "10s",
        "--json",
        "--out",
        text(&out),
    ]);
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_eq!(series(&json, "realtime")["deadline"]["kept"], true);
    assert_eq!(series(&json, "realtime")["count"], 500);
    assert!(
        json["answer"].as_str().unwrap().contains("keeps 1 kHz"),
        "{}",
        json["answer"]
    );

    let out = folder.path().join("missed");
    let said = run(&[
        "check",
        "--duration",
        "500ms",
        "--deadline",
        "1ns",
        "--json",
        "--out",
        text(&out),
    ]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert_eq!(series(&said.json(), "realtime")["deadline"]["kept"], false);
}

#[test]
fn a_percentile_that_the_sample_cannot_carry_is_not_told() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run(&[
        "check",
        "--duration",
        "200ms",
        "--json",
        "--out",
        text(&out),
    ]);
    let json = said.json();
    let percentiles = &series(&json, "realtime")["percentiles"];
    assert!(percentiles["99"].is_number());
    assert!(
        percentiles["99.9"].is_null(),
        "200 samples cannot carry 99.9 %"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_answer_names_the_cheapest_tuning() {
    let folder = folder();
    let out = folder.path().join("kept");
    let words = ["check", "--duration", "500ms", "--json"];
    let said = run(&[&words[..], &["--deadline", "10s", "--out", text(&out)]].concat());
    let json = said.json();
    assert_eq!(json["cheapest"]["cell"], "none");
    let answer = json["answer"].as_str().unwrap();
    assert!(
        answer.contains("cheapest tuning that keeps it here is none"),
        "{answer}"
    );
    assert!(!out.join("tuning").exists(), "nothing had to be measured");

    let out = folder.path().join("missed");
    let said = run(&[&words[..], &["--deadline", "1ns", "--out", text(&out)]].concat());
    let json = said.json();
    assert!(json["cheapest"]["cell"].is_null(), "{json}");
    assert_eq!(run_json(&out.join("tuning"))["experiment"], "tune");
    let answer = json["answer"].as_str().unwrap();
    assert!(answer.contains("Nothing that was tried"), "{answer}");

    let out = folder.path().join("quick");
    let said = run(&[&words[..], &["--no-tuning", "--out", text(&out)]].concat());
    assert!(said.json().get("cheapest").is_none(), "{}", said.out);
}
