//! Quantiles of Student's t distribution, and with them the ratio of two figures measured side by side.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::bisect;

/// The value that the magnitude of a t-distributed number with `degrees` (at least 1) of freedom
/// stays below with probability `confidence`.
///
/// Source: M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions" (1964), 26.7.3 and
/// 26.7.4.
pub(crate) fn two_sided(confidence: f64, degrees: u32) -> f64 {
    let angle = bisect(0.0, FRAC_PI_2, |it| within(it, degrees) < confidence);
    f64::from(degrees).sqrt() * angle.tan()
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

/// The geometric mean of the ratios of some rounds, and its 95 % confidence interval: Student's t on their logarithms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RatioInterval {
    /// The geometric mean of the ratios.
    pub mean: f64,
    /// Its bounds; absent for one round.
    pub interval: Option<(f64, f64)>,
}

/// The confidence of an interval.
const CONFIDENCE: f64 = 0.95;

impl RatioInterval {
    /// From one ratio per round; `None` where there is none, or one that is not a positive number. One ratio, and two
    /// equal ones, have no interval: percentiles are values of a histogram, so that two are often equal by chance.
    ///
    /// ```
    /// use kadenz_report::statistics::RatioInterval;
    ///
    /// let ratio = RatioInterval::of(&[0.5, 0.5, 0.5]).unwrap();
    /// assert_eq!(ratio.to_string(), "0.50 (0.50 to 0.50)");
    /// assert_eq!(RatioInterval::of(&[2.0]).unwrap().to_string(), "2.00");
    /// assert_eq!(RatioInterval::of(&[2.0, 2.0]).unwrap().to_string(), "2.00");
    /// assert_eq!(RatioInterval::of(&[]), None);
    /// ```
    #[must_use]
    pub fn of(ratios: &[f64]) -> Option<Self> {
        if ratios.is_empty() || ratios.iter().any(|it| !it.is_finite() || *it <= 0.0) {
            return None;
        }
        let count = ratios.len() as f64;
        let mean = ratios.iter().map(|it| it.ln()).sum::<f64>() / count;
        let interval = u32::try_from(ratios.len() - 1)
            .ok()
            .filter(|it| *it > 0)
            .map(|degrees| {
                let squares = ratios
                    .iter()
                    .map(|it| (it.ln() - mean).powi(2))
                    .sum::<f64>();
                let error = (squares / f64::from(degrees) / count).sqrt();
                let reach = two_sided(CONFIDENCE, degrees) * error;
                ((mean - reach).exp(), (mean + reach).exp())
            })
            .filter(|(low, high)| low < high || ratios.len() > 2);
        Some(Self {
            mean: mean.exp(),
            interval,
        })
    }
}

impl fmt::Display for RatioInterval {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:.2}", self.mean)?;
        match self.interval {
            Some((low, high)) => write!(to, " ({low:.2} to {high:.2})"),
            None => Ok(()),
        }
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

    #[test]
    fn an_interval_holds_the_mean_and_widens_with_the_spread() {
        // By hand: logarithms -0.1, 0, 0.1; their deviation 0.1; t of 2 degrees 4.303; 4.303 * 0.1 / sqrt(3) = 0.2484.
        let ratio = RatioInterval::of(&[(-0.1_f64).exp(), 1.0, 0.1_f64.exp()]).unwrap();
        let (low, high) = ratio.interval.unwrap();
        assert!((ratio.mean - 1.0).abs() < 1e-12);
        assert!(
            (low.ln() + 0.2484).abs() < 1e-4 && (high.ln() - 0.2484).abs() < 1e-4,
            "{low} {high}"
        );
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(RatioInterval::of(&[1.0, bad]), None);
        }
    }
}
