//! `kadenz run --watch` as a user types it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::started::{kill, pid, start_ready};
use common::*;

#[test]
fn a_watched_program_leaves_a_run_that_every_command_reads() {
    let folder = folder();
    let out = folder.path().join("run");
    let script = "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.05; done; exit 5";
    let arguments = [
        "--watch",
        "--every",
        "5ms",
        "--nice",
        "2",
        "--out",
        text(&out),
    ];
    let said = run(&[&["run"], &arguments[..], &["--", "sh", "-c", script]].concat());
    if said.err.contains("does not count") {
        return skip("run --watch", "needs a kernel with CONFIG_SCHEDSTATS");
    }
    assert_eq!((said.code, said.out.as_str()), (5, ""), "{}", said.err);
    assert!(said.err.contains("scheduling-delay"), "{}", said.err);
    let run_json = run_json(&out);
    assert_eq!(run_json["ended_by"], "program_ended");
    assert_eq!(run_json["complete"], true);
    assert_eq!(run_json["series"][0]["tuning"][0]["name"], "nice");
    let shown = run(&["show", text(&out), "--json"]).json();
    let (delay, waiting) = (
        series(&shown, "scheduling-delay"),
        series(&shown, "waiting"),
    );
    assert!(delay["count"].as_u64().unwrap() > 0);
    assert_eq!(delay["count"], waiting["count"]);
    assert!(waiting["max_ns"].as_i64() >= delay["max_ns"].as_i64());
    let page = folder.path().join("page.html");
    assert_eq!(run(&["report", text(&out), "--out", text(&page)]).code, 0);
}

#[test]
fn the_end_of_a_program_ends_its_last_window() {
    let folder = folder();
    let out = folder.path().join("run");
    // Longer than any test runs.
    let arguments = ["run", "--watch", "--every", "10d", "--out", text(&out)];
    let said = run(&[&arguments[..], &["--", "sleep", "0.2"]].concat());
    if said.err.contains("does not count") {
        return skip("run --watch", "needs a kernel with CONFIG_SCHEDSTATS");
    }
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(run_json(&out)["complete"], true);
}

#[test]
fn a_program_that_must_wait_for_its_cpu_is_seen_waiting() {
    let folder = folder();
    let out = folder.path().join("run");
    // Three programs that never sleep share one CPU: each waits while the others run.
    let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    let both = format!("({script}) & ({script}) & {script}; wait");
    let arguments = ["run", "--watch", "--cpus", "0", "--out", text(&out)];
    let said = run(&[&arguments[..], &["--", "sh", "-c", &both]].concat());
    if said.err.contains("does not count") {
        return skip("run --watch", "needs a kernel with CONFIG_SCHEDSTATS");
    }
    let shown = run(&["show", text(&out), "--json"]).json();
    let waited = series(&shown, "waiting")["max_ns"].as_i64().unwrap();
    assert!(waited > 100_000, "{}", said.err);
}

#[test]
fn a_watched_run_that_is_killed_opens_and_says_that_it_is_incomplete() {
    let folder = folder();
    let out = folder.path().join("run");
    let then = "while :; do sleep 0.02; done";
    let mut child = start_ready(folder.path(), &["--watch", "--out", text(&out)], "", then);
    wait_until(|| intervals_on_disk(&out) > 0);
    signal(&child, "KILL");
    child.wait().unwrap();
    assert!(kill("KILL", &pid(folder.path())));
    let shown = run(&["show", text(&out), "--json"]).json();
    assert!(series(&shown, "waiting")["count"].as_u64().unwrap() > 0);
    assert!(shown["warnings"].to_string().contains("incomplete"));
}

#[test]
fn a_run_folder_that_cannot_be_made_is_named_before_the_program_starts() {
    let folder = folder();
    let trace = folder.path().join("ran");
    let taken = folder.path().join("taken");
    std::fs::write(&taken, "").unwrap();
    let arguments = [
        "run",
        "--watch",
        "--out",
        text(&taken),
        "--",
        "touch",
        text(&trace),
    ];
    let said = run(&arguments);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(!trace.exists());
}
