//! Counts a series from its files, for a run that did not store its counts.

use std::time::Duration;

use super::EARLY_TAG;
use super::error::OpenSeriesError;
use super::reader::RunReader;
use crate::histogram::SignedHistogram;
use crate::hlog::reader::{Interval, ReadLogError};
use crate::recorder::Counts;
use crate::run::model::{Series, Warning};
use crate::samples::reader::SamplesFile;

/// Most samples that are read for exact extremes when a run is opened: more would take seconds.
const MAX_SAMPLES: u64 = 8 << 20;

/// The counts from the files of a series.
#[derive(Debug, Default)]
pub(super) struct Recounted {
    pub(super) counts: Counts,
    /// End of the last interval, since the start of the run.
    pub(super) end: Duration,
    /// The files that could not be read.
    pub(super) warnings: Vec<Warning>,
}

/// Counts a series from its interval log, and exactly from its samples if all are there.
pub(super) fn recount(reader: &RunReader, series: &Series) -> Recounted {
    let mut recounted = Recounted::default();
    let mut sum = SignedHistogram::new();
    if let Err(error) = sum_intervals(reader, series, &mut sum, &mut recounted) {
        recounted.unreadable(series, &error.to_string());
    }
    recounted.counts = counts_of(&sum, series.deadline_ns);
    if series.files.samples.is_some() {
        match reader.samples(&series.name) {
            Ok(mut file) => count_exactly(&mut file, series, &mut recounted.counts),
            Err(error) => recounted.unreadable(series, &error.to_string()),
        }
    }
    recounted
}

fn sum_intervals(
    reader: &RunReader,
    series: &Series,
    sum: &mut SignedHistogram,
    recounted: &mut Recounted,
) -> Result<(), OpenSeriesError> {
    let mut add = |interval: Interval| -> Result<(), ReadLogError> {
        add(&interval, sum)?;
        let end = Duration::try_from_secs_f64(interval.relative_s + interval.length_s);
        recounted.end = recounted.end.max(end.unwrap_or_default());
        Ok(())
    };
    let mut damaged = None;
    for interval in reader.hlog(&series.name)? {
        if let Err(error) = interval.and_then(&mut add) {
            damaged.get_or_insert(error);
        }
    }
    if let Some(error) = damaged {
        recounted.unreadable(series, &error.to_string());
    }
    Ok(())
}

/// Adds an interval of a run's log: values below zero are tagged, as magnitudes.
pub(super) fn add(interval: &Interval, sum: &mut SignedHistogram) -> Result<(), ReadLogError> {
    let early = interval.tag.as_deref() == Some(EARLY_TAG);
    let side = if early { &mut sum.early } else { &mut sum.late };
    interval.histogram.add_to(side)
}

impl Recounted {
    fn unreadable(&mut self, series: &Series, cause: &str) {
        self.warnings.push(Warning::new(
            "series_unreadable",
            format!("series {} could not be counted whole: {cause}", series.name),
            None,
        ));
    }
}

/// Counts to the resolution of the histogram.
fn counts_of(sum: &SignedHistogram, deadline_ns: Option<u64>) -> Counts {
    let any = !sum.is_empty();
    let limit = deadline_ns.and_then(|limit| i64::try_from(limit).ok());
    Counts {
        recorded: sum.count(),
        early: sum.early.count(),
        misses: limit.map_or(0, |limit| sum.count_above(limit)),
        min_ns: any.then(|| sum.min()),
        max_ns: any.then(|| sum.max()),
        ..Counts::default()
    }
}

/// Makes extremes and misses exact, if every counted value is in the samples file; values that are in the interval
/// log alone are dropped samples.
fn count_exactly(file: &mut SamplesFile, series: &Series, counts: &mut Counts) {
    let limit = series
        .deadline_ns
        .and_then(|limit| i64::try_from(limit).ok())
        .unwrap_or(i64::MAX);
    let mut exact = Counts::default();
    let mut run = 0;
    while let Ok(Some(values)) = file.next_values() {
        for &value in values {
            exact.min_ns = Some(exact.min_ns.map_or(value, |min| min.min(value)));
            exact.max_ns = Some(exact.max_ns.map_or(value, |max| max.max(value)));
            run = if value > limit { run + 1 } else { 0 };
            exact.misses += u64::from(value > limit);
            exact.longest_miss_run = exact.longest_miss_run.max(run);
        }
        exact.recorded += values.len() as u64;
        if exact.recorded > MAX_SAMPLES {
            return;
        }
    }
    counts.dropped = counts.recorded.saturating_sub(exact.recorded);
    if exact.recorded == counts.recorded {
        *counts = Counts {
            early: counts.early,
            ..exact
        };
    }
}
