//! Mean and standard deviation of raw values, exact.

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
    /// Takes values in nanoseconds. Exact for at least 10^12 values below an hour; beyond, the
    /// sum of squares saturates.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}
