//! Quantiles of cyclictest's microsecond counts and of Kadenz's JSON, and the spread of ratios.
//!
//! cyclictest divides nanoseconds by 1000 and drops the rest, so that a count in bin 7 was anything from 7000 to 7999
//! ns. Its quantile is therefore given twice: the bin's lower end, to be compared with Kadenz's value rounded down in
//! the same way, and the place within the bin that the quantile has if the bin's values are spread evenly.

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// A quantile in nanoseconds, read in both ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantile {
    /// Rounded down to whole microseconds.
    pub(crate) floored_ns: f64,
    /// As exact as possible.
    pub(crate) fine_ns: f64,
}

impl Quantile {
    /// From a value that is exact to the nanosecond.
    pub(crate) fn exact(ns: f64) -> Self {
        Self {
            floored_ns: (ns / 1000.0).floor() * 1000.0,
            fine_ns: ns,
        }
    }

    /// As JSON.
    pub(crate) fn json(self) -> Value {
        json!({ "floored_ns": self.floored_ns, "fine_ns": self.fine_ns })
    }
}

/// Reads `thread."0"` of `cyclictest --json`: bins in microseconds, ascending, and all cycles.
pub(crate) fn cyclictest_bins(report: &Value) -> Result<(Vec<(u64, u64)>, u64)> {
    let thread = &report["thread"]["0"];
    let bins = thread["histogram"].as_object();
    let bins = bins.context("cyclictest's JSON holds no histogram")?.iter();
    let counts = bins.filter_map(|(bin, count)| Some((bin.parse().ok()?, count.as_u64()?)));
    let mut bins: Vec<(u64, u64)> = counts.collect();
    bins.sort_unstable();
    let cycles = thread["cycles"].as_u64();
    Ok((bins, cycles.context("cyclictest's JSON counts no cycles")?))
}

/// The quantile `q` of counted microseconds; `None` beyond the last bin, where cyclictest does not give the values.
/// `cycles` counts those beyond, too.
pub(crate) fn of_bins(bins: &[(u64, u64)], cycles: u64, q: f64) -> Option<Quantile> {
    let rank = (q * cycles as f64).ceil().max(1.0);
    let mut before = 0.0;
    for &(bin, count) in bins {
        let count = count as f64;
        if before + count >= rank {
            let within = (rank - before) / count;
            return Some(Quantile {
                floored_ns: bin as f64 * 1000.0,
                fine_ns: (bin as f64 + within) * 1000.0,
            });
        }
        before += count;
    }
    None
}

/// The percentile `name` of the first series in the JSON that `kadenz --json` prints.
pub(crate) fn of_ours(report: &Value, name: &str) -> Result<Quantile> {
    let value = report["series"][0]["percentiles"][name].as_f64();
    let value = value.with_context(|| format!("the first series carries no percentile {name}"))?;
    Ok(Quantile::exact(value))
}

/// Median, smallest and largest of some ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The middle one; of an even number of ratios the mean of the two in the middle.
    pub(crate) median: f64,
    /// The smallest ratio.
    pub(crate) min: f64,
    /// The largest ratio.
    pub(crate) max: f64,
}

impl Spread {
    /// The spread of these values without those that are not numbers (ratios to zero); `None` without a value.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|it| it.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            (values.get(middle.checked_sub(1)?)? + values[middle]) / 2.0
        };
        Some(Self {
            median,
            min: *values.first()?,
            max: *values.last()?,
        })
    }

    /// The spread of a contestant's value over the rounds.
    pub(crate) fn over<M>(
        rounds: &[Vec<Option<M>>],
        place: usize,
        of: impl Fn(&M) -> f64,
    ) -> Option<Self> {
        let measured = rounds.iter().filter_map(|round| round[place].as_ref());
        Self::of(measured.map(of))
    }

    /// The spread of the ratios of a contestant's value to that of another one, each within a round.
    pub(crate) fn of_ratios<M>(
        rounds: &[Vec<Option<M>>],
        (place, beside): (usize, usize),
        of: impl Fn(&M) -> f64,
    ) -> Option<Self> {
        let ratio =
            |round: &Vec<Option<M>>| Some(of(round[place].as_ref()?) / of(round[beside].as_ref()?));
        Self::of(rounds.iter().filter_map(ratio))
    }

    /// As JSON.
    pub(crate) fn json(self) -> Value {
        json!({ "median": self.median, "min": self.min, "max": self.max })
    }

    /// As a cell of a table.
    pub(crate) fn cell(self) -> String {
        format!("{:.3} ({:.3} to {:.3})", self.median, self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_read_in_the_order_of_numbers() {
        let report = json!({
            "thread": { "0": { "histogram": { "10": 1, "9": 3 }, "cycles": 5, "cpu": 0 } },
        });
        assert_eq!(
            cyclictest_bins(&report).expect("whole"),
            (vec![(9, 3), (10, 1)], 5)
        );
        assert!(cyclictest_bins(&json!({})).is_err());
    }

    #[test]
    fn a_quantile_stands_in_its_bin_and_within_it() {
        let bins = [(4, 10), (5, 80), (9, 10)];
        let half = of_bins(&bins, 100, 0.5).expect("within the bins");
        assert_eq!(half.floored_ns, 5000.0);
        assert_eq!(half.fine_ns, 5500.0);
        let most = of_bins(&bins, 100, 0.99).expect("within the bins");
        assert_eq!((most.floored_ns, most.fine_ns), (9000.0, 9900.0));
    }

    #[test]
    fn what_lies_beyond_the_bins_is_not_guessed() {
        assert_eq!(of_bins(&[(4, 98)], 100, 0.99), None);
        assert!(of_bins(&[(4, 98)], 100, 0.98).is_some());
    }

    #[test]
    fn ours_is_read_from_the_first_series() {
        let report = json!({ "series": [{ "percentiles": { "50": 5321, "99.9": null } }] });
        let half = of_ours(&report, "50").expect("there");
        assert_eq!((half.floored_ns, half.fine_ns), (5000.0, 5321.0));
        assert!(of_ours(&report, "99.9").is_err());
    }

    #[test]
    fn a_spread_ignores_what_is_no_number() {
        let spread = Spread::of([3.0, f64::NAN, 1.0, 2.0, f64::INFINITY]).expect("three numbers");
        assert_eq!((spread.median, spread.min, spread.max), (2.0, 1.0, 3.0));
        assert_eq!(Spread::of([1.0, 2.0]).map(|it| it.median), Some(1.5));
        assert_eq!(Spread::of([]), None);
    }
}
