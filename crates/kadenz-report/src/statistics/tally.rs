//! Counts of raw values, for millions of them a second.

use kadenz_record::histogram::{Histogram, Layout, SignedHistogram};

const LAYOUT: Layout = Layout::STANDARD;

/// Counts values as a [`SignedHistogram`] does and becomes one at the end. It is faster, for it
/// keeps neither totals nor ranges on the way and does not branch on the sign, which no branch
/// predictor guesses in jitter.
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

    /// All that were taken.
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
    use super::*;
    use proptest::prelude::*;

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
