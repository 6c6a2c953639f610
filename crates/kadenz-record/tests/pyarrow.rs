//! pyarrow reads our samples files, and we read pyarrow's.

mod common;

use std::path::Path;
use std::process::Command;

use common::{INTERVAL, numbered, run, skip, spec};
use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::model::EndedBy;
use kadenz_record::samples::Sample;
use kadenz_record::samples::reader::SamplesFile;
use serde_json::Value;

const COUNT: u64 = 40_000;

/// Python with pyarrow, or `None` after the test was reported as skipped.
fn python(test: &str) -> Option<String> {
    let python = std::env::var("KADENZ_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python)
        .args(["-c", "import pyarrow"])
        .output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    skip(
        test,
        "pyarrow; python3 -m venv v && v/bin/pip install pyarrow, then KADENZ_PYTHON=v/bin/python",
    );
    None
}

fn script(python: &str, command: &str, file: &Path) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples.py");
    let output = Command::new(python)
        .arg(script)
        .arg(command)
        .arg(file)
        .output()
        .expect("runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    String::from_utf8(output.stdout).expect("text")
}

fn read(python: &str, file: &Path) -> Value {
    serde_json::from_str(&script(python, "read", file)).expect("JSON")
}

/// A run with the samples `0..COUNT`, ended or dropped.
fn measure(dir: &Path, ended: bool) {
    let mut writer = RunWriter::create(dir, run()).expect("creates");
    let mut fast = spec("wakeup", true);
    fast.series.expected_interval_ns = Some(10_000);
    let mut recorder = writer.series(fast).expect("a series");
    let running = writer.start(INTERVAL).expect("starts");
    (0..COUNT).for_each(|n| recorder.record(numbered(n)));
    if ended {
        running.finish(EndedBy::Finished).expect("finishes");
    }
}

fn sum(of: fn(Sample) -> i64) -> i64 {
    (0..COUNT).map(numbered).map(of).sum()
}

#[test]
fn pyarrow_reads_what_a_run_writes() {
    let Some(python) = python("pyarrow_reads_what_a_run_writes") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    for ended in [true, false] {
        let dir = folder.path().join(ended.to_string());
        measure(&dir, ended);
        let seen = read(&python, &dir.join("wakeup.samples.arrow"));
        assert_eq!(seen["rows"], COUNT, "ended: {ended}");
        assert_eq!(seen["types"]["sequence"], "uint64");
        assert_eq!(seen["types"]["value_ns"], "int64");
        assert_eq!(seen["metadata"]["kadenz.series"], "wakeup");
        assert_eq!(seen["metadata"]["kadenz.unit"], "ns");
        assert_eq!(seen["sums"]["sequence"], COUNT * (COUNT - 1) / 2);
        assert_eq!(
            seen["sums"]["intended_ns"],
            sum(|sample| sample.intended_ns)
        );
        assert_eq!(seen["sums"]["actual_ns"], sum(|sample| sample.actual_ns));
        assert_eq!(seen["sums"]["value_ns"], sum(|sample| sample.value_ns));
    }
}

#[test]
fn what_pyarrow_writes_is_read() {
    let Some(python) = python("what_pyarrow_writes_is_read") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("python.samples.arrow");
    script(&python, "write", &path);
    let mut file = SamplesFile::open(&path).expect("opens");
    assert_eq!(file.header().series, "python");
    let mut next = 0;
    let extent = file
        .for_each_chunk(|chunk| {
            for sample in chunk {
                let n = i64::try_from(sample.sequence).expect("small");
                assert_eq!(sample.sequence, next);
                assert_eq!((sample.intended_ns, sample.actual_ns), (10 * n, 11 * n));
                assert_eq!(sample.value_ns, n - 7);
                next += 1;
            }
        })
        .expect("reads");
    assert_eq!(
        (extent.samples, extent.batches, extent.truncated),
        (5000, 5, false)
    );
}
