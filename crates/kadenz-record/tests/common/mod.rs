//! Helpers that the tests of run folders share.

#![allow(dead_code, reason = "every test binary uses a part")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use kadenz_record::run::folder::{EARLY_TAG, RunReader, SeriesSpec};
use kadenz_record::run::model::{Kind, Run, Series};
use kadenz_record::samples::Sample;

/// Reports by name that a test is skipped, or fails where no test may be.
#[allow(clippy::print_stderr, reason = "the user must see it")]
pub(crate) fn skip(test: &str, missing: &str) {
    assert!(
        std::env::var_os("KADENZ_SKIP_NOTHING").is_none(),
        "{test} would be skipped: {missing}"
    );
    eprintln!("skipped: {test}: {missing}");
}

pub(crate) fn run() -> Run {
    let command = vec!["kadenz".to_owned(), "test".to_owned()];
    Run {
        experiment: "test".to_owned(),
        command,
        ..Run::default()
    }
}

pub(crate) fn spec(name: &str, raw: bool) -> SeriesSpec {
    let series = Series {
        name: name.to_owned(),
        kind: Kind::Lateness,
        expected_interval_ns: Some(1_000_000),
        deadline_ns: Some(900),
        ..Series::default()
    };
    SeriesSpec { series, raw }
}

/// Sample `n` of every test: values go from -100 to 999, so that some are early and some missed.
pub(crate) fn numbered(n: u64) -> Sample {
    let intended_ns = n.cast_signed() * 1_000_000;
    let value_ns = (n % 1100).cast_signed() - 100;
    Sample {
        sequence: n,
        intended_ns,
        actual_ns: intended_ns + value_ns,
        value_ns,
    }
}

/// The content of a series' interval log.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    pub(crate) recorded: u64,
    pub(crate) early: u64,
    pub(crate) truncated: bool,
    /// Start and length of each interval, early lines left out.
    pub(crate) spans: Vec<(f64, f64)>,
}

pub(crate) fn intervals(reader: &RunReader, series: &str) -> Intervals {
    let mut log = reader.hlog(series).expect("a log");
    let mut all = Intervals::default();
    for interval in &mut log {
        let interval = interval.expect("an interval");
        let count = interval.histogram.decode().expect("a histogram").count();
        all.recorded += count;
        if interval.tag.as_deref() == Some(EARLY_TAG) {
            all.early += count;
        } else {
            all.spans.push((interval.relative_s, interval.length_s));
        }
    }
    all.truncated = log.truncated();
    all
}

/// The sequence numbers in the samples file of a series, and whether the file is cut off.
pub(crate) fn sequences(reader: &RunReader, series: &str) -> (Vec<u64>, bool) {
    let mut all = Vec::new();
    let mut file = reader.samples(series).expect("samples");
    let extent = file
        .for_each_chunk(|chunk| {
            assert!(
                chunk
                    .iter()
                    .all(|sample| *sample == numbered(sample.sequence))
            );
            all.extend(chunk.iter().map(|sample| sample.sequence));
        })
        .expect("whole batches");
    (all, extent.truncated)
}

/// Asserts that intervals follow each other without gap or overlap; stamps have milliseconds.
pub(crate) fn assert_contiguous(spans: &[(f64, f64)]) {
    for pair in spans.windows(2) {
        let end = pair[0].0 + pair[0].1;
        assert!((pair[1].0 - end).abs() < 0.0021, "a gap between {pair:?}");
    }
}

/// A command that runs the test `name` of this binary alone, in a process of its own, with a
/// folder to write into. The test must return at once where [`child_folder`] has nothing.
pub(crate) fn child(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    as_child(&mut command, name, folder);
    command
}

/// Adds the arguments and variables to a command that make its binary such a child.
pub(crate) fn as_child(command: &mut Command, name: &str, folder: &Path) {
    command
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
}

const CHILD: &str = "KADENZ_TEST_CHILD_FOLDER";

/// The folder to write into, in a child.
pub(crate) fn child_folder() -> Option<std::path::PathBuf> {
    std::env::var_os(CHILD).map(Into::into)
}

pub(crate) const INTERVAL: Duration = Duration::from_millis(40);
