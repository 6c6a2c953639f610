//! Upper confidence bounds of a miss rate from the observed misses, computed from the lower tail of the binomial
//! distribution, accurate for hundreds of millions of trials.

use std::f64::consts::TAU;

use crate::statistics::bisect;

/// The confidence of every bound in this crate.
pub const CONFIDENCE: f64 = 0.95;

/// One-sided 95 % upper bound of the miss rate after `misses` in `count` samples: the rate at which so few misses have
/// a probability of 1 in 20. 1 without samples.
///
/// It assumes independent samples. A [`Verdict`](super::Verdict) does so only where it is unknown how misses are
/// grouped.
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
    bisect(low, high, below)
}

/// The probability of `successes` or fewer in `trials` of probability `p`, for
/// `0 < successes < trials` and `0 < p < 1`.
///
/// Loader's probability of exactly `successes` is summed downwards term by term; all terms are
/// positive, so nothing cancels. Where `p` is at least `successes / trials`, as in a search for an
/// upper bound, the terms fall from the start and about `10 * sqrt(successes)` of them count.
pub(super) fn probability_of_at_most(successes: u64, trials: u64, p: f64) -> f64 {
    let q = 1.0 - p;
    let mut term = probability_of_exactly(successes, trials, p, q);
    let mut sum = term;
    for number in (1..=successes).rev() {
        term *= number as f64 * q / ((trials - number + 1) as f64 * p);
        let next = sum + term;
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// `C(trials, successes) p^successes q^(trials - successes)`.
///
/// Source: C. Loader, "Fast and Accurate Computation of Binomial Probabilities" (2000), the
/// saddle-point expansion that R's `dbinom` uses as well.
fn probability_of_exactly(successes: u64, trials: u64, p: f64, q: f64) -> f64 {
    let failures = trials - successes;
    let (k, f, n) = (successes as f64, failures as f64, trials as f64);
    let corrections = stirling_error(trials) - stirling_error(successes) - stirling_error(failures);
    let deviances = deviance(k, n * p) + deviance(f, n * q);
    (corrections - deviances).exp() * (n / (TAU * k * f)).sqrt()
}

/// `ln(n!)` less Stirling's approximation of it.
fn stirling_error(n: u64) -> f64 {
    let z = n as f64;
    if n <= 15 {
        let ln_factorial: f64 = (2..=n).map(|factor| (factor as f64).ln()).sum();
        return ln_factorial - ((z + 0.5) * z.ln() - z + 0.5 * TAU.ln());
    }
    let z2 = z * z;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0) / z2) / z2) / z2) / z
}

/// `x ln(x / m) + m - x`, without cancellation where `x` is near `m`.
fn deviance(x: f64, m: f64) -> f64 {
    if (x - m).abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() + m - x;
    }
    let v = (x - m) / (x + m);
    let mut sum = (x - m) * v;
    let mut power = 2.0 * x * v;
    for odd in (3..1000).step_by(2) {
        power *= v * v;
        let next = sum + power / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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

    /// `1 - betainc(k + 1, n - k, 0, p, regularized=True)` of mpmath 1.3 at 40 digits; SciPy
    /// 1.17.1 `binom.cdf` agrees to 9 digits.
    const TAILS: &[(u64, u64, f64, f64)] = &[
        (2, 7, 0.2, 0.851968),
        (312, 60_000, 0.0057, 0.05322031959815099),
        (312, 60_000, 0.0052, 0.5150509924308764),
        (15, 31, 0.5, 0.5),
        (1, 184_000_000, 2e-08, 0.11804351974127268),
        (59_999, 60_000, 0.9999, 0.9975219913870162),
        (999, 1_000, 0.999, 0.6323045752290363),
        (14, 214, 0.08, 0.26112088669120176),
        (1_000, 100_000_000, 1.2e-05, 1.552829027456657e-09),
    ];

    #[test]
    fn the_tail_equals_forty_digit_arithmetic() {
        for &(successes, trials, p, expected) in TAILS {
            let got = probability_of_at_most(successes, trials, p);
            let error = ((got - expected) / expected).abs();
            assert!(
                error < 1e-9,
                "P(X <= {successes}; {trials}, {p}) = {got}, not {expected}"
            );
        }
    }
}
