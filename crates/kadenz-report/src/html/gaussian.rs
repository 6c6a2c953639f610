//! The measured values against the Gaussian of their mean and deviation (Enner's figure 6).

use super::page::{Page, SeriesOnPage};
use crate::document::{ChartControl, Document};
use crate::figures::{count, duration, significant, span};
use crate::statistics::bisect;

/// The chart and the difference of each series; nothing when no series has a spread.
pub(super) fn gaussian(page: &Page<'_>) -> Document {
    let series = page.series.iter().enumerate();
    let spread: Vec<(usize, &SeriesOnPage<'_>, f64)> = series
        .filter(|(_, it)| it.summary.count > 1)
        .filter_map(|(number, it)| Some((number, it, it.summary.max_in_stddevs?)))
        .collect();
    if spread.is_empty() {
        return Document::new();
    }
    let names = spread
        .iter()
        .map(|(number, it, _)| (*number, it.label.clone()));
    let choice = (spread.len() > 1).then(|| ChartControl::Series(names.collect()));
    let key = ChartControl::Key(vec![
        ("measured", "measured"),
        ("gaussian", "Gaussian of the same mean and deviation"),
    ]);
    let lead = "The distribution that was measured, and in dashes the bell curve of the same mean and standard \
                deviation: all that these two figures can tell.";
    let words = "Measured distribution against a Gaussian of the same mean and standard deviation; the sentences below \
                 describe the difference.";
    let controls = choice.into_iter().chain([key, ChartControl::Zoom]);
    let document = Document::new()
        .lead(lead)
        .chart(words.to_owned(), controls.collect());
    let differences = spread.iter();
    differences.fold(document, |document, (number, series, times)| {
        document.of_series(*number, difference(series, *times))
    })
}

/// The difference in words.
fn difference(series: &SeriesOnPage<'_>, times: f64) -> String {
    let summary = series.summary;
    let (mean, sd) = (
        summary.mean_ns.unwrap_or(0.0),
        summary.stddev_ns.unwrap_or(0.0),
    );
    let expected = mean + sd * expected_largest(summary.count);
    let max = summary.max_ns.unwrap_or(0);
    format!(
        "{}: a Gaussian with mean {} and deviation {} would have the largest of {} samples near {}. \
         The largest measured is {}, which lies {} deviations above the mean.",
        series.label,
        duration(mean),
        duration(sd),
        count(summary.count),
        duration(expected),
        span(max),
        significant(times, 3),
    )
}

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
fn expected_largest(count: u64) -> f64 {
    let share = 1.0 / count.max(2) as f64;
    bisect(0.0, 10.0, |it| beyond(it) > share)
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
