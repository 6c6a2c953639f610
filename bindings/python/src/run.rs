//! Finished runs.

use std::path::PathBuf;

use kadenz::report::compare::fail_if::{self, FailIf};
use kadenz::report::compare::{CompareOptions, Comparison};
use kadenz::report::summary::{SeriesSummary, Summary};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;

/// A run, or a file of another program.
#[pyclass(frozen, module = "kadenz._kadenz")]
pub(crate) struct Run(Summary);

/// Opens a run folder, or a file that `kadenz import` takes.
#[pyfunction]
pub(crate) fn open_run(py: Python<'_>, path: PathBuf) -> PyResult<Run> {
    py.detach(|| kadenz::read(path)).map(Run).map_err(error)
}

/// The sentences of a comparison: of the differences beyond chance, of the expressions that hold, and of those that
/// cannot be decided.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    baseline: &Run,
    candidate: &Run,
    fail_if: Vec<String>,
) -> PyResult<[Vec<String>; 3]> {
    let expressions = fail_if.into_iter().map(|it| it.parse::<FailIf>());
    let expressions = expressions.collect::<Result<Vec<_>, _>>().map_err(error)?;
    let options = CompareOptions {
        percentiles: expressions.iter().filter_map(FailIf::percentile).collect(),
        ..CompareOptions::default()
    };
    let runs = [baseline.0.clone(), candidate.0.clone()];
    Ok(py.detach(|| {
        let comparison = Comparison::new(&runs, &options);
        let outcome = fail_if::check(&expressions, &runs, &comparison);
        [
            comparison.significant().map(|it| it.to_string()).collect(),
            outcome.violations.iter().map(ToString::to_string).collect(),
            outcome.undecided.iter().map(ToString::to_string).collect(),
        ]
    }))
}

#[pymethods]
impl Run {
    /// The content of `run.json`, as JSON.
    fn facts(&self) -> PyResult<String> {
        serde_json::to_string(&self.0.run).map_err(error)
    }

    fn warnings(&self) -> Vec<String> {
        self.0.warnings.iter().map(|it| it.text.clone()).collect()
    }

    fn series(&self) -> Vec<Series> {
        self.0.series.iter().cloned().map(Series).collect()
    }
}

/// A series of a run.
#[pyclass(frozen, module = "kadenz._kadenz")]
pub(crate) struct Series(SeriesSummary);

#[pymethods]
impl Series {
    #[getter]
    fn name(&self) -> &str {
        &self.0.series.name
    }

    /// Count, extremes, mean, percentiles and verdict, as JSON.
    fn facts(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(error)
    }

    /// Of each non-empty bucket the lowest value, the highest and the count: 64-bit integers.
    fn histogram<'py>(&self, py: Python<'py>) -> [Bound<'py, PyBytes>; 3] {
        let buckets = &self.0.distribution;
        [
            integers(py, buckets.iter().map(|it| it.low_ns)),
            integers(py, buckets.iter().map(|it| it.high_ns)),
            integers(py, buckets.iter().map(|it| whole(it.count))),
        ]
    }

    /// Of each interval the start in nanoseconds, the count, the misses, the smallest and the largest value, p50 and p99
    /// (`i64::MIN` where the interval cannot carry it): 64-bit integers.
    fn intervals<'py>(&self, py: Python<'py>) -> [Bound<'py, PyBytes>; 7] {
        let points = &self.0.intervals;
        [
            integers(py, points.iter().map(|it| (it.start_s * 1e9) as i64)),
            integers(py, points.iter().map(|it| whole(it.count))),
            integers(py, points.iter().map(|it| whole(it.misses))),
            integers(py, points.iter().map(|it| it.min_ns)),
            integers(py, points.iter().map(|it| it.max_ns)),
            integers(py, points.iter().map(|it| it.p50_ns.unwrap_or(i64::MIN))),
            integers(py, points.iter().map(|it| it.p99_ns.unwrap_or(i64::MIN))),
        ]
    }
}

fn whole(count: u64) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

/// Integers as numpy reads them.
fn integers(py: Python<'_>, values: impl Iterator<Item = i64>) -> Bound<'_, PyBytes> {
    let bytes: Vec<u8> = values.flat_map(i64::to_ne_bytes).collect();
    PyBytes::new(py, &bytes)
}
