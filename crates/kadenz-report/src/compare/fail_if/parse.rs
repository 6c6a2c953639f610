//! From text to expression.

use std::str::FromStr;

use thiserror::Error;

use super::{FailIf, Limit, Operator};
use crate::compare::{Dimension, Metric};
use crate::statistics::{ParsePercentError, Percent};

/// Why a text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseFailIfError {
    /// The text has no comparison operator.
    #[error("`{0}` has no operator; write it as `p99.9 > 1.2x`, with >, >=, < or <=")]
    NoOperator(String),
    /// Something before the operator that is not a figure.
    #[error(
        "`{0}` is not a valid figure; there are p50, p99.9 and so on, min, mean, median, stddev, max, \
         misses, miss-rate, misses-per-hour, longest-run, dropped and count"
    )]
    NoSuchFigure(String),
    /// A `p` with something that is not a percentile.
    #[error(transparent)]
    Percentile(#[from] ParsePercentError),
    /// Something after the operator that is not a limit.
    #[error(
        "`{0}` is not a valid limit; write a ratio (1.2x), a change (10%), a duration (2ms) or a count (0)"
    )]
    NoLimit(String),
    /// A plain number for a figure that is a time.
    #[error("`{expression}` lacks a unit; write a unit, such as {limit}ms, or a ratio, {limit}x")]
    NoUnit {
        /// The whole text of the expression.
        expression: String,
        /// The limit without a unit, as it was written.
        limit: String,
    },
    /// A duration for a figure that is not a time.
    #[error(
        "`{figure}` is not a valid duration; write a plain number, a ratio (1.2x) or a change (10%)"
    )]
    NotADuration {
        /// The name of the figure.
        figure: Metric,
    },
    /// A ratio below zero.
    #[error(
        "`{0}` is not a valid ratio: it must be above 0; for a decrease write `< 0.9x` or `< -10%`"
    )]
    RatioNotPositive(String),
    /// `significantly` with an absolute limit.
    #[error(
        "`significantly` separates chance from change, so it needs a ratio (1.2x) or a change (10%)"
    )]
    NothingToDoubt,
    /// `significantly` with a figure that has no interval.
    #[error(
        "`{0}` has no confidence interval, so `significantly` cannot be tested; there are intervals \
         for mean and percentiles"
    )]
    NoInterval(Metric),
}

const OPERATORS: [(&str, Operator); 4] = [
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    (">", Operator::Above),
    ("<", Operator::Below),
];

/// Units of a duration. The longer endings stand first, because all of them end in `s`.
const UNITS: [(&str, f64); 5] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
];

impl FromStr for FailIf {
    type Err = ParseFailIfError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (left, operator, right) = OPERATORS
            .iter()
            .filter_map(|&(sign, operator)| {
                let at = text.find(sign)?;
                Some((at, (&text[..at], operator, &text[at + sign.len()..])))
            })
            // The leftmost sign; of two at the same place the longer, which stands first.
            .min_by_key(|&(at, _)| at)
            .map(|(_, parts)| parts)
            .ok_or_else(|| ParseFailIfError::NoOperator(text.trim().to_owned()))?;
        let (series, figure) = match left.rsplit_once(':') {
            Some((series, figure)) => (Some(series.trim().to_owned()), figure.trim()),
            None => (None, left.trim()),
        };
        let metric = metric(figure)?;
        let (limit, significantly) = match right.trim().strip_suffix("significantly") {
            Some(limit) => (limit.trim(), true),
            None => (right.trim(), false),
        };
        let limit = parse_limit(limit, metric, text.trim())?;
        if significantly {
            if matches!(limit, Limit::Absolute(_)) {
                return Err(ParseFailIfError::NothingToDoubt);
            }
            if !matches!(metric, Metric::Mean | Metric::Percentile(_)) {
                return Err(ParseFailIfError::NoInterval(metric));
            }
        }
        Ok(Self {
            series,
            metric,
            operator,
            limit,
            significantly,
        })
    }
}

fn metric(text: &str) -> Result<Metric, ParseFailIfError> {
    let named = match text {
        "min" => Metric::Min,
        "mean" | "average" | "avg" => Metric::Mean,
        "median" => Metric::Percentile(Percent::P50),
        "stddev" | "sd" => Metric::Stddev,
        "max" => Metric::Max,
        "misses" => Metric::Misses,
        "miss-rate" => Metric::MissRate,
        "misses-per-hour" => Metric::MissesPerHour,
        "longest-run" => Metric::LongestRun,
        "dropped" => Metric::Dropped,
        "count" | "samples" => Metric::Count,
        _ => {
            let percent = text
                .strip_prefix('p')
                .filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
                .ok_or_else(|| ParseFailIfError::NoSuchFigure(text.to_owned()))?;
            Metric::Percentile(percent.parse()?)
        }
    };
    Ok(named)
}

fn parse_limit(text: &str, metric: Metric, expression: &str) -> Result<Limit, ParseFailIfError> {
    let wrong = || ParseFailIfError::NoLimit(text.to_owned());
    let number = |digits: &str| -> Result<f64, ParseFailIfError> {
        let digits = digits.trim();
        let plain = digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b".+-_".contains(&byte));
        let number = digits.replace('_', "").parse::<f64>().ok();
        number
            .filter(|number| plain && number.is_finite())
            .ok_or_else(wrong)
    };
    if let Some(times) = text.strip_suffix('x') {
        let times = number(times)?;
        if times <= 0.0 {
            return Err(ParseFailIfError::RatioNotPositive(text.to_owned()));
        }
        return Ok(Limit::Times(times));
    }
    if let Some(percent) = text.strip_suffix('%') {
        let share = number(percent)? / 100.0;
        return Ok(match metric.dimension() {
            Dimension::Share => Limit::Absolute(share),
            _ => Limit::Change(share),
        });
    }
    let is_time = metric.dimension() == Dimension::Time;
    if let Some((digits, unit)) = UNITS
        .iter()
        .find_map(|&(name, ns)| Some((text.strip_suffix(name)?, ns)))
    {
        let duration = number(digits)? * unit;
        let absolute = is_time.then_some(Limit::Absolute(duration));
        return absolute.ok_or(ParseFailIfError::NotADuration { figure: metric });
    }
    let plain = number(text)?;
    if is_time && plain != 0.0 {
        return Err(ParseFailIfError::NoUnit {
            expression: expression.to_owned(),
            limit: text.to_owned(),
        });
    }
    Ok(Limit::Absolute(plain))
}
