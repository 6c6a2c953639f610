//! Whether a run of samples rises in a line, and how steeply.

/// Fewest samples that make a ramp: fewer rise by chance too often.
const MIN: u32 = 4;

/// Least share of steps that rise.
const RISES: f64 = 0.7;

/// Least correlation of height and place.
const CORRELATION: f64 = 0.9;

/// A line through the heights of a run, taken one by one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fit {
    samples: u32,
    rises: u32,
    last: f64,
    sum_h: f64,
    sum_hh: f64,
    sum_ih: f64,
}

impl Fit {
    pub(super) fn take(&mut self, height: f64) {
        let place = f64::from(self.samples);
        self.rises += u32::from(self.samples > 0 && height > self.last);
        self.samples += 1;
        self.last = height;
        self.sum_h += height;
        self.sum_hh += height * height;
        self.sum_ih += place * height;
    }

    /// Rise a sample; absent if the run is no ramp.
    pub(super) fn slope(&self) -> Option<f64> {
        if self.samples < MIN || f64::from(self.rises) < RISES * f64::from(self.samples - 1) {
            return None;
        }
        let n = f64::from(self.samples);
        // Sums of 0..n and of their squares.
        let (sum_i, sum_ii) = (n * (n - 1.0) / 2.0, n * (n - 1.0) * (2.0 * n - 1.0) / 6.0);
        let across = n * self.sum_ih - sum_i * self.sum_h;
        let (places, heights) = (
            n * sum_ii - sum_i * sum_i,
            n * self.sum_hh - self.sum_h * self.sum_h,
        );
        let correlation = across / (places * heights).sqrt();
        (correlation >= CORRELATION).then_some(across / places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slope(heights: &[f64]) -> Option<f64> {
        let mut fit = Fit::default();
        heights.iter().for_each(|&height| fit.take(height));
        fit.slope()
    }

    #[test]
    fn a_line_is_a_ramp_and_a_plateau_is_none() {
        let line: Vec<f64> = (1..=10).map(|i| 15.0 * f64::from(i)).collect();
        assert!((slope(&line).unwrap() - 15.0).abs() < 1e-9);
        assert_eq!(slope(&[4.0; 10]), None);
        assert_eq!(slope(&[1.0, 90.0, 91.0, 92.0, 91.5, 91.0, 92.0]), None);
        assert_eq!(slope(&[1.0, 2.0, 3.0]), None);
        assert_eq!(slope(&[9.0, 7.0, 5.0, 3.0, 1.0]), None);
    }
}
