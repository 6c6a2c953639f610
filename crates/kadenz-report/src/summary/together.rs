//! Parts of one measurement, taken together.

use kadenz_record::histogram::SignedHistogram;
use kadenz_record::recorder::Counts;
use kadenz_record::run::model::Series;

use super::SeriesSummary;

impl SeriesSummary {
    /// Series that were taken in turns, as one: their values in one histogram of the standard layout, exact
    /// extremes and counts. Its name, kind, interval and deadline are the first one's; it has no intervals and no
    /// samples. Nothing of nothing.
    ///
    /// ```
    /// use kadenz_record::histogram::SignedHistogram;
    /// use kadenz_record::run::model::Series;
    /// use kadenz_report::statistics::Percent;
    /// use kadenz_report::summary::SeriesSummary;
    ///
    /// let round = |value_ns: i64| {
    ///     let mut histogram = SignedHistogram::new();
    ///     (0..100).for_each(|_| histogram.record(value_ns));
    ///     SeriesSummary::new(Series::default(), &histogram, Vec::new(), 0)
    /// };
    /// let (first, second) = (round(1000), round(2000));
    /// let both = SeriesSummary::together([&first, &second]).expect("two are something");
    /// assert_eq!((both.count, both.percentile(Percent::P90)), (200, Some(2000)));
    /// assert!(SeriesSummary::together([]).is_none());
    /// ```
    #[must_use]
    pub fn together<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let first = parts.next()?;
        let mut histogram = SignedHistogram::new();
        first.add_to(&mut histogram);
        let mut counts = first.exact_counts();
        for part in parts {
            part.add_to(&mut histogram);
            counts = sum(counts, part.exact_counts());
        }
        let series = Series {
            counts,
            ..first.series.clone()
        };
        Some(Self::new(series, &histogram, Vec::new(), 0))
    }

    /// Adds all values by the rule of [`Histogram::add`](kadenz_record::histogram::Histogram::add).
    fn add_to(&self, sum: &mut SignedHistogram) {
        for bucket in &self.distribution {
            let early = bucket.high_ns < 0;
            let nearest_to_zero = if early { bucket.high_ns } else { bucket.low_ns };
            sum.record_n(nearest_to_zero, bucket.count);
        }
    }

    /// The counts with the extremes that this summary gives.
    fn exact_counts(&self) -> Counts {
        Counts {
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            ..self.series.counts
        }
    }
}

/// A run of misses does not go on from one part to the next: time lies between them.
fn sum(a: Counts, b: Counts) -> Counts {
    Counts {
        recorded: a.recorded + b.recorded,
        dropped: a.dropped + b.dropped,
        early: a.early + b.early,
        saturated: a.saturated + b.saturated,
        misses: a.misses + b.misses,
        longest_miss_run: a.longest_miss_run.max(b.longest_miss_run),
        min_ns: [a.min_ns, b.min_ns].into_iter().flatten().min(),
        max_ns: a.max_ns.max(b.max_ns),
    }
}
