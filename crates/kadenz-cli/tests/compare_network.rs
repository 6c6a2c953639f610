//! `kadenz compare` of round trips as a user types it: Enner's table of switches and hosts.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;

use std::path::{Path, PathBuf};

use common::*;
use kadenz::lab::stop::Stop;
use kadenz::lab::udp::echo::{EchoDevice, EchoPlan};
use serde_json::{Value, json};

/// Measures round trips over the loopback, and then sets the links in the run, which only a real network would state.
fn measured(folder: &Path, name: &str, path: &Value) -> PathBuf {
    let out = folder.join(name);
    let mut echo = EchoDevice::open(&EchoPlan::default()).unwrap();
    let address = echo.port().local_address().to_string();
    let stop = Stop::default();
    let until = stop.clone();
    let device = std::thread::spawn(move || echo.run(&until));
    let words = "udp send --rate 200Hz --count 100 --timeout 10s --to";
    let mut words: Vec<&str> = words.split(' ').collect();
    words.extend([address.as_str(), "--out", text(&out)]);
    let said = run(&words);
    stop.request();
    device.join().unwrap();
    assert_eq!(said.code, 0, "{}", said.err);
    let mut run = run_json(&out);
    let recorded = &mut run["network"]["path"];
    assert_eq!(
        *recorded,
        json!({"links_bit_s": [], "told_by": "loopback", "round_trip_ns": 0})
    );
    if !path.is_null() {
        *recorded = path.clone();
        std::fs::write(out.join("run.json"), run.to_string()).unwrap();
    }
    out
}

fn over(links: &[u64], round_trip_ns: u64) -> Value {
    json!({"links_bit_s": links, "told_by": "user", "round_trip_ns": round_trip_ns})
}

const FAST: u64 = 1_000_000_000;
const SLOW: u64 = 100_000_000;

#[test]
fn a_switch_that_was_added_is_compared_with_the_baseline() {
    let folder = folder();
    let baseline = measured(folder.path(), "baseline", &over(&[SLOW, SLOW], 81_280));
    let added = measured(folder.path(), "rb750", &over(&[SLOW, FAST, SLOW], 85_344));
    let page = folder.path().join("both.html");
    let both = ["compare", text(&baseline), text(&added)];

    let said = run(&[&both[..], &["--report", text(&page)]].concat());
    assert_eq!(said.code, 0, "{}", said.err);
    for words in ["| switch or", "2x 100", "81.28 us", "+4.064 us"] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Round trips of all runs") && page.contains("2x 100 Mbit/s"));

    let json = run(&[&both[..], &["--json"]].concat()).json();
    let rows = json["round_trips"].as_array().unwrap();
    assert!(rows[0]["beyond_baseline"].is_null());
    assert_eq!(rows[1]["beyond_baseline"]["wire_ns"], 4_064);
    let p90 = |of: &Value, name: &str| of["p90"][name].as_i64().unwrap();
    for row in rows {
        let rtt = p90(row, "round_trip_ns");
        assert_eq!(p90(row, "not_on_wire_ns"), rtt - p90(row, "wire_ns"));
        assert_eq!((&row["sent"], &row["lost"]), (&100.into(), &0.into()));
    }
    let more = p90(&rows[1], "round_trip_ns") - p90(&rows[0], "round_trip_ns");
    assert_eq!(rows[1]["beyond_baseline"]["round_trip_ns"], more);
    assert_eq!(rows[1]["host"]["interface"], rows[0]["host"]["interface"]);
}

#[test]
fn over_the_loopback_nothing_is_on_the_wire() {
    let folder = folder();
    let runs = ["a", "b"].map(|name| measured(folder.path(), name, &Value::Null));
    let said = run(&["compare", text(&runs[0]), text(&runs[1]), "--json"]);
    let json = said.json();
    assert_eq!(json["round_trips"][0]["path"]["connection"], "loopback");
    assert_eq!(json["round_trips"][0]["p90"]["wire_ns"], 0);
    assert!(json["runs"][0]["network"]["testbed"].is_null());
}

#[test]
fn links_that_are_none_are_refused() {
    for (path, words) in [("100", "100Mbit/s"), ("1G,fast", "fast"), ("", "number")] {
        let said = run(&["udp", "send", "--to", "127.0.0.1:9", "--path", path]);
        assert_eq!(said.code, 2, "{path}: {}", said.out);
        assert!(said.err.contains(words), "{path}: {}", said.err);
    }
}
