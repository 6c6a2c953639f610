//! The clocks by which `kadenz udp send` measures how long each way took. Both ends have the same wall clock here, so
//! their clocks are synchronised.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;

use common::listener::Listener;
use common::{folder, run, run_json, series, text};
use serde_json::Value;

/// Measures a hundred round trips with device stamps; returns `run.json` and the printed JSON.
fn measure(echo: &Listener, more: &[&str]) -> (Value, Value) {
    let folder = folder();
    let out = folder.path().join("run");
    let mut arguments = vec!["udp", "send", "--to", &echo.address, "--rate", "200Hz"];
    arguments.extend([
        "--count",
        "100",
        "--device-stamps",
        "--timeout",
        "10s",
        "--json",
        "--out",
        text(&out),
    ]);
    arguments.extend(more);
    let said = run(&arguments);
    assert_eq!(said.code, 0, "{}", said.err);
    (run_json(&out), said.json())
}

fn warned_of(written: &Value, id: &str) -> bool {
    let warnings = written["warnings"].as_array().cloned();
    warnings.unwrap_or_default().iter().any(|it| it["id"] == id)
}

#[test]
fn one_wall_clock_agrees_with_itself() {
    let echo = Listener::echo(&["--stamps", "wall"]);
    let claim = ["--clocks", "synchronised", "--clock-error", "10us"];
    let (written, json) = measure(&echo, &claim);
    let by = written["parameters"]["one_way_by"].as_str().unwrap();
    assert!(
        by.starts_with("synchronised and said to agree within 10000 ns"),
        "{by}"
    );
    // The bounds of the exchanges must not contradict a true claim.
    assert!(!warned_of(&written, "clocks_contradict"), "{written:#}");
    assert!(
        !warned_of(&written, "wall_clock_free"),
        "all is on one machine"
    );
    let error = written["parameters"]["one_way_error_ns"].as_f64().unwrap();
    let mean = |name: &str| {
        assert_eq!(series(&json, name)["count"], 100, "{name}");
        series(&json, name)["mean_ns"].as_f64().unwrap()
    };
    let ways = mean("to-device") + mean("from-device");
    let rest = mean("rtt") - mean("device");
    assert!((ways - rest).abs() <= 2.0 * error, "{ways} {rest} {error}");
    let way = written["series"].as_array().unwrap();
    let way = way.iter().find(|it| it["name"] == "to-device").unwrap();
    assert!(
        way["description"]
            .as_str()
            .unwrap()
            .contains("said to agree within")
    );
}

#[test]
fn wall_stamps_can_be_fitted_as_well() {
    let echo = Listener::echo(&["--stamps", "wall"]);
    let (written, json) = measure(&echo, &[]);
    assert_eq!(written["parameters"]["one_way_by"], "fitted to each other");
    assert_eq!(series(&json, "to-device")["count"], 100);
}

#[test]
fn a_claim_of_clocks_that_differ_is_refuted_loudly() {
    // The device stamps with the clock that starts when the machine boots.
    let echo = Listener::echo(&["--stamps", "monotonic"]);
    let claim = ["--clocks", "synchronised", "--clock-error", "1ms"];
    let (written, json) = measure(&echo, &claim);
    assert!(warned_of(&written, "clocks_contradict"), "{written:#}");
    assert_eq!(written["parameters"]["one_way_by"], "fitted to each other");
    assert_eq!(series(&json, "to-device")["count"], 100);
}

#[test]
fn a_claim_says_how_far_apart_clocks_may_be() {
    let refused = |arguments: &[&str], words: &str| {
        let all = [&["udp", "send", "--to", "127.0.0.1:9"], arguments].concat();
        let said = run(&all);
        assert_eq!(said.code, 2, "{arguments:?}");
        assert!(said.err.contains(words), "{arguments:?}: {}", said.err);
    };
    let synchronised = ["--clocks", "synchronised"];
    refused(&synchronised, "--device-stamps");
    refused(
        &[&synchronised[..], &["--device-stamps"]].concat(),
        "--clock-error",
    );
    refused(
        &["--device-stamps", "--clock-error", "1us"],
        "--clocks synchronised",
    );
}
