//! A histogram of fixed size.

use std::sync::atomic::{AtomicU64, Ordering};

/// Pieces of each octave: a value is known to a 64th of it.
const PIECES: u64 = 64;
const PIECE_BITS: u32 = PIECES.ilog2();
/// Values from 2^37 ns on (137 s) count as the largest below.
const OCTAVES: u32 = 37;
const BUCKETS: usize = ((OCTAVES - PIECE_BITS + 1) as usize) * PIECES as usize;
const GREATEST: u64 = (1 << OCTAVES) - 1;

/// A histogram of nanoseconds, in buckets that are as wide as a 64th of their values; below 128 ns, exact.
///
/// One thread records, any number read.
#[derive(Debug)]
pub(crate) struct Histogram {
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
    least: AtomicU64,
    greatest: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
            least: AtomicU64::new(u64::MAX),
            greatest: AtomicU64::new(0),
        }
    }
}

fn bucket(ns: u64) -> usize {
    let ns = ns.min(GREATEST);
    let shift = (ns | PIECES).ilog2() - PIECE_BITS;
    // Each octave begins with its leading bit, where the octave before ends.
    (u64::from(shift) * PIECES + (ns >> shift)) as usize
}

/// The largest value of a bucket.
fn top(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / PIECES).saturating_sub(1);
    let piece = bucket - shift * PIECES;
    ((piece + 1) << shift) - 1
}

impl Histogram {
    /// Counts a value.
    ///
    /// # Real-time safety
    /// Real-time safe.
    pub(crate) fn record(&self, ns: u64) {
        self.buckets[bucket(ns)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(ns, Ordering::Relaxed);
        // One thread writes, so nothing comes between reading and writing.
        if ns < self.least.load(Ordering::Relaxed) {
            self.least.store(ns, Ordering::Relaxed);
        }
        if ns > self.greatest.load(Ordering::Relaxed) {
            self.greatest.store(ns, Ordering::Relaxed);
        }
    }

    /// The number of values.
    #[must_use]
    pub(crate) fn count(&self) -> u64 {
        let counts = self.buckets.iter().map(|it| it.load(Ordering::Relaxed));
        counts.sum()
    }

    /// Sum of all values in ns.
    #[must_use]
    pub(crate) fn sum(&self) -> u64 {
        self.sum.load(Ordering::Relaxed)
    }

    /// The smallest value in ns, exactly; `None` without any.
    #[must_use]
    pub(crate) fn least(&self) -> Option<u64> {
        Some(self.least.load(Ordering::Relaxed)).filter(|it| *it != u64::MAX)
    }

    /// The largest value in ns, exactly; `None` without any.
    #[must_use]
    pub(crate) fn greatest(&self) -> Option<u64> {
        self.least().map(|_| self.greatest.load(Ordering::Relaxed))
    }

    /// The value in ns that `per_mille` thousandths of all values do not exceed: never below the true one,
    /// nor more than a 64th above it. `None` where no value lies beyond it, as then it would be the
    /// maximum under another name.
    #[must_use]
    pub(crate) fn percentile(&self, per_mille: u64) -> Option<u64> {
        let count = self.count();
        let beyond = u128::from(count) * u128::from(1000_u64.saturating_sub(per_mille));
        if beyond < 1000 {
            return None;
        }
        let rank = (u128::from(count) * u128::from(per_mille)).div_ceil(1000);
        let mut seen = 0;
        let found = self.buckets.iter().position(|it| {
            seen += u128::from(it.load(Ordering::Relaxed));
            seen >= rank
        })?;
        self.greatest().map(|it| it.min(top(found)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_values_are_exact_and_percentiles_need_values_beyond() {
        let histogram = Histogram::default();
        assert_eq!((histogram.least(), histogram.percentile(500)), (None, None));
        (1..=100).for_each(|ns| histogram.record(ns));
        assert_eq!(histogram.percentile(500), Some(50));
        assert_eq!(histogram.percentile(990), Some(99));
        assert_eq!(histogram.percentile(999), None);
        assert_eq!(
            (histogram.least(), histogram.greatest()),
            (Some(1), Some(100))
        );
        assert_eq!(histogram.sum(), 5050);
    }

    #[test]
    fn what_is_beyond_all_measure_is_still_counted() {
        let histogram = Histogram::default();
        for ns in [u64::MAX, 1 << 40, 5] {
            histogram.record(ns);
        }
        assert_eq!(histogram.count(), 3);
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    proptest! {
        #[test]
        fn a_bucket_is_as_wide_as_a_64th_and_holds_its_values(ns in 0..GREATEST) {
            let at = bucket(ns);
            prop_assert!(at < BUCKETS);
            prop_assert!(ns <= top(at) && top(at) - ns <= ns / 64, "{ns} {}", top(at));
            prop_assert!(at == 0 || top(at - 1) < ns);
        }

        #[test]
        fn percentiles_are_those_of_the_values_within_a_64th(
            mut values in prop::collection::vec(0_u64..10_000_000_000, 1..3000), per_mille in 1_u64..1000
        ) {
            let histogram = Histogram::default();
            values.iter().for_each(|ns| histogram.record(*ns));
            values.sort_unstable();
            let rank = (values.len() * per_mille as usize).div_ceil(1000);
            match histogram.percentile(per_mille) {
                Some(found) => {
                    let exact = values[rank - 1];
                    prop_assert!(found >= exact && found - exact <= exact / 64, "{found} {exact}");
                    prop_assert!(rank < values.len());
                }
                None => prop_assert!(values.len() as u64 * (1000 - per_mille) < 1000),
            }
        }
    }
}
