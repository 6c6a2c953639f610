//! How often a deadline may be missed, given how often it was.

use super::binomial::probability_of_at_most;

/// The confidence of every bound in this crate.
pub const CONFIDENCE: f64 = 0.95;

/// Halvings of a bracket that spans a factor of two at most twice: enough for an `f64`.
const HALVINGS: u32 = 60;

/// One-sided 95 % upper bound of the miss rate after `misses` in `count` samples: the rate at which
/// seeing so few misses would be a 1 in 20 chance. 1 without samples.
///
/// It takes the samples as independent. A [`Verdict`](super::Verdict) does so only where nothing tells how
/// misses are grouped.
///
/// Source: C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in
/// the case of the binomial", Biometrika 26 (1934). It is the rate `p` with
/// `P(X <= misses; count, p) = 0.05`, which is the 95 % quantile of Beta(misses + 1, count - misses).
///
/// ```
/// let bound = kadenz_report::verdict::upper_bound(0, 60_000);
/// assert!((bound * 1e6 - 49.93).abs() < 0.01); // fewer than 50 in a million
/// ```
#[must_use]
pub fn upper_bound(misses: u64, count: u64) -> f64 {
    if misses >= count {
        return 1.0;
    }
    if misses == 0 {
        return -((1.0 - CONFIDENCE).ln() / count as f64).exp_m1();
    }
    let below = |rate: f64| probability_of_at_most(misses, count, rate) > 1.0 - CONFIDENCE;
    let mut low = misses as f64 / count as f64;
    let mut high = (2.0 * low).min(1.0);
    while high < 1.0 && below(high) {
        low = high;
        high = (2.0 * high).min(1.0);
    }
    for _ in 0..HALVINGS {
        let middle = low.midpoint(high);
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `scipy.stats.beta.ppf(0.95, misses + 1, count - misses)`, SciPy 1.17.1, except for 1 in 10^8,
    /// where SciPy is off in the ninth digit: there mpmath 1.3 at 30 digits. R's
    /// `binom.test(misses, count, alternative = "less")$conf.int[2]` is the same quantile.
    const GOLDEN: &[(u64, u64, f64)] = &[
        (0, 1, 0.95),
        (0, 10, 0.258_865_550_893_052_2),
        (0, 60_000, 4.992_762_480_055_318e-5),
        (1, 60_000, 7.906_194_196_241_574e-5),
        (312, 60_000, 0.005_709_501_997_465_4),
        (5, 10, 0.777_558_898_991_870_6),
        (9, 10, 0.994_883_803_108_176_3),
        (10, 10, 1.0),
        (1, 100_000_000, 4.743_864_429_588_649e-8),
        (22_080_000, 184_000_000, 0.120_039_412_037_936_4),
        (0, 184_000_000, 1.628_115_352_808_153e-8),
        (3, 299, 0.025_726_467_406_895_44),
        (59_999, 60_000, 0.999_999_145_112_125_6),
        (50, 1_000, 0.062_863_403_512_379_73),
    ];

    #[test]
    fn the_bound_equals_scipy() {
        for &(misses, count, expected) in GOLDEN {
            let got = upper_bound(misses, count);
            let error = ((got - expected) / expected).abs();
            assert!(
                error < 1e-10,
                "{misses} in {count}: {got}, SciPy says {expected}"
            );
        }
    }

    #[test]
    fn nothing_seen_claims_nothing() {
        assert!((upper_bound(0, 0) - 1.0).abs() < f64::EPSILON);
    }

    proptest! {
        #[test]
        fn the_bound_lies_above_the_rate_and_grows_with_misses(
            count in 1_u64..200_000, share in 0.0_f64..1.0,
        ) {
            let misses = (share * count as f64) as u64;
            let bound = upper_bound(misses, count);
            prop_assert!(bound > misses as f64 / count as f64);
            prop_assert!(bound <= 1.0);
            prop_assert!(bound <= upper_bound(misses + 1, count));
            prop_assert!(bound >= upper_bound(misses, count + 1));
        }
    }
}
