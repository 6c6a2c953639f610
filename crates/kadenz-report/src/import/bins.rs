//! Histograms with bins of a fixed width, as most of the programs write them.

use kadenz_record::histogram::SignedHistogram;
use kadenz_record::run::model::Series;

use super::{ReadError, Sink};

/// The bins of one series.
pub(super) struct Bins {
    histogram: SignedHistogram,
    min_ns: Option<i64>,
    max_ns: Option<i64>,
}

/// Values that the program counted but that are in no bin.
pub(super) struct Overflow {
    /// Their number.
    pub(super) count: u64,
    /// The smallest that any of them can have been.
    pub(super) limit_ns: i64,
    /// The largest, if the program reports it.
    pub(super) max_ns: Option<i64>,
}

impl Bins {
    pub(super) fn new() -> Self {
        Self {
            histogram: SignedHistogram::new(),
            min_ns: None,
            max_ns: None,
        }
    }

    /// Adds a bin whose values are all placed at `value_ns`.
    pub(super) fn add(&mut self, value_ns: i64, count: u64) {
        if count == 0 {
            return;
        }
        self.histogram.record_n(value_ns, count);
        self.min_ns = Some(self.min_ns.unwrap_or(value_ns).min(value_ns));
        self.max_ns = self.max_ns.max(Some(value_ns));
    }

    /// Bins in JSON, each under its number; `wrong` makes the error of a field.
    pub(super) fn of_json<'a>(
        histogram: impl IntoIterator<Item = (&'a String, &'a u64)>,
        width_ns: i64,
        wrong: impl Fn(&str, String) -> ReadError,
    ) -> Result<Self, ReadError> {
        let mut bins = Self::new();
        for (bin, &count) in histogram {
            let wrong = |cause| wrong(&format!("histogram.{bin}"), cause);
            let number = bin.parse();
            let number = number.map_err(|_| wrong("it is not a whole number".to_owned()))?;
            bins.add(scaled(number, width_ns).map_err(wrong)?, count);
        }
        Ok(bins)
    }

    /// Number of these values that are in no bin.
    pub(super) fn missing(&self, of: u64) -> Result<u64, String> {
        let there = self.count();
        let missing = of.checked_sub(there);
        missing.ok_or_else(|| format!("{of} is below the {there} values in the bins"))
    }

    pub(super) fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// The value of the highest bin.
    pub(super) fn max_ns(&self) -> Option<i64> {
        self.max_ns
    }

    /// Places values that are in no bin: one at the maximum that the program reports, the others at the smallest value
    /// they can have had. So the count and every percentile below them are right, and those among them are never too
    /// high.
    fn add_overflow(&mut self, overflow: &Overflow) {
        let max_ns = overflow
            .max_ns
            .filter(|&max_ns| max_ns >= overflow.limit_ns);
        let at_max = u64::from(max_ns.is_some()).min(overflow.count);
        self.add(overflow.limit_ns, overflow.count - at_max);
        self.add(max_ns.unwrap_or(overflow.limit_ns), at_max);
    }

    /// Writes the bins as a series of one interval.
    pub(super) fn store(
        mut self,
        sink: &mut dyn Sink,
        series: Series,
        length_s: f64,
        overflow: Option<Overflow>,
    ) -> Result<(), ReadError> {
        let name = series.name.clone();
        let index = sink.open(series, false)?;
        let overflow = overflow.filter(|it| it.count > 0);
        if let Some(overflow) = &overflow {
            self.add_overflow(overflow);
            let total = self.count();
            let share = 100.0 * overflow.count as f64 / total as f64;
            let us = overflow.limit_ns as f64 / 1e3;
            let text = format!(
                "{name}: {} of {total} values ({share:.3} %) were beyond the program's histogram: \
                 the largest stands at the maximum it reported, the others at {us} us, the least \
                 they can have been, so percentiles above {:.3} are too low",
                overflow.count,
                100.0 - share
            );
            sink.warn(
                "overflow",
                text,
                Some("measure again with a larger histogram"),
            );
        }
        sink.interval(index, 0.0, length_s, &self.histogram)?;
        let counts = sink.counts(index);
        (counts.min_ns, counts.max_ns) = (self.min_ns, self.max_ns);
        counts.saturated = overflow.map_or(0, |overflow| overflow.count);
        Ok(())
    }
}

/// Warns of the bins: their `width`, and where in it their values are placed.
pub(super) fn warn_of_bins(sink: &mut dyn Sink, width: &str, place: &str) {
    let text = format!(
        "values are {width} bins: each is placed at {place}, so it was up to one bin further from \
         zero; the order of the values and their times are not known"
    );
    sink.warn("bins", text, None);
}

/// Converts a number of bins of `width_ns` to nanoseconds.
pub(super) fn scaled(bins: i64, width_ns: i64) -> Result<i64, String> {
    let scaled = bins.checked_mul(width_ns);
    scaled.ok_or_else(|| format!("{bins} times {width_ns} ns is more than any latency"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{Collected, source::series};
    use kadenz_record::run::model::Kind;

    #[test]
    fn what_overflowed_is_counted_where_it_is_certain() {
        let mut bins = Bins::new();
        bins.add(10_000, 90);
        bins.add(-3_000, 1);
        let overflow = Overflow {
            count: 9,
            limit_ns: 60_000,
            max_ns: Some(1_145_000),
        };
        let mut sink = Collected::default();
        bins.store(
            &mut sink,
            series("t", "", Kind::Lateness),
            1.0,
            Some(overflow),
        )
        .unwrap();
        let counts = sink.run.series[0].counts;
        assert_eq!(
            (counts.recorded, counts.saturated, counts.early),
            (100, 9, 1)
        );
        assert_eq!(
            (counts.min_ns, counts.max_ns),
            (Some(-3_000), Some(1_145_000))
        );
        assert_eq!(sink.histograms[0].value_at_quantile(0.99), 60_031);
        assert!(
            sink.run.warnings[0]
                .text
                .contains("9 of 100 values (9.000 %)")
        );
    }

    #[test]
    fn an_overflow_without_a_maximum_stands_at_the_limit() {
        let overflow = Overflow {
            count: 2,
            limit_ns: 50_000,
            max_ns: None,
        };
        let mut sink = Collected::default();
        let bins = Bins::new();
        bins.store(
            &mut sink,
            series("t", "", Kind::Lateness),
            1.0,
            Some(overflow),
        )
        .unwrap();
        assert_eq!(sink.run.series[0].counts.max_ns, Some(50_000));
    }
}
