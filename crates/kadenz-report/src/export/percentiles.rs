//! The rows of a percentile distribution, finer towards 100 %.
//!
//! Source of the steps: `PercentileIterator` of HdrHistogram 2.2.2. Each half of the distance to
//! 100 % is cut into equal ticks: 0, 10, 20, ... 50, 55, ... 75, 77.5 and so on.

use kadenz_record::histogram::{SignedBucket, SignedHistogram};

/// Ticks in each half of the distance to 100 %, the default of HdrHistogram's tools.
pub(super) const TICKS: u32 = 5;

/// One row of a percentile distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PercentileRow {
    /// The highest value of the bucket in which the share is reached.
    pub(super) value_ns: i64,
    /// Share of values that are at most this, 0 to 100.
    pub(super) percentile: f64,
    /// Values up to the end of the bucket.
    pub(super) count: u64,
}

/// The rows, from the smallest value to 100 %; none when nothing was recorded.
pub(super) fn rows(histogram: &SignedHistogram) -> Vec<PercentileRow> {
    let total = histogram.count();
    let mut rows = Vec::new();
    let (mut level, mut count) = (0.0, 0_u64);
    let mut last = None;
    for SignedBucket {
        high, count: here, ..
    } in histogram.buckets()
    {
        count = count.saturating_add(here);
        let reached = 100.0 * count as f64 / total as f64;
        last = Some(high);
        while reached >= level {
            rows.push(PercentileRow {
                value_ns: high,
                percentile: level,
                count,
            });
            level = next(level);
            if count == total {
                break;
            }
        }
    }
    // One more step to all of them.
    rows.extend(last.map(|value_ns| PercentileRow {
        value_ns,
        percentile: 100.0,
        count,
    }));
    rows
}

/// The level after `level`. The ticks double when half of the remaining distance is crossed.
fn next(level: f64) -> f64 {
    let halves = (100.0 / (100.0 - level)).ln() / 2.0_f64.ln();
    let ticks = f64::from(TICKS) * (halves.trunc() + 1.0).exp2();
    level + 100.0 / ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_get_finer_towards_the_end() {
        let mut levels = vec![0.0];
        while levels.len() < 14 {
            levels.push(next(levels[levels.len() - 1]));
        }
        let expected = [
            0., 10., 20., 30., 40., 50., 55., 60., 65., 70., 75., 77.5, 80., 82.5,
        ];
        assert_eq!(levels, expected);
    }

    #[test]
    fn nothing_has_no_rows_and_one_value_has_three() {
        let mut histogram = SignedHistogram::new();
        assert_eq!(rows(&histogram), []);
        histogram.record(-7);
        let row = |percentile| PercentileRow {
            value_ns: -7,
            percentile,
            count: 1,
        };
        assert_eq!(rows(&histogram), [row(0.0), row(100.0)]);
    }
}
