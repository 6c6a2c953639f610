//! `kadenz experiment` as a user types it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;
#[cfg(unix)]
use std::path::Path;
#[cfg(unix)]
use std::process::{Child, Stdio};

#[test]
fn hiccups_stand_beside_the_posts_table() {
    let folder = folder();
    let out = folder.path().join("hiccups");
    let said = run_line(&format!(
        "experiment hiccups --duration 1s --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    let table = std::fs::read_to_string(out.join("table.md")).unwrap();
    for row in [
        "Enner2016, Ubuntu 16.04",
        "here, ordinary",
        "here, realtime",
    ] {
        assert!(said.out.contains(row), "{row}: {}", said.out);
        let row = format!("\n| {row} ");
        assert!(table.contains(&row), "{row}: {table}");
    }
    assert!(out.join("report.html").exists());
    // Every step is a command that repeats it.
    let command = run_json(&out.join("realtime"))["command"].to_string();
    assert!(command.contains("fifo:98"), "{command}");
    assert!(!command.contains("stdin"), "{command}");
}

#[test]
fn timers_are_set_at_every_policy_load_and_sleeper() {
    let folder = folder();
    let out = folder.path().join("timers");
    let said = run_line(&format!(
        "experiment timers --count 20 --json --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_described("experiment", "experiment", &json);
    assert_eq!(json["folder"], text(&out));
    assert_eq!(json["runs"].as_array().unwrap().len(), 19);
    assert!(json["series"].as_array().unwrap().len() > 17 * 2);
    let table = std::fs::read_to_string(out.join("table.md")).unwrap();
    for row in [
        "cyclic-4kHz-rr95-idle ",
        "oneshot-1us-rr95-idle ",
        "fifo95-busy",
        "idle spin",
    ] {
        assert!(table.contains(row), "{row}: {table}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_network_of_the_post_is_built_and_measured() {
    let test = "the_network_of_the_post_is_built_and_measured";
    if !is_root() || !Path::new("/dev/net/tun").exists() {
        skip(
            test,
            "a testbed needs root and the driver of taps: sudo modprobe tun",
        );
        return;
    }
    let folder = folder();
    let out = folder.path().join("network");
    let arguments = [
        "experiment",
        "network",
        "--parts",
        "baseline,speeds",
        "--duration",
        "1s",
        "--rounds",
        "2",
        "--out",
        text(&out),
    ];
    let mut command = kadenz(&arguments);
    command.env("KADENZ_JOURNAL_FOLDER", folder.path().join("journal"));
    let said = Said::of(command.output().unwrap());
    assert_eq!(said.code, 0, "{}", said.err);
    for words in [
        "on the wire 81.28 us",
        "with ideal hosts 89.32 us",
        " difference ",
        "73.15 us",
        "94 us, of which some 80 us on the wire",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    let slow = run_json(&out.join("speeds-100M-2"));
    assert_eq!(slow["network"]["flows"][0]["lost"], 0);
    assert!(out.join("speeds-100M-2-testbed/status.json").exists());
}

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let folder = folder();
    std::fs::write(folder.path().join("thesis.tex"), "years of work").unwrap();
    let said = run(&["experiment", "hiccups", "--out", text(folder.path())]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("not empty") && said.err.contains("--out"),
        "{}",
        said.err
    );
}

/// A row must not claim a priority that was not granted.
#[cfg(target_os = "linux")]
#[test]
fn a_refused_priority_stands_in_the_table() {
    let folder = folder();
    let out = folder.path().join("hiccups");
    let arguments = ["experiment", "hiccups", "--duration", "1s", "--out"];
    let Some(mut command) = without_rights(&arguments) else {
        return skip(
            "a_refused_priority_stands_in_the_table",
            "prlimit and setpriv, of the package util-linux",
        );
    };
    let said = Said::of(command.arg(&out).output().unwrap());
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(
        said.out.contains("realtime (refused: SCHED_OTHER"),
        "{}",
        said.out
    );
}

/// Starts an experiment; returns once both runs hold an interval.
#[cfg(unix)]
fn started(out: &Path) -> Child {
    let child = kadenz(&["experiment", "hiccups", "--duration", "2min", "--out"])
        .arg(out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for run in RUNS {
        wait_until(|| intervals_on_disk(&out.join(run)) > 0);
    }
    child
}

#[cfg(unix)]
const RUNS: [&str; 2] = ["ordinary", "realtime"];

/// Killing the experiment, even with SIGKILL, ends its steps, and the data stays.
#[cfg(unix)]
#[test]
fn killed_it_leaves_no_step_behind() {
    let folder = folder();
    let out = folder.path().join("hiccups");
    let mut child = started(&out);
    child.kill().unwrap();
    child.wait().unwrap();
    for run in RUNS {
        wait_until(|| run_json(&out.join(run))["complete"] == true);
        assert_eq!(run_json(&out.join(run))["ended_by"], "interrupted");
    }
}

/// Ctrl-C ends the step, the tables hold the data so far, and the exit code reports the interruption.
#[cfg(unix)]
#[test]
fn interrupted_it_shows_what_there_is() {
    let folder = folder();
    let out = folder.path().join("hiccups");
    let child = started(&out);
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.out.contains("here, realtime"), "{}", said.out);
    assert!(said.err.contains("until then"), "{}", said.err);
}
