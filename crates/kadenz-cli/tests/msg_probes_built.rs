//! The probes that come with Kadenz: built, listed, and measured by.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;

use std::path::Path;

use common::{Said, folder, kadenz, run, run_json, series, skip, text};

/// The probes of the repository.
const PROBES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../probes");

/// The probes that a test builds: those in Rust take minutes.
const BUILT: [&str; 16] = [
    "ring",
    "unix",
    "pipe",
    "mqueue",
    "udp",
    "multicast",
    "tcp",
    "lcm",
    "zmq",
    "nng",
    "roscpp",
    "cyclonedds",
    "fastdds",
    "rabbitmq",
    "mosquitto",
    "nats",
];

#[test]
fn every_probe_measures_its_middleware_at_a_server_of_its_own() {
    let folder = folder();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let of =
        |words: &[&str]| Said::of(kadenz(words).env("XDG_CACHE_HOME", cache).output().unwrap());
    for name in BUILT {
        let listed = of(&["msg", "probes", "--build", "--json", name]);
        let json = listed.json();
        common::assert_described("msg", "probes", &json);
        if let Some(missing) = json["probes"][0]["missing"].as_str() {
            assert_eq!(listed.code, 1, "{missing}");
            skip(
                "every_probe_measures_its_middleware_at_a_server_of_its_own",
                missing,
            );
            continue;
        }
        let out = folder.path().join(name);
        let subscribers = if name == "udp" { "1" } else { "2" };
        let said = of(&[
            "msg",
            "latency",
            "--with",
            name,
            "--rate",
            "100Hz",
            "--count",
            "50",
            "--queue",
            "50",
            "--subscribers",
            subscribers,
            "--json",
            "--out",
            text(&out),
        ]);
        assert_eq!(said.code, 0, "{name}: {}", said.err);
        for subscriber in said.json()["runs"][0]["messages"]["subscribers"]
            .as_array()
            .unwrap()
        {
            assert_eq!(subscriber["received"], 50, "{name}: {subscriber}");
            assert_eq!(subscriber["damaged"], 0, "{name}: {subscriber}");
        }
        let middleware = &run_json(&out)["parameters"]["subscriber_middleware"];
        assert!(
            middleware.as_str().is_some_and(|it| !it.is_empty()),
            "{name}"
        );
    }
}

#[test]
fn an_experiment_sets_ours_beside_others_with_ratios() {
    let folder = folder();
    let out = folder.path().join("out");
    let words = [
        "experiment",
        "messages",
        "--only",
        "unix,tcp,kadenz-memq",
        "--floor",
        "unix",
        "--duration",
        "300ms",
        "--rounds",
        "2",
        "--policies",
        "other",
        "--json",
        "--out",
        text(&out),
    ];
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let said = Said::of(
        kadenz(&words)
            .env("XDG_CACHE_HOME", cache)
            .output()
            .unwrap(),
    );
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    common::assert_valid("experiment", &json);
    let load = &json["messages"]["loads"][0];
    let rows = load["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3, "{load}");
    for row in rows {
        assert_eq!(row["rounds"], 2, "{row}");
        assert!(row["p50_ns"].as_i64().unwrap() > 0, "{row}");
        let ratio = &row["to_floor"]["p50"]["interval"];
        assert_eq!(ratio.is_array(), row["name"] != "unix", "{row}");
    }
    assert!(out.join("table.md").exists());
    let wrong = run(&["experiment", "messages", "--only", "carrier-pigeon"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("there are ring, unix"), "{}", wrong.err);
}

#[test]
fn timers_of_ros_are_measured_as_ours_are() {
    let folder = folder();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let of =
        |words: &[&str]| Said::of(kadenz(words).env("XDG_CACHE_HOME", cache).output().unwrap());
    let built = of(&["msg", "probes", "--build", "--json", "roscpp_timers"]);
    if let Some(missing) = built.json()["probes"][0]["missing"].as_str() {
        return skip("timers_of_ros_are_measured_as_ours_are", missing);
    }
    for (suite, wait, all) in [
        (
            "oneshot",
            ["--timeout", "1ms"],
            [("measured", 50), ("reported", 50), ("difference", 50)],
        ),
        (
            "cyclic",
            ["--rate", "100Hz"],
            [("lateness", 50), ("jitter", 49), ("jitter", 49)],
        ),
    ] {
        let out = folder.path().join(suite);
        let words = [
            "timer",
            suite,
            "--with",
            "roscpp_timers",
            "--count",
            "50",
            "--json",
            "--out",
            text(&out),
        ];
        let said = of(&[&words[..], &wait].concat());
        assert_eq!(said.code, 0, "{suite}: {}", said.err);
        for (name, count) in all {
            assert_eq!(series(&said.json(), name)["count"], count, "{suite} {name}");
        }
        let run = run_json(&out);
        assert!(
            run["parameters"]["timer"]
                .as_str()
                .unwrap()
                .starts_with("roscpp 1."),
            "{run}"
        );
    }
    let said = of(&["msg", "latency", "--with", "roscpp_timers"]);
    assert_eq!(said.code, 2);
    assert!(
        said.err
            .contains("kadenz timer cyclic --with roscpp_timers"),
        "{}",
        said.err
    );
    let said = of(&["timer", "cyclic", "--with", "lcm"]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("kadenz msg latency --with lcm"),
        "{}",
        said.err
    );
}

#[test]
fn probes_are_listed_and_their_sources_written() {
    let folder = folder();
    let listed = run(&["msg", "probes", "--json"]);
    assert_eq!(listed.code, 0, "{}", listed.err);
    common::assert_described("msg", "probes", &listed.json());
    let sources = folder.path().join("sources");
    let said = run(&["msg", "probes", "--sources", text(&sources), "lcm", "zenoh"]);
    assert_eq!(said.code, 0, "{}", said.err);
    for file in [
        "lcm.c",
        "kadenz_probe.h",
        "zenoh/src/main.rs",
        "kadenz_probe.rs",
    ] {
        let written = std::fs::read(sources.join(file)).unwrap();
        assert_eq!(
            written,
            std::fs::read(Path::new(PROBES).join(file)).unwrap(),
            "{file}"
        );
    }
    let said = run(&["msg", "probes", "carrier-pigeon"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("there are ring, unix"), "{}", said.err);
}
