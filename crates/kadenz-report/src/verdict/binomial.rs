//! The lower tail of the binomial distribution, accurate for hundreds of millions of trials: what
//! confidence bounds of a miss rate are made of.

use std::f64::consts::TAU;

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
    use super::*;

    /// `1 - betainc(k + 1, n - k, 0, p, regularized=True)` of mpmath 1.3 at 40 digits; SciPy
    /// 1.17.1 `binom.cdf` agrees to 9 digits.
    const GOLDEN: &[(u64, u64, f64, f64)] = &[
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
        for &(successes, trials, p, expected) in GOLDEN {
            let got = probability_of_at_most(successes, trials, p);
            let error = ((got - expected) / expected).abs();
            assert!(
                error < 1e-9,
                "P(X <= {successes}; {trials}, {p}) = {got}, not {expected}"
            );
        }
    }
}
