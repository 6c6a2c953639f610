//! `kadenz timer` as a user types it.

mod common;
use common::*;

#[test]
fn oneshot_reports_measured_reported_and_difference() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run_line(&format!(
        "timer oneshot --timeout 500us --count 200 --json --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    for name in ["measured", "reported", "difference"] {
        assert_eq!(series(&json, name)["count"], 200, "{name}");
    }
}

#[test]
fn a_timeout_below_a_millisecond_is_not_a_millisecond() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run_line(&format!(
        "timer oneshot --timeout 100us --count 300 --sleeper all --json --out {}",
        text(&out)
    ));
    let json = said.json();
    for series in json["series"].as_array().unwrap() {
        let name = series["name"].as_str().unwrap();
        if name.ends_with(".measured") {
            // A timer that rounds to 1 ms is never less than 900 us late.
            assert!(
                series["min_ns"].as_i64().unwrap() < 900_000,
                "{name}: {series}"
            );
        }
    }
}

#[test]
fn cyclic_reports_lateness_and_jitter() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run_line(&format!(
        "timer cyclic --rate 1kHz --count 300 --json --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_eq!(series(&json, "lateness")["count"], 300);
    assert_eq!(series(&json, "jitter")["count"], 299);
}

#[test]
fn every_sleeper_keeps_the_beat_without_early_wake_ups() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run_line(&format!(
        "timer cyclic --sleeper all --count 100 --json --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    let late: Vec<_> = json["series"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|series| series["name"].as_str().unwrap().ends_with(".lateness"))
        .collect();
    assert!(late.len() >= 3, "{json}");
    for series in late {
        assert_eq!(series["count"], 100);
        assert!(
            series["min_ns"].as_i64().unwrap() >= 0,
            "woke early: {series}"
        );
    }
}

#[test]
fn the_table_lists_the_highest_and_lowest_with_their_index() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run(&["timer", "cyclic", "--count", "50", "--out", text(&out)]);
    assert_on_one_screen(&said);
    let said = run(&["show", text(&out), "--details"]);
    assert!(
        said.out.contains("ighest") && said.out.contains("owest"),
        "{}",
        said.out
    );
}
