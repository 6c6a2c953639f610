//! `kadenz load` as a user types it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Starts a load; returns once the load has reported its kinds, and runs.
fn start(mut command: Command) -> (Child, BufReader<ChildStderr>) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    err.read_line(&mut line).unwrap();
    assert!(line.contains(": "), "{line}");
    (child, err)
}

/// Waits for the end of the load; returns its exit code and its standard output.
fn end(mut child: Child) -> (i32, String) {
    let mut out = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    (child.wait().unwrap().code().unwrap(), out)
}

/// Arguments of a light load below `folder`.
fn little<'a>(folder: &'a Path, kind: &'a str) -> Vec<&'a str> {
    let dir = text(folder);
    vec![
        "load",
        kind,
        "--groups",
        "1",
        "--threads",
        "1",
        "--size",
        "4MB",
        "--dir",
        dir,
        "--tree",
        dir,
    ]
}

fn load<'a>(json: &'a Value, kind: &str) -> &'a Value {
    let loads = json["loads"].as_array().unwrap();
    loads.iter().find(|load| load["kind"] == kind).unwrap()
}

#[test]
fn heavy_reports_what_each_of_its_kinds_did() {
    let folder = folder();
    let mut arguments = little(folder.path(), "heavy");
    arguments.extend(["--duration", "1500ms", "--json"]);
    let said = run(&arguments);
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_eq!(json["version"], 1);
    assert_described("load", "load", &json);
    for (kind, name, unit) in [
        ("disk", "written", "MB/s"),
        ("processes", "delivered", "messages/s"),
        ("network", "echoed", "datagrams/s"),
        ("files", "read", "files/s"),
    ] {
        let load = load(&json, kind);
        assert!(load["asked"].is_string());
        let rates = load["rates"].as_array().unwrap();
        let rate = rates.iter().find(|rate| rate["name"] == name).unwrap();
        assert_eq!(rate["unit"], unit);
        let number = |key: &str| rate[key].as_f64().unwrap();
        assert!(number("mean") > 0.0, "{rate}");
        assert!(number("min") <= number("mean") && number("mean") <= number("max"));
        assert!(rate["seconds"].is_u64());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn without_json_there_is_a_table() {
    let folder = folder();
    let mut arguments = little(folder.path(), "files");
    arguments.extend(["timer", "--duration", "200ms"]);
    let said = run(&arguments);
    assert_eq!(said.code, 0, "{}", said.err);
    for words in ["files: the metadata", "files/s", "wake-ups/s", "mean"] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    // The command prints its kinds of load at once, before it has figures.
    assert!(said.err.contains("timer: "), "{}", said.err);
}

#[test]
fn quiet_draws_nothing_on_a_terminal() {
    let load = format!(
        "'{}' load cpu --groups 1 --threads 1 --duration 1500ms --quiet >/dev/null",
        env!("CARGO_BIN_EXE_kadenz")
    );
    let mut command = Command::new("script");
    command.args(["-qec", &load, "/dev/null"]);
    let Ok(said) = command.env("TERM", "xterm").output() else {
        return skip(
            "quiet_draws_nothing_on_a_terminal",
            "script (apt-get install bsdutils)",
        );
    };
    let drawn = String::from_utf8_lossy(&said.stdout);
    assert_eq!((said.status.code(), &*drawn), (Some(0), ""));
}

#[test]
fn nonsense_is_refused_with_a_remedy() {
    for (arguments, words) in [
        (vec!["load"], "<KIND>"),
        (vec!["load", "disc"], "disk"),
        (vec!["load", "cpu", "--duration", "60"], "unit is missing"),
        (vec!["load", "cpu", "--duration", "0s"], "60s"),
        (vec!["load", "cpu", "--threads", "0"], "1 to 1024"),
        (vec!["load", "processes", "--groups", "9999"], "1 to 200"),
        (vec!["load", "disk", "--size", "1024"], "1GiB"),
        (vec!["load", "disk", "--size", "900TiB"], "--size"),
        (vec!["load", "disk", "--dir", "/no/such/folder"], "--dir"),
        (vec!["load", "files", "--tree", "/no/such/tree"], "--tree"),
        (vec!["load", "cpu", "--with", "prime95"], "stress-ng"),
        (vec!["load", "cpu", "--with", "hackbench"], "`cpu`"),
    ] {
        let said = run(&arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.out);
        assert!(said.err.contains(words), "{arguments:?}: {}", said.err);
    }
}

#[test]
fn ctrl_c_ends_it_and_what_was_measured_is_printed() {
    let folder = folder();
    let mut command = kadenz(&little(folder.path(), "cpu"));
    command.arg("--json");
    let (child, _err) = start(command);
    signal(&child, "INT");
    let (code, out) = end(child);
    assert_eq!(code, 0);
    let json: Value = serde_json::from_str(&out).unwrap();
    assert!(load(&json, "cpu")["rates"].is_array());
}

#[test]
fn a_signal_that_comes_twice_at_once_is_one_request() {
    let folder = folder();
    // On a busy machine the second signal may come so late that it is a request of its own; then the test tries again.
    for _ in 0..5 {
        let mut command = kadenz(&little(folder.path(), "cpu"));
        command.arg("--json");
        let (child, _err) = start(command);
        // As `timeout` ends its child: the child first, then its group.
        let script = "kill -TERM $0; sleep 0.02; kill -TERM $0";
        let mut shell = Command::new("sh");
        shell.args(["-c", script, &child.id().to_string()]);
        let begin = Instant::now();
        assert!(shell.status().unwrap().success());
        let took = begin.elapsed();
        let (code, out) = end(child);
        if code == 2 && took > Duration::from_millis(100) {
            continue;
        }
        assert_eq!(code, 0, "two signals within {took:?}");
        let json: Value = serde_json::from_str(&out).unwrap();
        assert!(load(&json, "cpu")["rates"].is_array());
        return;
    }
    panic!("this machine never sent two signals within 100 ms");
}

#[test]
fn it_ends_when_its_standard_input_closes() {
    let folder = folder();
    let mut command = kadenz(&little(folder.path(), "heavy"));
    command.args(["--until-stdin-closes", "--json"]);
    let (mut child, _err) = start(command);
    drop(child.stdin.take());
    let (code, out) = end(child);
    assert_eq!(code, 0);
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["loads"].as_array().unwrap().len(), 4);
}

#[test]
fn killed_it_leaves_nothing() {
    let folder = folder();
    let mut command = kadenz(&little(folder.path(), "heavy"));
    // The processes that the load starts are known by their group, even after the load has ended.
    command.process_group(0);
    let (mut child, _err) = start(command);
    let group = child.id().to_string();
    // Of the fields after the name, the state and the parent come first.
    let of_group = || processes(|stat| stat.split(' ').nth(2) == Some(&group));
    assert!(!of_group().is_empty());
    signal(&child, "KILL");
    child.wait().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    wait_until(|| of_group().is_empty());
}

/// Numbers of the processes for which `is_meant` accepts the fields of `/proc/PID/stat` after the name.
fn processes(is_meant: impl Fn(&str) -> bool) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().map(Result::unwrap);
    let found = all.filter(|process| {
        let stat = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_some_and(|(_, stat)| is_meant(stat))
    });
    found
        .map(|process| process.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn it_runs_at_ordinary_priority_though_started_at_a_real_time_one() {
    let folder = folder();
    let test = "it_runs_at_ordinary_priority_though_started_at_a_real_time_one";
    let mut command = Command::new("chrt");
    command.args(["-f", "1", env!("CARGO_BIN_EXE_kadenz")]);
    command.args(little(folder.path(), "files"));
    let may = Command::new("chrt").args(["-f", "1", "true"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        skip(
            test,
            "the right to a real-time priority, and chrt: run as root",
        );
        return;
    }
    let (child, _err) = start(command);
    // Fields after the name: the state is the first, the policy the 39th (proc_pid_stat(5)).
    let policy = |thread: &Path| {
        let stat = std::fs::read_to_string(thread.join("stat")).unwrap_or_default();
        let (_, stat) = stat.rsplit_once(") ")?;
        stat.split(' ').nth(38).map(str::to_owned)
    };
    let tasks = format!("/proc/{}/task", child.id());
    let policy_of = |name: &str| {
        let threads = std::fs::read_dir(&tasks).unwrap().map(Result::unwrap);
        let mut threads = threads.map(|thread| thread.path());
        let named = |it: &Path| std::fs::read_to_string(it.join("comm")).unwrap_or_default();
        let found = threads.find(|thread| named(thread).trim() == name);
        found.and_then(|thread| policy(&thread))
    };
    assert_eq!(policy_of("kadenz").as_deref(), Some("1"));
    wait_until(|| policy_of("files-0").as_deref() == Some("0"));
    signal(&child, "INT");
    assert_eq!(end(child).0, 0);
}

/// Writes a program, but not by this process: a child that another test forks meanwhile would hold the file open for
/// writing, and a program that is open for writing cannot be started.
fn write_program(program: &Path, script: &str) {
    let write = r#"printf %s "$1" >"$0" && chmod 755 "$0""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", write, text(program), script]);
    assert!(shell.status().unwrap().success());
}

/// A program named `stress-ng` that writes its process number, runs until a signal ends it, and then prints figures.
fn fake_stress_ng(folder: &Path) -> String {
    let script = r#"#!/bin/sh
echo "$@" > "$FAKE/arguments"
while [ $# -gt 0 ]; do
    [ "$1" = --yaml ] && yaml=$2
    shift
done
report() {
    printf 'metrics:\n    - stressor: cpu\n      bogo-ops-per-second-real-time: 12.5\n' > "$yaml"
    printf '      wall-clock-time: 1.9\n' >> "$yaml"
    exit 0
}
trap report TERM
sleep 1000 &
echo $$ > "$FAKE/number"
wait
"#;
    let program = folder.join("stress-ng");
    write_program(&program, script);
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// `kadenz load cpu --with stress-ng`, with the fake one on PATH.
fn with_fake(folder: &Path, work: &Path) -> Command {
    let mut command = kadenz(&little(work, "cpu"));
    command
        .args(["--with", "stress-ng", "--json"])
        .env("PATH", fake_stress_ng(folder))
        .env("FAKE", folder);
    command
}

/// The process number of the fake, once it runs.
fn number_of_fake(folder: &Path) -> String {
    let number = || std::fs::read_to_string(folder.join("number")).unwrap_or_default();
    wait_until(|| number().ends_with('\n'));
    number().trim().to_owned()
}

fn is_gone(process: &str) -> bool {
    !Path::new("/proc").join(process).exists()
}

#[test]
fn another_program_makes_the_load_and_reports_its_figures() {
    let (fake, work) = (folder(), folder());
    let (child, _err) = start(with_fake(fake.path(), work.path()));
    let number = number_of_fake(fake.path());
    signal(&child, "INT");
    let (code, out) = end(child);
    assert_eq!(code, 0, "{out}");
    let json: Value = serde_json::from_str(&out).unwrap();
    let cpu = load(&json, "cpu");
    assert_eq!(cpu["asked"], "stress-ng --cpu 1");
    assert_eq!(cpu["rates"][0]["mean"], 12.5);
    assert_eq!(cpu["rates"][0]["unit"], "bogo-ops/s");
    assert_eq!(cpu["rates"][0]["min"], Value::Null);
    assert!(is_gone(&number));
    assert_eq!(std::fs::read_dir(work.path()).unwrap().count(), 0);
}

#[test]
fn another_program_does_not_outlive_a_kill() {
    let (fake, work) = (folder(), folder());
    let (mut child, _err) = start(with_fake(fake.path(), work.path()));
    let number = number_of_fake(fake.path());
    signal(&child, "KILL");
    child.wait().unwrap();
    wait_until(|| is_gone(&number));
    wait_until(|| std::fs::read_dir(work.path()).unwrap().count() == 0);
}

#[test]
fn another_program_that_fails_is_reported_with_its_last_words() {
    let (fake, work) = (folder(), folder());
    let mut command = with_fake(fake.path(), work.path());
    let program = fake.path().join("stress-ng");
    write_program(&program, "#!/bin/sh\necho no such stressor >&2\nexit 3\n");
    let said = Said::of(command.output().unwrap());
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("no such stressor"), "{}", said.err);
}

#[test]
fn a_program_that_is_not_installed_is_named_with_the_remedy() {
    let folder = folder();
    let mut command = kadenz(&["load", "cpu", "--with", "stress-ng"]);
    let said = Said::of(command.env("PATH", folder.path()).output().unwrap());
    assert_eq!(said.code, 2);
    assert!(said.err.contains("apt install stress-ng"), "{}", said.err);
}

#[test]
fn the_real_stress_ng_reports_figures_for_each_kind() {
    let folder = folder();
    if Command::new("stress-ng").arg("--version").output().is_err() {
        let test = "the_real_stress_ng_reports_figures_for_each_kind";
        skip(test, "stress-ng: apt install stress-ng");
        return;
    }
    let mut arguments = little(folder.path(), "cpu");
    arguments.extend(["disk", "--with", "stress-ng", "--duration", "1s", "--json"]);
    let said = run(&arguments);
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    for kind in ["cpu", "disk"] {
        let mean = load(&json, kind)["rates"][0]["mean"].as_f64().unwrap();
        // A busy disk may finish no operation within a second.
        assert!(mean > 0.0 || kind == "disk", "{kind}: {json}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn hackbench_reports_its_messages() {
    let folder = folder();
    if Command::new("hackbench").arg("--help").output().is_err() {
        let test = "hackbench_reports_its_messages";
        skip(test, "hackbench: apt install rt-tests");
        return;
    }
    let mut arguments = little(folder.path(), "processes");
    arguments.extend(["--with", "hackbench", "--duration", "2s", "--json"]);
    let said = run(&arguments);
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_eq!(load(&json, "processes")["rates"][0]["unit"], "messages/s");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
