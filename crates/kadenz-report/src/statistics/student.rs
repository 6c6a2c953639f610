//! Quantiles of Student's t distribution.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// Halvings of an angle below a right one: enough for an `f64`.
const HALVINGS: u32 = 60;

/// The value that the absolute of a t-distributed number with `degrees` (at least 1) of freedom
/// stays below with probability `confidence`.
///
/// Source: M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions" (1964), 26.7.3 and
/// 26.7.4.
pub(crate) fn two_sided(confidence: f64, degrees: u32) -> f64 {
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if within(middle, degrees) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::from(degrees).sqrt() * high.tan()
}

/// The probability of staying within `sqrt(degrees) * tan(angle)` of zero.
fn within(angle: f64, degrees: u32) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    let odd = degrees % 2;
    let mut term = if odd == 1 { cosine } else { 1.0 };
    let mut sum = 0.0;
    for exponent in (odd..degrees.saturating_sub(1)).step_by(2) {
        sum += term;
        let next = f64::from(exponent + 1);
        term *= cosine * cosine * next / (next + 1.0);
    }
    if odd == 1 {
        FRAC_2_PI * (angle + sine * sum)
    } else {
        sine * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published tables of the t distribution.
    #[test]
    fn the_quantiles_are_those_of_the_tables() {
        for (confidence, degrees, expected) in [
            (0.95, 1, 12.706),
            (0.95, 2, 4.303),
            (0.95, 3, 3.182),
            (0.90, 5, 2.015),
            (0.99, 9, 3.250),
            (0.99, 10, 3.169),
            (0.95, 120, 1.980),
        ] {
            let got = two_sided(confidence, degrees);
            assert!((got - expected).abs() < 6e-4, "{degrees}: {got}");
        }
    }
}
