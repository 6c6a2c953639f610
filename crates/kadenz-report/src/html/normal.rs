//! The Gaussian that a mean and a standard deviation claim.

/// Complementary error function; W. J. Press et al., Numerical Recipes in C (1992), 6.2 `erfcc`:
/// relative error below 1.2e-7 everywhere, so that far tails stay meaningful.
fn erfc(x: f64) -> f64 {
    const POLYNOMIAL: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let t = 1.0 / (1.0 + 0.5 * x.abs());
    let sum = POLYNOMIAL
        .iter()
        .rev()
        .fold(0.0, |sum, factor| sum * t + factor);
    let tail = t * (-x * x + sum).exp();
    if x >= 0.0 { tail } else { 2.0 - tail }
}

/// Share of a Gaussian that lies more than `z` standard deviations above its mean.
fn beyond(z: f64) -> f64 {
    0.5 * erfc(z / std::f64::consts::SQRT_2)
}

/// How many standard deviations above the mean the largest of `count` Gaussian samples is expected:
/// the point that one in `count` exceeds. Found by bisection.
pub(super) fn expected_largest(count: u64) -> f64 {
    let share = 1.0 / count.max(2) as f64;
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if beyond(middle) > share {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the standard normal table.
    #[test]
    fn tails_agree_with_the_table() {
        for (z, share) in [
            (0.0, 0.5),
            (1.0, 0.158_655_25),
            (3.0, 1.349_898e-3),
            (6.0, 9.865_876e-10),
        ] {
            assert!((beyond(z) / share - 1.0).abs() < 1e-6, "{z}");
        }
        assert!((beyond(-1.0) - 0.841_344_75).abs() < 1e-7);
    }

    #[test]
    fn the_largest_of_a_million_is_near_four_and_three_quarters() {
        assert!((expected_largest(1_000_000) - 4.753_424).abs() < 1e-4);
    }
}
