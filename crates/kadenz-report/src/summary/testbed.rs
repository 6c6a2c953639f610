//! The lateness of a run's testbed, from the testbed's own run beside the run's folder.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use kadenz_record::run::testbed::WIRE_ERROR;
use schemars::JsonSchema;
use serde::Serialize;

use super::{SeriesSummary, Summary, SummaryOptions};
use crate::statistics::Percent;

/// How much later than its topology requires a testbed handed frames to their receivers, as far as its run shows. A
/// round trip has two such frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TestbedError {
    /// Frames delivered by the testbed, as far as its run shows.
    #[serde(rename = "count")]
    pub frames: u64,
    /// Median, in nanoseconds.
    pub p50_ns: Option<i64>,
    /// 99th percentile, in nanoseconds.
    pub p99_ns: Option<i64>,
    /// The largest, in nanoseconds.
    pub max_ns: Option<i64>,
    /// Whether the testbed's run is complete. Otherwise it still runs, or was killed, and more frames may have been
    /// delivered than it reports.
    pub complete: bool,
}

/// The error of the testbed around a run; absent where its run is not beside the run's folder.
pub(super) fn error(run: &Summary) -> Option<TestbedError> {
    let testbed = run.run.network.as_ref()?.testbed.as_ref()?;
    let folder = beside(&run.folder, &testbed.run)?;
    let options = SummaryOptions {
        samples: false,
        ..SummaryOptions::default()
    };
    let own = Summary::read(folder, options).ok()?;
    let complete = own.run.complete;
    let series = own.named(WIRE_ERROR)?;
    Some(TestbedError::of(series, complete))
}

/// The folder of this name beside the run's. A run may come from any source: it can name no other place, and not its
/// own.
fn beside(run: &Path, name: &str) -> Option<PathBuf> {
    let mut parts = Path::new(name).components();
    let plain = matches!(parts.next(), Some(Component::Normal(part)) if part == OsStr::new(name));
    if !plain {
        return None;
    }
    let run = by_name(run)?;
    let is_own = run.file_name() == Some(OsStr::new(name));
    (!is_own).then(|| run.with_file_name(name))
}

/// The path of a folder that ends in its name, also for `..` and this folder.
fn by_name(run: &Path) -> Option<PathBuf> {
    let named = matches!(run.components().next_back(), Some(Component::Normal(_)));
    let path = if named {
        std::path::absolute(run)
    } else {
        // An empty path, as in "this folder", is invalid for the system.
        std::fs::canonicalize(Path::new(".").join(run))
    };
    path.ok()
}

impl TestbedError {
    fn of(series: &SeriesSummary, complete: bool) -> Self {
        Self {
            complete,
            frames: series.count,
            p50_ns: series.percentile(Percent::P50),
            p99_ns: series.percentile(Percent::P99),
            max_ns: series.max_ns,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
mod tests {
    use std::time::Duration;

    use kadenz_record::run::folder::{RunWriter, SeriesSpec};
    use kadenz_record::run::model::{EndedBy, Run, Series};
    use kadenz_record::run::network::Network;
    use kadenz_record::run::testbed::Testbed;
    use kadenz_record::samples::Sample;

    use super::*;

    /// A run with a series of these values, in the testbed of that name.
    fn write(folder: &Path, values: &[i64], testbed: Option<&str>) {
        write_series(folder, WIRE_ERROR, values, testbed);
    }

    fn write_series(folder: &Path, name: &str, values: &[i64], testbed: Option<&str>) {
        let network = testbed.map(|run| Network {
            testbed: Some(Testbed {
                run: run.to_owned(),
                ..Testbed::default()
            }),
            ..Network::default()
        });
        let run = Run {
            network,
            ..Run::default()
        };
        let mut writer = RunWriter::create(folder, run).unwrap();
        let series = Series {
            name: name.into(),
            ..Series::default()
        };
        let mut recorder = writer.series(SeriesSpec { series, raw: false }).unwrap();
        let running = writer.start(Duration::from_secs(60)).unwrap();
        for &value_ns in values {
            recorder.record(Sample {
                value_ns,
                ..Sample::default()
            });
        }
        running.finish(EndedBy::Finished).unwrap();
    }

    #[test]
    fn the_error_is_read_from_the_run_beside() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        write(&at("bed"), &[1000; 100], None);
        write(&at("run"), &[5], Some("bed"));
        let error = Summary::of_run(at("run")).unwrap().testbed_error.unwrap();
        assert_eq!(
            (error.frames, error.p50_ns, error.max_ns),
            (100, Some(1000), Some(1000))
        );
        assert!(error.complete);
        std::fs::remove_dir_all(at("bed")).unwrap();
        let alone = Summary::of_run(at("run")).unwrap();
        assert_eq!(alone.testbed_error, None, "it was left behind");
    }

    #[test]
    fn two_runs_that_name_each_other_are_read_once() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        write(&at("a"), &[5], Some("b"));
        write(&at("b"), &[5], Some("a"));
        let error = Summary::of_run(at("a")).unwrap().testbed_error;
        assert_eq!(error.unwrap().frames, 1);
    }

    #[test]
    fn a_run_names_no_other_place() {
        for name in ["", ".", "..", "../x", "/etc", "a/b", "a/", "./a"] {
            assert_eq!(beside(Path::new("/runs/one"), name), None, "{name}");
        }
        let found = beside(Path::new("/runs/one"), "bed");
        assert_eq!(found.as_deref(), Some(Path::new("/runs/bed")));
        assert_eq!(beside(Path::new("/runs/bed"), "bed"), None, "its own");
    }

    #[test]
    fn a_folder_without_a_name_has_its_own_beside() {
        let here = std::env::current_dir().unwrap();
        let parent = here.parent().unwrap();
        for (run, wanted) in [
            ("", parent),
            (".", parent),
            ("./", parent),
            ("..", parent.parent().unwrap()),
            ("src/..", parent),
            ("src/.", &here),
            ("src", &here),
        ] {
            let found = beside(Path::new(run), "bed");
            assert_eq!(found, Some(wanted.join("bed")), "{run:?}");
        }
    }

    #[test]
    fn a_run_that_is_no_testbed_has_no_error() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        write_series(&at("bed"), "hiccup", &[1000; 100], None);
        write(&at("run"), &[5], Some("bed"));
        write(&at("own"), &[5], Some("own"));
        for name in ["run", "own"] {
            let summary = Summary::of_run(at(name)).unwrap();
            assert_eq!(summary.testbed_error, None, "{name}");
        }
    }

    #[test]
    fn a_testbed_that_still_stands_is_not_complete() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        write(&at("bed"), &[1000; 100], None);
        write(&at("run"), &[5], Some("bed"));
        let path = at("bed").join("run.json");
        let text = std::fs::read_to_string(&path).unwrap();
        let still = text.replace("\"complete\": true", "\"complete\": false");
        assert_ne!(still, text);
        std::fs::write(&path, still).unwrap();
        let error = Summary::of_run(at("run")).unwrap().testbed_error.unwrap();
        assert!(!error.complete);
    }
}
