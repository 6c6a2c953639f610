//! Expressions such as `p99.9 > 1.2x` that decide whether a comparison, or a single run, fails.
//!
//! ```text
//! [SERIES:] FIGURE OPERATOR LIMIT [significantly]
//!
//! FIGURE    p50, p99.9, ... min, mean, median, stddev (sd), max, misses, miss-rate,
//!           misses-per-hour, longest-run, dropped, count
//! OPERATOR  >  >=  <  <=
//! LIMIT     1.2x     times the baseline's
//!           10%      above the baseline's (-10% below it); of miss-rate itself, a share
//!           400us    a duration: ns, us, ms, s
//!           0        a number, for figures that are counts
//! ```
//!
//! `significantly` demands that the whole 95 % interval of the ratio lies beyond the limit, so that
//! chance does not fail a build. Without it the measured ratio decides.
//!
//! An expression is tested on every series that it names, or on every one. An expression that cannot be decided (a
//! percentile that the sample does not support, no baseline, no deadline) is distinguished from one that failed: it is
//! an error of the question (exit code 2), not of the machine (exit code 1). Misses are not decided either where
//! packets, messages or values were lost beyond what the run allows, unless the misses that were counted suffice.

mod check;
mod parse;

use std::fmt;

pub use check::{Outcome, Undecided, Violation, check};
pub use parse::ParseFailIfError;

use super::{Dimension, Metric};
use crate::statistics::Percent;

/// A parsed expression.
///
/// ```
/// use kadenz_report::compare::fail_if::FailIf;
///
/// let expression: FailIf = "p99.9>1.2x".parse()?;
/// assert_eq!(expression.to_string(), "p99.9 > 1.2x");
/// let error = "p99.9 > 2".parse::<FailIf>().unwrap_err().to_string();
/// assert!(error.contains("write a unit, such as 2ms"), "{error}");
/// # Ok::<(), kadenz_report::compare::fail_if::ParseFailIfError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FailIf {
    /// The series that it tests; all where absent.
    series: Option<String>,
    /// The figure that is tested.
    metric: Metric,
    /// How it is tested.
    operator: Operator,
    /// The limit to test against.
    limit: Limit,
    /// Whether the whole interval of the ratio must lie beyond the limit.
    significantly: bool,
}

/// How a figure is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    /// `>`: the figure is above the limit.
    Above,
    /// `>=`: the figure is the limit or above.
    AtLeast,
    /// `<`: the figure is below the limit.
    Below,
    /// `<=`: the figure is the limit or below.
    AtMost,
}

impl Operator {
    /// Whether a greater figure holds where a smaller one does.
    const fn is_lower_bound(self) -> bool {
        matches!(self, Self::Above | Self::AtLeast)
    }
}

/// Against what a figure is tested.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// The figure itself: nanoseconds, a number or a share.
    Absolute(f64),
    /// A multiple of the baseline's.
    Times(f64),
    /// The baseline's plus this part of it: 0.1 for 10 %.
    Change(f64),
}

impl FailIf {
    /// The percentile that it tests, for [`CompareOptions::percentiles`].
    ///
    /// [`CompareOptions::percentiles`]: super::CompareOptions::percentiles
    #[must_use]
    pub fn percentile(&self) -> Option<Percent> {
        match self.metric {
            Metric::Percentile(percent) => Some(percent),
            _ => None,
        }
    }

    /// Whether it needs a baseline.
    #[must_use]
    pub(crate) fn is_relative(&self) -> bool {
        !matches!(self.limit, Limit::Absolute(_))
    }
}

impl Operator {
    fn holds(self, figure: f64, limit: f64) -> bool {
        match self {
            Self::Above => figure > limit,
            Self::AtLeast => figure >= limit,
            Self::Below => figure < limit,
            Self::AtMost => figure <= limit,
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::AtMost => "<=",
        })
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(series) = &self.series {
            write!(f, "{series}: ")?;
        }
        write!(f, "{} {} ", self.metric, self.operator)?;
        match self.limit {
            Limit::Times(times) => write!(f, "{}x", plain(times))?,
            Limit::Change(change) => write!(f, "{}%", plain(100.0 * change))?,
            Limit::Absolute(limit) => match self.metric.dimension() {
                Dimension::Time => f.write_str(&duration(limit))?,
                Dimension::Number => f.write_str(&plain(limit))?,
                Dimension::Share => write!(f, "{}%", plain(100.0 * limit))?,
            },
        }
        if self.significantly {
            f.write_str(" significantly")
        } else {
            Ok(())
        }
    }
}

/// A number as one would write it, without the last digits of an `f64`.
fn plain(number: f64) -> String {
    let text = format!("{number:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn duration(ns: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    let unit = UNITS.into_iter().find(|&(unit, _)| ns.abs() >= unit);
    let (unit, name) = unit.unwrap_or((1.0, "ns"));
    format!("{}{name}", plain(ns / unit))
}

#[cfg(test)]
mod tests;
