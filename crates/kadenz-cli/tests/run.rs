//! `kadenz run` as a user types it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::started::{kill, pid, start_ready};
use common::*;

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// A program's own policy and priority: fields 41 and 40 of proc_pid_stat(5).
const OWN_POLICY: &str = "cut -d' ' -f40,41 /proc/self/stat";
const NEEDS_RIGHTS: &str = "needs real-time rights: run as root or `prlimit --rtprio=99`";

/// Reads the file of `--granted`.
fn report(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

#[test]
fn the_program_has_what_was_granted_and_its_exit_code_is_ours() {
    let folder = folder();
    let file = folder.path().join("report.json");
    let script = format!("{OWN_POLICY}; grep Cpus_allowed_list /proc/self/status; exit 7");
    let words = parted("run --priority 80 --cpus 0 --granted");
    let said = run(&[&words[..], &[text(&file), "--", "sh", "-c", &script]].concat());
    assert_eq!(said.code, 7, "{}", said.err);
    let report = report(&file);
    assert_described("granted", "granted", &report);
    assert_eq!(report["ended"]["code"], 7);
    assert!(report["pid"].as_u64().is_some());
    assert_eq!(report["measures"][0]["requested"], "SCHED_FIFO 80");
    if report["measures"][0]["ok"] == false {
        assert!(said.out.starts_with("0 0\n") && said.err.contains("REFUSED"));
        return skip("run's policy", NEEDS_RIGHTS);
    }
    assert_eq!(said.out, "80 1\nCpus_allowed_list:\t0\n");
    assert_eq!(report["granted"], true);
    assert!(said.err.contains("SCHED_FIFO 80") && said.err.contains("CPUs 0"));
}

#[test]
fn standard_input_and_output_are_the_program_s_alone() {
    let mut child = kadenz(&["run", "--nice", "3", "--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"through\n").unwrap();
    drop(input);
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!((said.code, said.out.as_str()), (0, "through\n"));
    assert!(said.err.contains("nice"), "{}", said.err);
    let said = run(&["run", "--quiet", "--nice", "3", "--", "true"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
}

#[test]
fn exit_codes_are_those_of_a_shell() {
    let cases: [(&[&str], i32); 4] = [
        (&["sh", "-c", "kill -9 $$"], 137),
        (&["sh", "-c", "kill -TERM $$"], 143),
        (&["/no/such/program"], 127),
        (&["/proc/version"], 126),
    ];
    for (program, code) in cases {
        let said = run(&[&["run", "--"], program].concat());
        assert_eq!(said.code, code, "{program:?}: {}", said.err);
        assert!(code >= 128 || said.err.contains(program[0]), "{}", said.err);
    }
    assert_eq!(run(&["run"]).code, 2);
    assert_eq!(run(&["run", "--priority", "0", "--", "true"]).code, 2);
    let both = ["run", "--priority", "5", "--policy", "rr:5", "--", "true"];
    assert_eq!(run(&both).code, 2);
}

#[test]
fn a_program_is_not_started_where_the_file_of_granted_cannot_be_written() {
    let folder = folder();
    let (trace, file) = (folder.path().join("ran"), folder.path().join("report"));
    for unwritable in [text(folder.path()), "/no/such/folder/report"] {
        let said = run(&["run", "--granted", unwritable, "touch", text(&trace)]);
        assert_eq!(said.code, 2, "{}", said.err);
        let errors = said.err.matches("cannot write the report").count();
        assert_eq!(errors, 1, "{}", said.err);
        assert!(!trace.exists());
    }
    let said = run(&["run", "--granted", text(&file), "/no/such/program"]);
    assert_eq!(said.code, 127, "{}", said.err);
    assert!(!file.exists());
}

#[test]
fn a_caller_that_ignores_sigchld_gets_the_exit_code_too() {
    let script = "trap '' CHLD; exec \"$0\" run -- sh -c 'exit 7'";
    let mut shell = Command::new("sh");
    let ended = shell.args(["-c", script, env!("CARGO_BIN_EXE_kadenz")]);
    assert_eq!(ended.status().unwrap().code(), Some(7));
}

#[test]
fn a_program_that_is_traced_already_is_started_without_a_lock() {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", env!("CARGO_BIN_EXE_kadenz")]);
    strace.args(["run", "--lock", "--", "echo", "runs"]);
    match strace.output().map(Said::of) {
        Ok(said) if said.out == "runs\n" => {
            assert!(said.err.contains("may not be traced"), "{}", said.err);
        }
        _ => skip(
            "run --lock under strace",
            "needs strace; apt-get install strace",
        ),
    }
}

#[test]
fn what_is_required_and_refused_is_named_and_nothing_is_started() {
    let folder = folder();
    let (trace, file) = (folder.path().join("ran"), folder.path().join("report"));
    let said = run_line(&format!(
        "run --require --cpus 1023 --granted {} -- touch {}",
        text(&file),
        text(&trace)
    ));
    assert_eq!(said.code, 2);
    assert!(said.err.contains("CPUs 1023") && said.err.contains("not started"));
    assert!(!trace.exists());
    let report = report(&file);
    assert_eq!(
        (&report["granted"], &report["pid"]),
        (&false.into(), &Value::Null)
    );
}

#[test]
fn without_rights_it_starts_anyway_and_says_so() {
    let Some(mut command) = without_rights(&["run", "--priority", "80", "--", "echo", "runs"])
    else {
        return skip(
            "run without rights",
            "needs prlimit and setpriv (util-linux)",
        );
    };
    let said = Said::of(command.output().unwrap());
    assert_eq!(
        (said.code, said.out.as_str()),
        (0, "runs\n"),
        "{}",
        said.err
    );
    assert!(
        said.err.contains("REFUSED") && said.err.contains("remedy: "),
        "{}",
        said.err
    );
    let arguments = ["run", "--require", "--priority", "80", "--", "echo", "runs"];
    let said = Said::of(without_rights(&arguments).unwrap().output().unwrap());
    assert_eq!((said.code, said.out.as_str()), (2, ""));
}

#[test]
fn the_lock_is_in_the_program_and_held_for_what_it_maps_later() {
    let script = "s() { grep -E '^VmLck' /proc/$$/status; }; s; x=$(printf '%04000000d' 0); s";
    let said = run(&[
        "run", "--lock", "--spin", "--cpus", "0", "--", "sh", "-c", script,
    ]);
    assert_eq!(said.code, 0, "{}", said.err);
    let lock = said
        .err
        .lines()
        .find(|line| line.contains("memory_lock"))
        .unwrap();
    if lock.contains("REFUSED") {
        return skip("run --lock", "needs the right to lock memory: run as root");
    }
    let kilobytes = |line: &str| line.split_whitespace().nth(1)?.parse::<u64>().ok();
    let locked: Vec<u64> = said.out.lines().filter_map(kilobytes).collect();
    assert!(
        locked[0] > 0 && locked[1] > locked[0] + 3000,
        "{}",
        said.out
    );
    assert!(said.err.contains("idle_spinner"), "{}", said.err);
}

/// The limit is granted and in force while the program runs, or refused with the reason. It is another limit than that
/// of `--spin`.
#[test]
fn idle_states_are_held_off_while_the_program_runs() {
    let folder = folder();
    let file = folder.path().join("report.json");
    let in_force = "od -An -td4 /dev/cpu_dma_latency";
    let words = ["run", "--cpu-dma-latency", "3us", "--granted", text(&file)];
    let said = run(&[&words[..], &["--", "sh", "-c", in_force]].concat());
    let report = report(&file);
    let measure = &report["measures"][0];
    assert_eq!(measure["name"], "cpu_dma_latency", "{report}");
    assert_eq!(measure["requested"], "3 us");
    if measure["ok"] == false {
        assert!(measure["remedy"].is_string(), "{measure}");
        return skip("run --cpu-dma-latency", &said.err);
    }
    let in_force: i64 = said.out.trim().parse().unwrap();
    assert!(in_force <= 3, "{in_force}");
}

#[test]
fn signals_reach_the_program_and_its_answer_comes_back() {
    // Neither HUP nor INT: a test run in the background may ignore them, and a shell that inherits an ignored signal
    // cannot trap it.
    for (name, options) in [
        ("TERM", &[][..]),
        ("USR1", &["--lock"]),
        ("USR2", &["--watch"]),
    ] {
        let folder = folder();
        let out = folder.path().join("run");
        let out = ["--watch", "--out", text(&out)];
        let options = if options == ["--watch"] {
            &out[..]
        } else {
            options
        };
        let trap = format!("trap 'exit 9' {name}; ");
        let forever = "while :; do sleep 0.05; done";
        let child = start_ready(folder.path(), options, &trap, forever);
        signal(&child, name);
        let said = Said::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, 9, "{name}: {}", said.err);
    }
}

#[test]
fn the_program_outlives_a_killed_run() {
    let folder = folder();
    let mut child = start_ready(
        folder.path(),
        &["--spin", "--cpus", "0"],
        "",
        "exec sleep 600",
    );
    signal(&child, "KILL");
    child.wait().unwrap();
    let pid = pid(folder.path());
    let lives = kill("0", &pid);
    assert!(kill("KILL", &pid) && lives);
}
