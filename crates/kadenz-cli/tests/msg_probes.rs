//! `kadenz msg latency --with`: foreign programs as publisher and subscribers.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{
    Said, folder, kadenz, parted, run, run_json, run_line, series, signal, skip, start_measuring,
    text, wait_until,
};

/// The probes of the repository.
const PROBES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../probes");

/// Builds a probe in C into a folder.
fn build(folder: &Path, source: &Path, libraries: &[&str]) -> Option<PathBuf> {
    let program = folder.join(source.file_stem().unwrap());
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-Werror", "-I", PROBES, "-o"]);
    compiler.arg(&program).arg(source).arg("-pthread");
    let built = compiler.args(libraries).output().unwrap();
    built.status.success().then_some(program)
}

/// The probe over UDP, and a variant with a fault that its first argument names.
struct Probes {
    folder: tempfile::TempDir,
    udp: PathBuf,
    faulty: PathBuf,
    url: String,
}

impl Probes {
    fn new() -> Self {
        let folder = folder();
        let udp = build(folder.path(), &Path::new(PROBES).join("udp.c"), &[]).unwrap();
        let faulty = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/probes/faulty.c");
        let faulty = build(folder.path(), &faulty, &[]).unwrap();
        let free = UdpSocket::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        Self {
            folder,
            udp,
            faulty,
            url: format!("udp://{free}"),
        }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn faulty(&self, fault: &str) -> String {
        format!("{} {fault}", text(&self.faulty))
    }

    fn latency(&self, more: &[&str]) -> Said {
        let words = [
            "msg", "latency", "--rate", "200Hz", "--json", "--url", &self.url, "--out",
        ];
        run(&[&words[..], &[text(&self.out())], more].concat())
    }
}

fn warnings(run: &serde_json::Value) -> String {
    run["warnings"].to_string()
}

#[test]
fn a_probe_takes_both_sides_and_is_measured_as_ours_are() {
    let probes = Probes::new();
    let udp = text(&probes.udp);
    let said = probes.latency(&parted(&format!(
        "--with {udp} --count 200 --policy fifo:10 --deadline 60s"
    )));
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    common::assert_valid("output", &json);
    let messages = &json["runs"][0]["messages"];
    assert_eq!(
        (&messages["published"], &messages["refused"]),
        (&200.into(), &0.into())
    );
    assert_eq!(messages["subscribers"][0]["received"], 200);
    for name in ["one-way", "one-way-from-send", "publish-lateness"] {
        assert_eq!(series(&json, name)["count"], 200, "{name}");
    }
    assert_eq!(
        series(&json, "publish")["count"],
        199,
        "told by the message after"
    );
    let (beat, send) = (series(&json, "one-way"), series(&json, "one-way-from-send"));
    assert!(beat["max_ns"].as_i64() >= send["min_ns"].as_i64());
    assert!(
        send["min_ns"].as_i64().unwrap() > 0,
        "one clock on both sides"
    );
    let written = run_json(&probes.out());
    assert_eq!(written["complete"], true);
    assert_eq!(written["parameters"]["subscriber"], udp);
    assert_eq!(written["parameters"]["subscriber_middleware"], "UDP");
    assert_eq!(written["parameters"]["publisher_middleware"], "UDP");
    for it in written["series"].as_array().unwrap() {
        assert_eq!(it["tuning"][0]["requested"], "SCHED_FIFO 10", "{it}");
    }
}

#[test]
fn a_probe_stands_on_one_side_and_ours_on_the_other() {
    let folder = folder();
    let Some(lcm) = build(folder.path(), &Path::new(PROBES).join("lcm.c"), &["-llcm"]) else {
        skip(
            "a_probe_stands_on_one_side_and_ours_on_the_other",
            "no liblcm (apt-get install liblcm-dev)",
        );
        return;
    };
    for (at, side) in ["--publisher", "--subscriber", "--with"]
        .into_iter()
        .enumerate()
    {
        let out = folder.path().join(format!("run-{at}"));
        let url = format!("udpm://239.255.76.71:{}?ttl=0", 17_200 + at);
        let said = run_line(&format!(
            "msg latency --rate 200Hz --count 100 --json --url {url} --out {} --subscribers 2 \
             {side} {}",
            text(&out),
            text(&lcm)
        ));
        assert_eq!(said.code, 0, "{side}: {}", said.err);
        let json = said.json();
        for subscriber in json["runs"][0]["messages"]["subscribers"]
            .as_array()
            .unwrap()
        {
            assert_eq!(subscriber["received"], 100, "{side}: {subscriber}");
            assert_eq!(subscriber["damaged"], 0, "{side}: {subscriber}");
        }
    }
}

#[test]
fn what_a_probe_loses_repeats_or_damages_is_counted() {
    let probes = Probes::new();
    let said = probes.latency(&[
        "--publisher",
        &probes.faulty("faults"),
        "--subscriber",
        text(&probes.udp),
        "--count",
        "100",
        "--deadline",
        "60s",
    ]);
    assert_eq!(said.code, 1, "a message was lost: {}", said.err);
    let subscriber = &said.json()["runs"][0]["messages"]["subscribers"][0];
    let counts = ["received", "lost", "duplicates", "damaged", "foreign"]
        .map(|it| subscriber[it].as_u64().unwrap());
    assert_eq!(counts, [90, 10, 10, 10, 10], "{subscriber}");
}

#[test]
fn a_probe_that_dies_or_goes_astray_ends_the_run_which_is_kept() {
    for (side, fault, words) in [
        ("--subscriber", "dies", "signal: 9"),
        (
            "--subscriber",
            "garbage",
            "which is not a line of the probe protocol",
        ),
        ("--subscriber", "clock", "not of CLOCK_MONOTONIC"),
        ("--subscriber", "ends", "ended before it was told to"),
        ("--publisher", "dies", "signal: 9"),
        (
            "--publisher",
            "ends",
            "ended early, after 50 of 100 messages",
        ),
        ("--publisher", "hangs", "says: lost its way"),
        (
            "--publisher",
            "says-nothing",
            "ended without `published COUNT REFUSED`",
        ),
    ] {
        let probes = Probes::new();
        let other = if side == "--publisher" {
            "--subscriber"
        } else {
            "--publisher"
        };
        let said = probes.latency(&[
            side,
            &probes.faulty(fault),
            other,
            text(&probes.udp),
            "--count",
            "100",
        ]);
        let run = run_json(&probes.out());
        assert!(
            warnings(&run).contains(words),
            "{side} {fault}: {}",
            warnings(&run)
        );
        assert_eq!(run["complete"], true);
        let subscriber = &run["messages"]["subscribers"][0];
        let sum = subscriber["received"].as_u64().unwrap() + subscriber["lost"].as_u64().unwrap();
        assert_eq!(sum, run["messages"]["published"].as_u64().unwrap());
        // A publisher ends early when all its subscribers have gone.
        assert!(
            sum == 100 || side == "--subscriber",
            "{side} {fault}: {sum}"
        );
        assert_eq!(run["ended_by"], "failed");
        assert_eq!(said.code, 2, "{side} {fault}: {}", said.err);
    }
}

/// A suite of timers of the test's own probe.
fn timers(suite: &str, fault: &str, more: &[&str]) -> (Said, serde_json::Value) {
    let folder = folder();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/probes/timers.c");
    let probe = build(folder.path(), &source, &[]).unwrap();
    let (with, out) = (
        format!("{} {fault}", text(&probe)),
        folder.path().join("run"),
    );
    let words = [
        "timer",
        suite,
        "--with",
        &with,
        "--count",
        "20",
        "--json",
        "--out",
        text(&out),
    ];
    let said = run(&[&words[..], more].concat());
    let written = match out.exists() {
        true => run_json(&out),
        false => serde_json::Value::Null,
    };
    (said, written)
}

#[test]
fn a_timer_that_is_ignored_counts_as_late_as_it_was_when_it_was_given_up() {
    let deadline = ["--timeout", "1ms", "--deadline", "1ns"];
    let (said, written) = timers("oneshot", "ignored", &deadline);
    assert_eq!(said.code, 1, "{}", said.err);
    let counts = ["measured", "reported"].map(|it| series(&said.json(), it)["count"].clone());
    assert_eq!(counts, [20, 18]);
    assert!(warnings(&written).contains("2 timers were set and never fired"));
}

#[test]
fn timers_that_end_early_fail_and_warming_up_is_left_out() {
    let (said, written) = timers("oneshot", "ends", &["--timeout", "1ms"]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert_eq!(written["ended_by"], "failed");
    let words = "ended early, after 10 of 20 timers";
    assert!(warnings(&written).contains(words), "{written}");
    let (said, _) = timers("cyclic", "", &["--rate", "1kHz", "--warm-up", "10ms"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(series(&said.json(), "lateness")["count"], 20);
    assert_eq!(series(&said.json(), "jitter")["count"], 19);
}

#[test]
fn what_a_timer_of_a_program_does_not_heed_is_refused() {
    for (suite, option, value) in [
        ("cyclic", "--pace", "skip"),
        ("oneshot", "--clock", "monotonic-raw"),
        ("oneshot", "--sleeper", "spin"),
        ("cyclic", "--shield", "0"),
    ] {
        let (said, written) = timers(suite, "", &[option, value]);
        assert_eq!(said.code, 2, "{option}: {}", said.err);
        assert!(said.err.contains(&format!("`{option}`")), "{}", said.err);
        assert!(written.is_null(), "{option}");
    }
}

#[test]
fn what_is_no_probe_is_said_and_leaves_no_folder() {
    let probes = Probes::new();
    for (command, words) in [
        ("/nowhere/probe", "No such file"),
        ("echo hello", "\"hello\""),
        (
            "sh -c 'echo no bus here >&2; exit 3'",
            "exit status: 3: no bus here",
        ),
        (
            "sh -c 'read settings; echo error out of luck'",
            "says: out of luck",
        ),
        ("yes", "\"y\""),
        (
            "sh -c 'head -c 100000 /dev/zero | tr \"\\\\0\" x'",
            "more than 1024 bytes",
        ),
        ("true", "ended before it was ready"),
    ] {
        let said = probes.latency(&["--with", command, "--count", "5"]);
        assert_eq!(said.code, 2, "{command}: {}", said.err);
        assert!(said.err.contains(words), "{command}: {}", said.err);
        assert!(!probes.out().exists(), "{command}");
    }
    for (more, words) in [
        (["--with", "\"x"], "does not end"),
        (["--with", ""], "names no program"),
        (["--with", "x"], "neither a probe nor a program on the path"),
        (["--with", "x"], "zmq"),
        (["--with", "./x"], "No such file"),
    ] {
        let said = probes.latency(&more);
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains(words), "{}", said.err);
    }
    let said = probes.latency(&["--subscriber", text(&probes.udp), "--receive", "spin"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("leave `--receive` out"), "{}", said.err);
    for (name, subscribers, limit) in [
        ("udp", "2", "`--subscribers 1`"),
        ("tcp", "65", "`--subscribers 64`"),
    ] {
        let said = probes.latency(&["--with", name, "--subscribers", subscribers]);
        assert_eq!(said.code, 2, "{name}: {}", said.err);
        assert!(said.err.contains(limit), "{name}: {}", said.err);
    }
}

/// Whether some process has this word in its command line.
fn runs(word: &str) -> bool {
    let of = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline"));
    let all = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|it| of(it.ok()?).ok());
    all.into_iter().any(|it| {
        String::from_utf8_lossy(&it)
            .split('\0')
            .any(|it| it == word)
    })
}

#[test]
fn probes_end_with_the_command_however_it_ends() {
    for (how, keeps) in [("INT", true), ("KILL", false)] {
        let probes = Probes::new();
        let udp = text(&probes.udp);
        let words = [
            "msg",
            "latency",
            "--with",
            udp,
            "--url",
            &probes.url,
            "--duration",
            "1h",
        ];
        let child = start_measuring(&probes.out(), &words);
        assert!(runs(udp));
        signal(&child, how);
        let said = Said::of(child.wait_with_output().unwrap());
        wait_until(|| !runs(udp));
        let run = run_json(&probes.out());
        assert_eq!(run["complete"], keeps);
        if keeps {
            assert_eq!(said.code, 0, "{}", said.err);
            assert_eq!(run["ended_by"], "interrupted");
            let subscriber = &run["messages"]["subscribers"][0];
            assert_eq!(
                subscriber["lost"], 0,
                "what was not published is not lost: {run}"
            );
            assert_eq!(subscriber["received"], run["messages"]["published"]);
        }
    }
}

#[test]
fn help_says_what_a_probe_is() {
    let said = Said::of(kadenz(&["msg", "latency", "--help"]).output().unwrap());
    for words in ["--with <COMMAND>", "docs/messages-probes.md"] {
        assert!(said.out.contains(words), "{}", said.out);
    }
}
