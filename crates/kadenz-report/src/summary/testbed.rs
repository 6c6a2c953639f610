//! How true the testbed was that a run was taken in: its own run lies beside the run's folder.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::{SeriesSummary, Summary, SummaryOptions};
use crate::statistics::Percent;

/// How much later than its topology says a testbed handed frames to their receivers, as far as its
/// run tells. A round trip has two such frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestbedError {
    /// Frames delivered while the testbed stood.
    pub frames: u64,
    /// Median.
    pub p50_ns: Option<i64>,
    /// 99 %.
    pub p99_ns: Option<i64>,
    /// The latest.
    pub max_ns: Option<i64>,
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
    own.series.first().map(TestbedError::of)
}

/// The folder of this name beside the run's. A run may come from anyone: it names no other place.
fn beside(run: &Path, name: &str) -> Option<PathBuf> {
    let mut parts = Path::new(name).components();
    let plain = matches!(parts.next(), Some(Component::Normal(part)) if part == OsStr::new(name));
    if !plain {
        return None;
    }
    let run = std::path::absolute(run).ok()?;
    Some(run.parent()?.join(name))
}

impl TestbedError {
    fn of(series: &SeriesSummary) -> Self {
        Self {
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
            name: "wire-error".into(),
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
    }
}
