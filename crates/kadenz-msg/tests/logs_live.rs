//! Foreign software reads the logs of Kadenz.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use kadenz_msg::log::compression::Compression;
use kadenz_msg::log::mcap::{McapOptions, McapWriter};
use kadenz_msg::log::{self, Entry, Format, LogWriter, LoggedChannel};
use kadenz_rt::clock::WallTime;

/// Reports that a test was skipped; fails with `KADENZ_SKIP_NOTHING=1`.
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

fn content_read_by(python: &str, kind: &str, path: &Path) -> String {
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
        let options = McapOptions {
            compression,
            chunk_bytes: 20_000,
            ..McapOptions::default()
        };
        write(Box::new(McapWriter::new(file, &options).unwrap()));
        answers.push(content_read_by(&python, "mcap", &path));
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
    let event = content_read_by(&python, "event", &paths[0]);
    assert!(event.contains("\"messages\": 5000"), "{event}");
    assert_eq!(event, content_read_by(&python, "mcap", &paths[1]));
}

/// Writes an MCAP file with chunks of `chunk_bytes` bytes.
fn chunked(path: &Path, compression: Compression, chunk_bytes: usize) {
    let mut open = std::fs::File::options();
    let file = open.read(true).write(true).create_new(true).open(path);
    let options = McapOptions {
        compression,
        chunk_bytes,
        longest_chunk_bytes: chunk_bytes,
        profile: "lcm".to_owned(),
    };
    let mut writer = Box::new(McapWriter::new(Box::new(file.unwrap()), &options).unwrap());
    let facts = [("kernel".to_owned(), "6.1".to_owned())];
    writer.describe("kadenz.host", &facts).unwrap();
    writer
        .attach("robot.urdf", "application/xml", b"<robot/>")
        .unwrap();
    for _ in 0..3 {
        for message in messages() {
            writer.write(&message).unwrap();
        }
    }
    assert_eq!(writer.finish().unwrap(), 0);
}

/// A long log has parts of its index between its chunks.
#[test]
fn pypi_s_mcap_passes_over_what_a_long_index_left_between_chunks() {
    let test = "pypi_s_mcap_passes_over_what_a_long_index_left_between_chunks";
    let Some(python) = python(test, "mcap") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.mcap");
    chunked(&path, Compression::None, 1);
    let bytes = std::fs::read(&path).unwrap();
    let (whole, cut) = (content_read_by(&python, "mcap", &path), bytes.len() / 3 * 2);
    assert!(whole.contains("\"messages\": 15000"), "{whole}");
    // A file whose writer was killed is read by its records alone.
    std::fs::write(&path, &bytes[..cut]).unwrap();
    let mut reader = log::open(&path).unwrap();
    let (mut count, mut entry) = (0, Entry::default());
    while reader.read(&mut entry).unwrap() {
        count += 1;
    }
    assert!(count > 9000, "{count}");
}

/// The doctor of the `mcap` command line tool, built from <https://github.com/foxglove/mcap>. It is in
/// no registry, so a machine may lack it even where nothing may be skipped.
#[test]
fn the_doctor_of_mcap_finds_nothing() {
    let doctor = |path: &Path| Command::new("mcap").arg("doctor").arg(path).output();
    if Command::new("mcap").arg("--help").output().is_err() {
        eprintln!("not asked, as it is not on the path: mcap doctor");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (Compression::None, 20_000),
        (Compression::Lz4, 20_000),
        (Compression::Zstd, 20_000),
        (Compression::None, 1),
    ];
    for (number, (compression, chunk_bytes)) in cases.into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.mcap"));
        chunked(&path, compression, chunk_bytes);
        let bytes = std::fs::read(&path).unwrap();
        let recovered = folder.path().join(format!("{number}-recovered.mcap"));
        std::fs::write(&recovered, &bytes[..bytes.len() / 3 * 2]).unwrap();
        let torn = doctor(&recovered).unwrap();
        assert!(!torn.status.success(), "it finds that an end is missing");
        rewrite(&recovered);
        for path in [path, recovered] {
            let said = doctor(&path).unwrap();
            let text = String::from_utf8_lossy(&said.stderr);
            assert!(said.status.success(), "{path:?}: {text}");
            // Messages whose times go back, as in three rounds of the same messages, are only a warning.
            let grave = text.lines().filter(|line| line.contains("rror"));
            assert_eq!(grave.count(), 0, "{path:?}: {text}");
        }
    }
}

/// Writes the readable part of a log with an end, as `kadenz log recover` does.
fn rewrite(path: &Path) {
    let mut reader = log::open(path).unwrap();
    let whole = path.with_extension("whole");
    let mut writer = log::create(&whole, Format::Mcap).unwrap();
    let mut entry = Entry::default();
    while reader.read(&mut entry).unwrap() {
        writer.write(&entry).unwrap();
    }
    writer.finish().unwrap();
    std::fs::rename(whole, path).unwrap();
}
