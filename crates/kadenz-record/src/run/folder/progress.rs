//! How a run stands.

use std::time::Duration;

use super::series::SeriesWriter;
use crate::run::model::Counts;

/// How a run stands, for a live display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Since the start of the run.
    pub elapsed: Duration,
    /// Each series, in the order of the run.
    pub series: Vec<SeriesProgress>,
}

/// How a series stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesProgress {
    /// Its name.
    pub name: String,
    /// What was counted up to the end of the last interval; dropped samples up to some
    /// milliseconds ago.
    pub counts: Counts,
    /// When the last interval began, counted from the start of the run.
    pub interval_start: Duration,
    /// How long it really was.
    pub interval_length: Duration,
    /// Values recorded in it.
    pub interval_count: u64,
    /// The largest of them, within the resolution of the histogram; 0 if there were none.
    pub interval_max_ns: i64,
}

impl SeriesProgress {
    pub(super) fn of(series: &SeriesWriter) -> Self {
        let (start, end) = series.span;
        Self {
            name: series.name.clone(),
            counts: series.counts(),
            interval_start: start,
            interval_length: end.saturating_sub(start),
            interval_count: series.interval.count(),
            interval_max_ns: series.interval.max(),
        }
    }
}
