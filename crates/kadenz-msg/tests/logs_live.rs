//! What Kadenz writes is read by software that is not Kadenz's.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use kadenz_msg::log::compression::Compression;
use kadenz_msg::log::mcap::{McapWriter, Options};
use kadenz_msg::log::{self, Entry, Format, LogWriter, LoggedChannel};
use kadenz_rt::clock::WallTime;

/// Says that a test was skipped; with `KADENZ_SKIP_NOTHING=1` that is a failure.
fn skip(test: &str, missing: &str) {
    let message = format!("skipped: {test}: {missing}");
    let allowed = std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1");
    assert!(allowed, "{message}");
    eprintln!("{message}");
}

fn python(test: &str, module: &str) -> Option<String> {
    let python = std::env::var("KADENZ_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let command = format!("import {module}");
    let found = Command::new(&python).args(["-c", &command]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    let remedy = "python3 -m venv v && v/bin/pip install";
    skip(
        test,
        &format!("{module}; {remedy} {module}, then KADENZ_PYTHON=v/bin/python"),
    );
    None
}

fn told(python: &str, kind: &str, path: &Path) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs.py");
    let output = Command::new(python)
        .arg(script)
        .arg(kind)
        .arg(path)
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    String::from_utf8(output.stdout).unwrap()
}

fn messages() -> Vec<Entry> {
    let channels = ["POSE", "IMU"].map(|name| {
        let text = "package robot; struct pose_t { double x; }";
        Arc::new(LoggedChannel::lcm_of_type(name, "robot.pose_t", text))
    });
    let one = |n: u32| Entry {
        channel: Arc::clone(&channels[n as usize % 2]),
        log_time: WallTime::from_unix_ns(1_700_000_000_000_000_000 + i64::from(n) * 1000),
        publish_time: WallTime::from_unix_ns(1_700_000_000_000_000_000),
        sequence: n,
        payload: vec![n as u8; n as usize % 500],
    };
    (0..5000).map(one).collect()
}

fn write(mut writer: Box<dyn LogWriter>) {
    for message in messages() {
        writer.write(&message).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), 0);
}

#[test]
fn pypi_s_mcap_reads_our_files_strictly_in_every_compression() {
    let test = "pypi_s_mcap_reads_our_files_strictly_in_every_compression";
    let Some(python) = python(test, "mcap") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut answers = Vec::new();
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let path = folder.path().join(compression.to_string());
        let file = Box::new(std::fs::File::create(&path).unwrap());
        let options = Options {
            compression,
            chunk_bytes: 20_000,
            ..Options::default()
        };
        write(Box::new(McapWriter::new(file, &options).unwrap()));
        answers.push(told(&python, "mcap", &path));
    }
    assert!(answers[0].contains("\"messages\": 5000"), "{}", answers[0]);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}

#[test]
fn liblcm_reads_our_event_log_as_pypi_s_mcap_our_mcap() {
    let test = "liblcm_reads_our_event_log_as_pypi_s_mcap_our_mcap";
    let (Some(python), Some(_)) = (python(test, "lcm"), python(test, "mcap")) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let paths = ["event", "mcap"].map(|kind| folder.path().join(kind));
    write(log::create(&paths[0], Format::EventLog).unwrap());
    write(log::create(&paths[1], Format::Mcap).unwrap());
    let event = told(&python, "event", &paths[0]);
    assert!(event.contains("\"messages\": 5000"), "{event}");
    assert_eq!(event, told(&python, "mcap", &paths[1]));
}
