//! Intervals of ratios between two runs, and the cells of consecutive intervals from which they are computed.
//!
//! The error of a mean or of the share beyond a percentile comes from the cells of a run, which need not be independent
//! (see [`crate::statistics::batch_means`]). The bounds of a percentile are the values at shares that lie a number of
//! errors away from its own. The bounds of both runs give those of the ratio.
//!
//! Sources: R. S. Woodruff, "Confidence intervals for medians and other position measures", Journal
//! of the American Statistical Association 47 (1952), for percentiles; G. Y. Zou and A. Donner,
//! "Construction of confidence limits about effect measures", Statistics in Medicine 27 (2008), for
//! the ratio, on logarithms.

use std::fmt;
use std::io::BufRead;

use kadenz_record::histogram::{Histogram, SignedHistogram};
use kadenz_record::hlog::reader::IntervalLog;
use kadenz_record::run::folder::{EARLY_TAG, RunReader};

use super::{MIN_BEYOND, Metric};
use crate::statistics::batch_means::{MIN_VALUES, Spread, spread};
use crate::statistics::{Percent, SignedBucket, count, distribution, student};
use crate::summary::{SeriesSummary, make_room};

/// Why a ratio has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoInterval {
    /// The figure has no interval.
    Figure,
    /// Too few intervals in the log of a run.
    FewIntervals,
    /// Fewer than ten samples lie beyond the percentile, or fewer than its error allows for.
    FewBeyond,
    /// Neighbouring intervals are so alike that the run holds too few independent stretches.
    SlowChange,
    /// A figure, or its lower bound, is not above zero.
    NotPositive,
}

impl fmt::Display for NoInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Figure => f.write_str("there are intervals for mean and percentiles only"),
            Self::FewIntervals => write!(
                f,
                "the log of a run has fewer than {MIN_VALUES} intervals; measure longer"
            ),
            Self::FewBeyond => f.write_str(
                "too few samples lie beyond the percentile: 10 at least in either run, and more where \
                 they come together; measure longer or take a lower percentile",
            ),
            Self::SlowChange => f.write_str(
                "a run changes too slowly for its length: it does not separate chance from change; \
                 measure longer, or several runs",
            ),
            Self::NotPositive => f.write_str(
                "a figure may be zero or below, of which there is no ratio; use an absolute limit",
            ),
        }
    }
}

/// A figure of one run with the data for its error.
pub(super) struct Estimate<'a> {
    value: f64,
    /// The error of the sum, or of the number of samples beyond the percentile.
    spread: Spread,
    count: u64,
    /// The percentile and its buckets; absent for the mean.
    percentile: Option<(Percent, &'a [SignedBucket])>,
}

impl<'a> Estimate<'a> {
    /// The mean or a percentile of `series`, whose log was divided into `cells`.
    pub(super) fn new(
        series: &'a SeriesSummary,
        cells: &Cells,
        metric: Metric,
    ) -> Result<Self, NoInterval> {
        let value = metric.of(series).map_err(|_| NoInterval::FewBeyond)?;
        let percentile = match metric {
            Metric::Mean => None,
            Metric::Percentile(percent) if percent.beyond(series.count) < MIN_BEYOND => {
                return Err(NoInterval::FewBeyond);
            }
            Metric::Percentile(percent) => Some((percent, series.distribution.as_slice())),
            _ => return Err(NoInterval::Figure),
        };
        if cells.len() < MIN_VALUES {
            return Err(NoInterval::FewIntervals);
        }
        let summed = |bucket: &SignedBucket| {
            let each = match percentile {
                None => bucket.low_ns.midpoint(bucket.high_ns) as f64,
                Some(_) => f64::from(bucket.high_ns as f64 > value),
            };
            each * bucket.count as f64
        };
        let spread = spread(&deviations(cells, summed)).ok_or(NoInterval::SlowChange)?;
        Ok(Self {
            value,
            spread,
            count: series.count,
            percentile,
        })
    }

    /// Bounds of the figure at `errors` standard errors; infinite above where the sample
    /// does not reach so far, and zero below where it may be no more than that.
    fn bounds(&self, errors: f64) -> (f64, f64) {
        let error = errors * self.spread.deviation;
        let Some((percent, buckets)) = self.percentile else {
            let error = error / self.count as f64;
            return ((self.value - error).max(0.0), self.value + error);
        };
        let rank = percent.rank(self.count) as f64;
        let low = bucket_at(buckets, rank - error).map_or(0.0, |bucket| bucket.low_ns as f64);
        let high = bucket_at(buckets, rank + error);
        let high = high.map_or(f64::INFINITY, |bucket| bucket.high_ns as f64);
        (low.min(self.value).max(0.0), high.max(self.value))
    }
}

/// The sum of `buckets` in each cell, less its mean.
fn deviations(cells: &Cells, summed: impl Fn(&SignedBucket) -> f64) -> Vec<f64> {
    let sums: Vec<f64> = cells
        .iter()
        .map(|cell| cell.iter().map(&summed).sum())
        .collect();
    let counts: Vec<f64> = cells.iter().map(|cell| count(cell) as f64).collect();
    let mean = sums.iter().sum::<f64>() / counts.iter().sum::<f64>();
    let each = sums.iter().zip(&counts);
    each.map(|(sum, count)| sum - mean * count).collect()
}

/// The bucket that holds the value of this rank; absent outside of the sample.
fn bucket_at(buckets: &[SignedBucket], rank: f64) -> Option<&SignedBucket> {
    let mut seen = 0.0;
    buckets.iter().filter(|_| rank > 0.0).find(|bucket| {
        seen += bucket.count as f64;
        seen >= rank
    })
}

/// The interval that holds the ratio of `theirs` by `ours` with this confidence.
pub(super) fn ratio(
    ours: &Estimate<'_>,
    theirs: &Estimate<'_>,
    confidence: f64,
) -> Result<(f64, f64), NoInterval> {
    let degrees = ours.spread.degrees.min(theirs.spread.degrees);
    let errors = student::two_sided(confidence, degrees);
    let ((ours_low, ours_high), (theirs_low, theirs_high)) =
        (ours.bounds(errors), theirs.bounds(errors));
    if ours.value <= 0.0 || theirs.value <= 0.0 {
        return Err(NoInterval::NotPositive);
    }
    if ours_low <= 0.0 || theirs_low <= 0.0 {
        return Err(match ours.percentile {
            Some(_) => NoInterval::FewBeyond,
            None => NoInterval::NotPositive,
        });
    }
    let ratio = theirs.value / ours.value;
    let below = (theirs.value / theirs_low)
        .ln()
        .hypot((ours_high / ours.value).ln());
    let above = (theirs_high / theirs.value)
        .ln()
        .hypot((ours.value / ours_low).ln());
    Ok((ratio * (-below).exp(), ratio * above.exp()))
}

/// Maximum number of cells: a day in intervals of a second makes cells of 3.6 minutes.
pub(crate) const MAX_CELLS: usize = 400;

/// The distribution of each cell of a series, in order of time.
pub(crate) type Cells = Vec<Vec<SignedBucket>>;

/// Reads the cells of a series, at most `most`; the number of intervals in its log is known.
///
/// # Errors
/// The log of the series cannot be read: there is no confidence interval then.
pub(crate) fn read_cells(
    folder: &std::path::Path,
    series: &str,
    intervals: usize,
    most: usize,
) -> Result<Cells, String> {
    let because = |error: &dyn std::error::Error| {
        format!("no confidence intervals for {series}: its log cannot be read: {error}")
    };
    let reader = RunReader::open(folder).map_err(|error| because(&error))?;
    let log = reader.hlog(series).map_err(|error| because(&error))?;
    Ok(cut(log, intervals.div_ceil(most)))
}

fn cut<R: BufRead>(log: IntervalLog<R>, each: usize) -> Cells {
    let each = each.max(1);
    let mut cells = Vec::new();
    let mut cell = SignedHistogram::new();
    let mut scratch = Histogram::new();
    let mut begun = 0;
    for interval in log.flatten() {
        let early = match interval.tag.as_deref() {
            None => false,
            Some(EARLY_TAG) => true,
            Some(_) => continue,
        };
        if !early {
            begun += 1;
            if begun > each {
                close(&mut cells, &mut cell);
                begun = 1;
            }
        }
        let side = if early {
            &mut cell.early
        } else {
            &mut cell.late
        };
        // A damaged line is left out here as it is in the summary, which warns of it.
        if interval.histogram.decode_into(&mut scratch).is_ok() {
            make_room(side, scratch.layout());
            side.add(&scratch);
        }
    }
    close(&mut cells, &mut cell);
    cells
}

fn close(cells: &mut Cells, cell: &mut SignedHistogram) {
    if !cell.is_empty() {
        cells.push(distribution(cell));
        cell.reset();
    }
}

#[cfg(test)]
#[path = "interval_tests.rs"]
mod tests;
