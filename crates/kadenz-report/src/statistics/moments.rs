//! Running figures of raw values at millions per second: counts, mean and standard deviation, and the highest and
//! lowest with their places.

use kadenz_record::histogram::{Histogram, Layout, SignedHistogram};

use super::Extreme;

/// Sums of values and of their squares in whole numbers, so that neither the order of the values
/// nor their number costs a digit.
///
/// ```
/// use kadenz_report::statistics::Moments;
///
/// let mut moments = Moments::default();
/// moments.extend(&[1, 2, 3, 4]);
/// assert_eq!(moments.mean(), Some(2.5));
/// assert_eq!(moments.stddev(), Some(1.25_f64.sqrt()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    count: u64,
    sum: i128,
    squares: u128,
}

impl Moments {
    /// Takes values in nanoseconds. Exact for at least 10^12 values below an hour; beyond that, the sum of squares
    /// saturates.
    pub fn extend(&mut self, values: &[i64]) {
        self.count += values.len() as u64;
        for &value in values {
            self.sum += i128::from(value);
            let magnitude = u128::from(value.unsigned_abs());
            self.squares = self.squares.saturating_add(magnitude * magnitude);
        }
    }

    /// How many values were taken.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean; absent without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| {
            let count = i128::from(self.count);
            let whole = self.sum.div_euclid(count);
            whole as f64 + self.sum.rem_euclid(count) as f64 / self.count as f64
        })
    }

    /// The standard deviation (divided by n, as HdrHistogram does it); absent without values.
    #[must_use]
    pub fn stddev(&self) -> Option<f64> {
        (self.count > 0).then(|| {
            let count = i128::from(self.count);
            let centre = self.sum.div_euclid(count);
            let rest = self.sum.rem_euclid(count);
            // sum((x - c)^2) with c whole: nothing is rounded before the last division, unless the values
            // are so large that whole numbers do not hold it.
            let removed = centre.checked_mul(self.sum + rest);
            let squares = i128::try_from(self.squares).ok();
            let exact = squares.zip(removed).and_then(|(of, by)| of.checked_sub(by));
            let about_centre = exact.map_or_else(
                || self.squares as f64 - centre as f64 * (self.sum + rest) as f64,
                |it| it as f64,
            );
            let fraction = rest as f64 / self.count as f64;
            (about_centre / self.count as f64 - fraction * fraction)
                .max(0.0)
                .sqrt()
        })
    }
}

/// How many extremes are kept at either end, as Sticha's test suites list them.
pub(crate) const EXTREMES: usize = 10;

/// Keeps the ten highest and the ten lowest values of a stream, in constant memory.
///
/// ```
/// use kadenz_report::statistics::Extremes;
///
/// let mut extremes = Extremes::default();
/// extremes.extend(0, &[30, -5, 70]);
/// let highest = extremes.highest();
/// assert_eq!((highest[0].index, highest[0].value_ns), (2, 70));
/// assert_eq!(extremes.lowest()[0].value_ns, -5);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extremes {
    /// Descending.
    highest: Vec<Extreme>,
    /// Ascending.
    lowest: Vec<Extreme>,
}

impl Extremes {
    /// Takes values whose first has the index `first`. Of equal values the earliest are kept.
    pub fn extend(&mut self, first: u64, values: &[i64]) {
        let (mut ceiling, mut floor) = self.gates();
        for (offset, &value_ns) in values.iter().enumerate() {
            if value_ns > ceiling || value_ns < floor {
                self.insert(Extreme {
                    index: first + offset as u64,
                    value_ns,
                });
                (ceiling, floor) = self.gates();
            }
        }
    }

    /// The ten highest, highest first.
    #[must_use]
    pub fn highest(&self) -> &[Extreme] {
        &self.highest
    }

    /// The ten lowest, lowest first.
    #[must_use]
    pub fn lowest(&self) -> &[Extreme] {
        &self.lowest
    }

    /// A value must be above the first or below the second to be kept. Until ten are kept, the
    /// gates overlap and let everything through.
    fn gates(&self) -> (i64, i64) {
        let full = self.highest.len() == EXTREMES;
        match (self.highest.last(), self.lowest.last()) {
            (Some(high), Some(low)) if full => (high.value_ns, low.value_ns),
            _ => (i64::MIN, i64::MAX),
        }
    }

    fn insert(&mut self, new: Extreme) {
        let at = self
            .highest
            .partition_point(|kept| kept.value_ns >= new.value_ns);
        self.highest.insert(at, new);
        self.highest.truncate(EXTREMES);
        let at = self
            .lowest
            .partition_point(|kept| kept.value_ns <= new.value_ns);
        self.lowest.insert(at, new);
        self.lowest.truncate(EXTREMES);
    }
}

const LAYOUT: Layout = Layout::STANDARD;

/// Counts values as a [`SignedHistogram`] does and becomes one at the end. It is faster, because it keeps neither
/// totals nor ranges on the way and does not branch on the sign, which no branch predictor can predict in jitter.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    /// Late values by the layout's index, then early ones by that of their magnitude.
    counts: Vec<u64>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            counts: vec![0; 2 * LAYOUT.len()],
        }
    }
}

impl Tally {
    /// Takes values.
    pub(super) fn extend(&mut self, values: &[i64]) {
        for &value in values {
            let side = usize::from(value < 0) * LAYOUT.len();
            self.counts[side + LAYOUT.index_of(value.unsigned_abs())] += 1;
        }
    }

    /// How many were taken.
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The histogram of all values taken.
    pub(super) fn histogram(&self) -> SignedHistogram {
        let (late, early) = self.counts.split_at(LAYOUT.len());
        SignedHistogram {
            late: side(late),
            early: side(early),
        }
    }
}

fn side(counts: &[u64]) -> Histogram {
    let mut histogram = Histogram::with_layout(LAYOUT);
    let mut low = 0;
    for &count in counts {
        histogram.record_n(low, count);
        low = LAYOUT.highest_equivalent(low) + 1;
    }
    histogram
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_has_no_mean() {
        assert_eq!(Moments::default().mean(), None);
        assert_eq!(Moments::default().stddev(), None);
    }

    /// A small spread on a large offset is where sums of squares in `f64` fail.
    #[test]
    fn a_large_offset_costs_no_digit() {
        let mut moments = Moments::default();
        for _ in 0..1000 {
            moments.extend(&[3_600_000_000_000, 3_600_000_000_002]);
        }
        assert_eq!(moments.mean(), Some(3_600_000_000_001.0));
        assert_eq!(moments.stddev(), Some(1.0));
    }

    /// A damaged file may hold any values.
    #[test]
    fn values_beyond_whole_numbers_have_a_spread_without_a_panic() {
        for values in [[i64::MIN, i64::MAX], [i64::MIN; 2], [i64::MAX, -1]] {
            let mut moments = Moments::default();
            moments.extend(&values);
            let half = (values[0] as f64 - values[1] as f64).abs() / 2.0;
            let stddev = moments.stddev().unwrap();
            assert!(
                (stddev - half).abs() <= 1e-3 * i64::MAX as f64,
                "{stddev} for {values:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn moments_equal_the_two_pass_formula(
            values in prop::collection::vec(-1_000_000_000_i64..1_000_000_000, 1..500),
        ) {
            let mut moments = Moments::default();
            values.chunks(7).for_each(|chunk| moments.extend(chunk));
            let n = values.len() as f64;
            let mean = values.iter().map(|&v| v as f64).sum::<f64>() / n;
            let variance = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / n;
            prop_assert!((moments.mean().unwrap() - mean).abs() <= 1e-6);
            let stddev = moments.stddev().unwrap();
            prop_assert!((stddev - variance.sqrt()).abs() <= 1e-9 * variance.sqrt() + 1e-6);
        }
    }

    proptest! {
        #[test]
        fn extremes_equal_a_sort(values in prop::collection::vec(-50_i64..50, 0..200)) {
            let mut extremes = Extremes::default();
            let mut first = 0;
            for chunk in values.chunks(13) {
                extremes.extend(first, chunk);
                first += chunk.len() as u64;
            }
            let mut sorted: Vec<Extreme> = values
                .iter()
                .enumerate()
                .map(|(index, &value_ns)| Extreme { index: index as u64, value_ns })
                .collect();
            sorted.sort_by_key(|extreme| (extreme.value_ns, extreme.index));
            let lowest: Vec<Extreme> = sorted.iter().copied().take(EXTREMES).collect();
            sorted.sort_by_key(|extreme| (-extreme.value_ns, extreme.index));
            let highest: Vec<Extreme> = sorted.into_iter().take(EXTREMES).collect();
            prop_assert_eq!(extremes.lowest(), lowest);
            prop_assert_eq!(extremes.highest(), highest);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_tally_is_the_histogram_of_its_values(
            values in prop::collection::vec(
                prop_oneof![any::<i64>(), -10_000_000_i64..10_000_000], 0..200),
        ) {
            let mut tally = Tally::default();
            let mut histogram = SignedHistogram::new();
            tally.extend(&values);
            values.iter().for_each(|&value| histogram.record(value));
            prop_assert_eq!(tally.count(), histogram.count());
            prop_assert_eq!(tally.histogram(), histogram);
        }
    }
}
