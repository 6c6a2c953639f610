//! Run folders of other users: they cannot name a file outside the folder, hang a command, or take more memory than any
//! run.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The interval log of a series with one value.
const LOG: &str = "\
#[StartTime: 1441812279.474 (seconds since epoch), Wed Sep 09 08:24:39 PDT 2015]
0.127,1.007,2.769,HISTFAAAAEV42pNpmSzMwMCgyAABTBDKT4GBgdnNYMcCBvsPEBEJISEuATEZMQ4uASkhIR4nrxg9v2lMaxhvMekILGZkKmcCAEf2CsI=
";

/// A complete run with series of these names, each with a log of its own.
fn made(folder: &Path, names: &[String]) -> PathBuf {
    let dir = folder.join("run");
    std::fs::create_dir(&dir).unwrap();
    let series = names.iter().enumerate().map(|(number, name)| {
        let log = format!("s{number}.hlog");
        std::fs::write(dir.join(&log), LOG).unwrap();
        json!({"name": name, "kind": "latency", "unit": "ns", "files": {"hlog": log}})
    });
    let run = json!({
        "version": 1, "kadenz": "0.1.0", "experiment": "timer-cyclic",
        "started_at": "2026-01-01T00:00:00Z", "start_monotonic_ns": 0, "complete": true,
        "ended_by": "finished", "command": [], "host": {"os": "linux"},
        "clock": {"name": "CLOCK_MONOTONIC", "resolution_ns": 1.0, "read_cost_ns": 1.0},
        "series": series.collect::<Vec<Value>>(),
    });
    std::fs::write(dir.join("run.json"), run.to_string()).unwrap();
    dir
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("s{number}")).collect()
}

/// Runs a command that may hang, with a limit of a minute, which a working command does not reach.
fn run_unless_it_hangs(command: &mut Command) -> Said {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Said::of(child.wait_with_output().unwrap())
}

fn make_pipe(path: &Path) {
    let _ = std::fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn no_name_of_a_series_leads_an_export_out_of_its_folder() {
    let absolute = folder();
    let absolute = absolute.path().join("absolute");
    for name in ["../../outside", text(&absolute), "..", "a/b"] {
        let folder = folder();
        let run_folder = made(folder.path(), &[name.to_owned(), "good".to_owned()]);
        let out = folder.path().join("a/b/out");
        for format in ["csv", "hgrm", "hlog", "gnuplot"] {
            let said = run_line(&format!(
                "export {} --format {format} --out {}",
                text(&run_folder),
                text(&out)
            ));
            assert_eq!(said.code, 2, "{name}, {format}: {}", said.err);
            assert!(said.err.contains("cannot name a series"), "{}", said.err);
            assert!(!folder.path().join("a").exists(), "{name}, {format}");
        }
        assert!(!absolute.with_extension("csv").exists(), "{name}");
    }
}

#[test]
fn an_export_writes_through_no_link_that_waits_for_it() {
    let folder = folder();
    let run_folder = made(folder.path(), &numbered(1));
    let (out, foreign) = (folder.path().join("s0.hgrm"), folder.path().join("foreign"));
    std::fs::write(&foreign, "mine").unwrap();
    std::os::unix::fs::symlink(&foreign, folder.path().join("s0.hgrm.new")).unwrap();
    let said = run_line(&format!(
        "export {} --format hgrm --out {}",
        text(&run_folder),
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "mine");
    assert!(std::fs::read_to_string(&out).unwrap().contains("#[Max"));
}

#[test]
fn a_pipe_in_the_place_of_a_file_hangs_no_command() {
    for pipe in ["s0.hlog", "run.json"] {
        let folder = folder();
        let run_folder = made(folder.path(), &numbered(1));
        make_pipe(&run_folder.join(pipe));
        for command in ["show", "compare", "report"] {
            let said = run_unless_it_hangs(&mut kadenz(&[command, text(&run_folder)]));
            assert_eq!(said.code, 2, "{command}, {pipe}: {}", said.err);
            assert!(said.err.contains("not a regular file"), "{}", said.err);
        }
    }
}

#[test]
fn more_series_than_any_run_has_are_refused_by_their_limit() {
    let folder = folder();
    let run_folder = made(folder.path(), &numbered(10_000));
    let said = run(&["show", text(&run_folder)]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("2048 series"), "{}", said.err);
}

/// With half a megabyte a series for its histogram, the command would need more memory than `ulimit` allows.
#[test]
fn as_many_series_as_a_run_may_have_fit_into_little_memory() {
    let folder = folder();
    let run_folder = made(folder.path(), &numbered(2048));
    for details in [&[][..], &["--details"], &["--json"]] {
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -v 700000 && exec \"$@\"", "sh"])
            .args([env!("CARGO_BIN_EXE_kadenz"), "show", text(&run_folder)])
            .args(details);
        let said = Said::of(command.output().unwrap());
        assert_eq!(said.code, 0, "{details:?}: {}", said.err);
    }
}
