//! The figures of a series that can be compared and tested.

use std::fmt;

use crate::numbers;
use crate::statistics::{Percent, percentile};
use crate::summary::SeriesSummary;
use crate::verdict::NOTHING_READ;

/// A figure of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Smallest value, in nanoseconds.
    Min,
    /// Arithmetic mean, in nanoseconds.
    Mean,
    /// Standard deviation, in nanoseconds.
    Stddev,
    /// The value that this percentage of the values does not exceed.
    Percentile(Percent),
    /// Largest value, in nanoseconds.
    Max,
    /// Samples above the deadline.
    Misses,
    /// Share of the samples above the deadline.
    MissRate,
    /// Misses per hour of measuring.
    MissesPerHour,
    /// Most misses in a row.
    LongestRun,
    /// Values missing from the raw samples.
    Dropped,
    /// Number of recorded values.
    Count,
}

/// The dimension of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A time in nanoseconds.
    Time,
    /// A number of something.
    Number,
    /// A part of one.
    Share,
}

impl Metric {
    /// The dimension of the figure.
    #[must_use]
    pub fn dimension(self) -> Dimension {
        match self {
            Self::Min | Self::Mean | Self::Stddev | Self::Percentile(_) | Self::Max => {
                Dimension::Time
            }
            Self::Misses | Self::MissesPerHour | Self::LongestRun | Self::Dropped | Self::Count => {
                Dimension::Number
            }
            Self::MissRate => Dimension::Share,
        }
    }

    /// The figure of a series, in nanoseconds, as a number or as a share.
    ///
    /// # Errors
    /// Why it has no value: nothing recorded or readable, no deadline, or a percentile that the sample cannot support.
    pub fn of(self, series: &SeriesSummary) -> Result<f64, String> {
        let verdict = || {
            let stated = series.verdict.as_ref();
            let stated = stated
                .ok_or_else(|| "no deadline was stated; state one with --deadline".to_owned())?;
            match stated.count {
                0 => Err(NOTHING_READ.to_owned()),
                _ => Ok(stated),
            }
        };
        let recorded = |value: Option<f64>| value.ok_or_else(|| "nothing was recorded".to_owned());
        match self {
            Self::Min => recorded(series.min_ns.map(|ns| ns as f64)),
            Self::Mean => recorded(series.mean_ns),
            Self::Stddev => recorded(series.stddev_ns),
            Self::Max => recorded(series.max_ns.map(|ns| ns as f64)),
            Self::Percentile(percent) => percentile_of(series, percent),
            Self::Misses => Ok(verdict()?.misses as f64),
            Self::MissRate => Ok(verdict()?.rate),
            Self::MissesPerHour => verdict()?
                .misses_per_hour
                .ok_or_else(|| "the duration is unknown".to_owned()),
            Self::LongestRun => verdict()?.known_run().map(|run| run as f64).ok_or_else(|| {
                "a histogram has no sequence of misses; keep raw samples".to_owned()
            }),
            Self::Dropped => Ok(series.series.counts.dropped as f64),
            Self::Count => Ok(series.count as f64),
        }
    }

    /// A figure in words, with its unit.
    #[must_use]
    pub fn show(self, figure: f64) -> String {
        match self.dimension() {
            Dimension::Time => numbers::value(figure),
            Dimension::Number if figure >= 0.0 && figure.fract() == 0.0 => {
                numbers::thousands(figure as u64)
            }
            Dimension::Number => numbers::three_digits(figure),
            Dimension::Share => numbers::percentage(figure),
        }
    }
}

fn percentile_of(series: &SeriesSummary, percent: Percent) -> Result<f64, String> {
    let max = series.max_ns.unwrap_or(i64::MAX);
    let needed = (1.0 / percent.complement()).ceil() as u64;
    percentile(&series.distribution, percent, max)
        .map(|ns| ns as f64)
        .ok_or_else(|| {
            format!(
                "{} samples cannot carry it; it needs {}",
                numbers::thousands(series.count),
                numbers::thousands(needed)
            )
        })
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Percentile(percent) => return write!(f, "p{percent}"),
            Self::Min => "min",
            Self::Mean => "mean",
            Self::Stddev => "stddev",
            Self::Max => "max",
            Self::Misses => "misses",
            Self::MissRate => "miss-rate",
            Self::MissesPerHour => "misses-per-hour",
            Self::LongestRun => "longest-run",
            Self::Dropped => "dropped",
            Self::Count => "count",
        };
        f.write_str(name)
    }
}
