//! The programs that a new user sees first: they are short, README.md contains the first one as it is, and they run.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kadenz::record::run::folder::{RunReader, RunWriter, SeriesSpec};
use kadenz::record::run::model::{EndedBy, Kind, Run, Series};
use kadenz::record::samples::Sample;

/// The programs, and the most lines of one.
const PROGRAMS: [&str; 5] = ["periodic", "messages", "ethercat", "camera", "compare"];
const MAX_LINES: usize = 15;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// A program that cargo built beside this test.
fn built(program: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(2).unwrap();
    let built = target.join("examples").join(program);
    assert!(
        built.is_file(),
        "{} is not built; `cargo test --workspace` builds it",
        built.display()
    );
    built
}

/// The output of a program.
fn output_of(program: &str, folder: &Path, environment: &[(&str, &str)]) -> String {
    let mut command = Command::new(built(program));
    let output = command
        .current_dir(folder)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_programs_are_short_and_the_first_stands_in_the_readme() {
    for program in PROGRAMS {
        let text = text(&format!("examples/{program}.rs"));
        let code = text.lines().filter(|line| !line.starts_with("//!"));
        assert!(
            code.count() <= MAX_LINES,
            "{program} is longer than {MAX_LINES} lines"
        );
    }
    let readme = text("README.md");
    let first = format!("```rust\n{}```", text("examples/periodic.rs"));
    assert!(
        readme.contains(&first),
        "README.md has examples/periodic.rs as it is"
    );
    for program in PROGRAMS {
        let link = format!("(examples/{program}.rs)");
        assert!(readme.contains(&link), "README.md links to {program}");
    }
}

#[test]
fn a_probe_of_ones_own_leaves_a_run_and_stands_in_the_book() {
    let folder = tempfile::tempdir().unwrap();
    let said = output_of("probe", folder.path(), &[]);
    assert!(said.starts_with("control: 2,000 samples, p50 "), "{said}");
    let summary = kadenz::read(folder.path().join("probe")).unwrap();
    assert_eq!(summary.series[0].count, 2_000);
    let page = text("docs/start/own-probe.md");
    let code = text("examples/probe.rs");
    let code = code.split_once('\n').unwrap().1;
    assert!(page.contains(&format!("```rust\n{code}```")), "as it is");
}

#[test]
fn a_periodic_loop_says_how_late_it_was_and_leaves_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let said = output_of("periodic", folder.path(), &[]);
    let first = said.lines().next().unwrap_or_default();
    assert!(first.starts_with("lateness: "), "{said}");
    for part in [" samples, p50 ", ", p99 ", ", max ", " of 400 us"] {
        assert!(first.contains(part), "{part} in {said}");
    }
    assert!(said.ends_with("run: run\n"), "{said}");

    let reader = RunReader::open(folder.path().join("run")).unwrap();
    let run = reader.run();
    assert!(run.complete);
    assert_eq!(run.experiment, "periodic");
    let series = &run.series[0];
    assert!(series.counts.recorded >= 2_000, "{:?}", series.counts);
    assert_eq!(series.expected_interval_ns, Some(1_000_000));
    assert_eq!(series.deadline_ns, Some(400_000));
    let asked: Vec<&str> = series.tuning.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(asked, ["policy", "memory_lock", "sleeper"]);
    for refused in series.tuning.iter().filter(|it| !it.ok) {
        let id = format!("{}_refused", refused.name);
        assert!(run.warnings.iter().any(|it| it.id == id), "{id}");
    }
    let summary = kadenz::read(folder.path().join("run")).unwrap();
    assert_eq!(summary.series[0].count, series.counts.recorded);
}

/// The system calls of the thread that sleeps most, from its first sleep to its last, without the sleeps. `None`, a
/// skip, where strace cannot trace.
#[cfg(target_os = "linux")]
fn calls_beside_the_sleep(program: &str) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "trace"]).arg(built(program));
    let traced = strace.current_dir(folder.path()).output();
    if !traced.is_ok_and(|it| it.status.success()) {
        let must = std::env::var_os("KADENZ_SKIP_NOTHING").is_some_and(|it| it == "1");
        assert!(!must, "strace cannot trace");
        eprintln!("skipped: {program} under strace: needs strace; apt-get install strace");
        return None;
    }
    let trace = std::fs::read_to_string(folder.path().join("trace")).unwrap();
    let mut threads: std::collections::BTreeMap<&str, Vec<&str>> = [].into();
    // `1234 clock_nanosleep(...`; `1234 <... clock_nanosleep resumed>` is the end of a call that stands above.
    for (thread, call) in trace.lines().filter_map(|line| line.split_once(' ')) {
        let call = call.trim_start();
        if !call.starts_with("<... ") {
            threads.entry(thread).or_default().push(call);
        }
    }
    let is_sleep = |call: &&str| call.starts_with("clock_nanosleep(");
    let sleeps = |calls: &Vec<&str>| calls.iter().filter(|it| is_sleep(it)).count();
    let calls = threads.into_values().max_by_key(sleeps).unwrap();
    assert!(sleeps(&calls) > 100, "{calls:?}");
    let first = calls.iter().position(is_sleep).unwrap();
    let last = calls.iter().rposition(is_sleep).unwrap();
    let others = calls[first..=last].iter().filter(|it| !is_sleep(it));
    Some(others.map(|it| (*it).to_owned()).collect())
}

#[cfg(target_os = "linux")]
#[test]
fn a_recorded_loop_makes_no_system_call_but_the_sleep() {
    if let Some(calls) = calls_beside_the_sleep("periodic") {
        assert!(calls.is_empty(), "{calls:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_fieldbus_loop_makes_no_system_call_but_to_sleep_and_to_send() {
    if let Some(mut calls) = calls_beside_the_sleep("ethercat") {
        // Sending a frame wakes the thread that simulates the segment, as it would hand it to an interface.
        calls.retain(|it| !it.starts_with("futex(") || !it.contains("FUTEX_WAKE"));
        assert!(calls.is_empty(), "{calls:?}");
    }
}

#[test]
fn a_typed_message_arrives() {
    let folder = tempfile::tempdir().unwrap();
    let bus = [("LCM_DEFAULT_URL", "memq://")];
    let said = output_of("messages", folder.path(), &bus);
    assert_eq!(said, "ARM: Command { position: [1.0, 1.0, 1.0] }\n");
}

#[test]
fn a_fieldbus_is_driven_by_a_law_and_leaves_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let said = output_of("ethercat", folder.path(), &[]);
    assert!(said.starts_with("wake-up: "), "{said}");
    assert!(!said.contains("is not enabled"), "{said}");
    let reader = RunReader::open(folder.path().join("run")).unwrap();
    assert!(reader.run().complete);
    assert_eq!(reader.run().parameters["devices"], 59);
    assert_eq!(reader.run().parameters["bus"]["cycles"], 2_000);
}

/// A run of 120,000 samples in some sixty intervals.
fn write_run(folder: &Path, value_ns: impl Fn(u64) -> i64) {
    let mut writer = RunWriter::create(folder, Run::default()).unwrap();
    let series = Series {
        name: "lateness".to_owned(),
        kind: Kind::Lateness,
        ..Series::default()
    };
    let mut recorder = writer.series(SeriesSpec { series, raw: false }).unwrap();
    let running = writer.start(Duration::from_millis(10)).unwrap();
    for part in 0..60 {
        for at in 0..2_000 {
            let sequence = part * 2_000 + at;
            let value_ns = value_ns(sequence);
            recorder.record(Sample {
                sequence,
                value_ns,
                ..Sample::default()
            });
        }
        std::thread::sleep(Duration::from_millis(11));
    }
    running.finish(EndedBy::Finished).unwrap();
}

/// Values between 50 and 60 us without a pattern: SplitMix64, by its counter.
fn usual(at: u64) -> i64 {
    let mixed = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    50_000 + ((mixed ^ (mixed >> 31)) % 10_000) as i64
}

#[test]
fn a_slowdown_beyond_chance_is_reported_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    write_run(&folder.path().join("before"), usual);
    write_run(&folder.path().join("after"), |at| 2 * usual(at));
    let said = output_of("compare", folder.path(), &[]);
    assert!(
        said.contains("lateness of after is 2.00 times as slow at p50 "),
        "{said}"
    );

    std::fs::remove_dir_all(folder.path().join("after")).unwrap();
    write_run(&folder.path().join("after"), usual);
    assert_eq!(output_of("compare", folder.path(), &[]), "");
}

#[test]
#[cfg(target_os = "linux")]
fn the_camera_gives_frames_with_their_age() {
    let folder = tempfile::tempdir().unwrap();
    let output = output_of("camera", folder.path(), &[]);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 30, "{output}");
    assert!(
        lines
            .iter()
            .all(|line| line.starts_with("frame of 921600 bytes: ") && line.ends_with(" old")),
        "{output}"
    );
}
