//! Percentile distributions as HdrHistogram prints them, for its plotters.
//!
//! Source of the form: `outputPercentileDistribution` of HdrHistogram 2.2.2. For a series without
//! values below zero the output is equal to Java's, given the same interval log.
//!
//! Numbers are as Java prints them. Rows become finer towards 100 %: each half of the distance to it is cut into equal
//! ticks, 0, 10, 20, ... 50, 55, ... 75, 77.5 and so on, as `PercentileIterator` of HdrHistogram 2.2.2 does.

use std::io::Write;

use kadenz_record::histogram::{Layout, SignedBucket, SignedHistogram};

use super::{ExportError, SeriesReader};

/// Unit of the values in a percentile distribution, which does not say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    /// What HdrHistogram's tools and jHiccup write.
    #[default]
    Milliseconds,
    /// For latencies below a millisecond.
    Microseconds,
    /// As run folders have them.
    Nanoseconds,
}

impl Unit {
    fn in_ns(self) -> f64 {
        match self {
            Self::Milliseconds => 1e6,
            Self::Microseconds => 1e3,
            Self::Nanoseconds => 1.0,
        }
    }
}

pub(super) fn write(
    series: &SeriesReader<'_>,
    unit: Unit,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    Ok(write_distribution(
        &series.distribution()?,
        unit.in_ns(),
        out,
    )?)
}

fn write_distribution(
    histogram: &SignedHistogram,
    unit_ns: f64,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let layout = histogram.late.layout();
    let digits = usize::from(layout.digits());
    let value = |ns: f64| fixed(ns / unit_ns, digits);
    writeln!(
        out,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )?;
    for row in rows(histogram) {
        let (quantile, count) = (row.percentile / 100.0, row.count);
        let value = value(row.value_ns as f64);
        write!(out, "{value:>12} {} {count:>10}", fixed(quantile, 12))?;
        if row.percentile == 100.0 {
            writeln!(out)?;
        } else {
            writeln!(out, " {:>14}", fixed(1.0 / (1.0 - quantile), 2))?;
        }
    }
    let (mean, deviation) = (value(histogram.mean()), value(histogram.stddev()));
    writeln!(
        out,
        "#[Mean    = {mean:>12}, StdDeviation   = {deviation:>12}]"
    )?;
    let (max, count) = (value(histogram.max() as f64), histogram.count());
    writeln!(out, "#[Max     = {max:>12}, Total count    = {count:>12}]")?;
    let (buckets, sub_buckets) = buckets(layout);
    writeln!(
        out,
        "#[Buckets = {buckets:>12}, SubBuckets     = {sub_buckets:>12}]"
    )
}

/// How many buckets a layout has, and of how many sub-buckets each.
fn buckets(layout: &Layout) -> (usize, usize) {
    let sub_buckets = (2 * 10_usize.pow(u32::from(layout.digits()))).next_power_of_two();
    (layout.len() / (sub_buckets / 2) - 1, sub_buckets)
}

/// `%.<decimals>f` as Java prints it: the shortest decimal form that stands for `value` is rounded,
/// halves away from zero. Rust rounds the exact binary value instead, which differs in the last
/// digit for about one value in a thousand.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    let shortest = format!("{}", value.abs());
    let (whole, fraction) = shortest.split_once('.').unwrap_or((&shortest, ""));
    let round_up = fraction
        .as_bytes()
        .get(decimals)
        .is_some_and(|&digit| digit >= b'5');
    let kept = fraction
        .bytes()
        .chain(std::iter::repeat(b'0'))
        .take(decimals);
    let mut digits: Vec<u8> = whole.bytes().chain(kept).collect();
    if round_up {
        increment(&mut digits);
    }
    let point = digits.len() - decimals;
    let digits = String::from_utf8_lossy(&digits);
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if decimals == 0 {
        return format!("{sign}{digits}");
    }
    format!("{sign}{}.{}", &digits[..point], &digits[point..])
}

fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit != b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    digits.insert(0, b'1');
}

/// Ticks in each half of the distance to 100 %, the default of HdrHistogram's tools.
const TICKS: u32 = 5;

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

    #[test]
    fn the_form_is_that_of_hdrhistogram() {
        let mut histogram = SignedHistogram::new();
        for value_ns in [50_000, 60_000, 70_000, 2_000_000] {
            histogram.record(value_ns);
        }
        let mut text = Vec::new();
        write_distribution(&histogram, 1e6, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let expected = "\x20      Value     Percentile TotalCount 1/(1-Percentile)

       0.050 0.000000000000          1           1.00
       0.050 0.100000000000          1           1.11
       0.050 0.200000000000          1           1.25
       0.060 0.300000000000          2           1.43
       0.060 0.400000000000          2           1.67
       0.060 0.500000000000          2           2.00
       0.070 0.550000000000          3           2.22
       0.070 0.600000000000          3           2.50
       0.070 0.650000000000          3           2.86
       0.070 0.700000000000          3           3.33
       0.070 0.750000000000          3           4.00
       2.001 0.775000000000          4           4.44
       2.001 1.000000000000          4
#[Mean    =        0.545, StdDeviation   =        0.840]
#[Max     =        2.001, Total count    =            4]
#[Buckets =           32, SubBuckets     =         2048]
";
        assert_eq!(text, expected);
    }

    /// The right column was printed by Java 17.
    #[test]
    fn numbers_look_as_in_java() {
        let cases = [
            (0.0, 3, "0.000"),
            (0.125, 2, "0.13"),
            (1.0005, 3, "1.001"),
            (2.675, 2, "2.68"),
            (0.0005, 3, "0.001"),
            (999.9996, 3, "1000.000"),
            (-1.25, 1, "-1.3"),
            (1e15, 2, "1000000000000000.00"),
            (12.0, 0, "12"),
            (9.5, 0, "10"),
            (1e-7, 3, "0.000"),
        ];
        for (value, decimals, expected) in cases {
            assert_eq!(fixed(value, decimals), expected, "{value}");
        }
    }
}
