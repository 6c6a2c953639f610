//! Noise that a seed makes repeatable.

/// A generator of noise: xorshift64*, by Vigna, "An experimental exploration of Marsaglia's xorshift
/// generators, scrambled" (2016). Good enough for sensors, not for secrets.
#[derive(Debug, Clone)]
pub struct Noise(u64);

impl Noise {
    /// Creates a generator from any seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        // Zero would stay zero; and seeds that differ by one bit should differ everywhere.
        Self((seed ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Uniform between 0 and 1.
    pub fn even(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly normal, with mean 0 and standard deviation 1: the sum of twelve uniform numbers, less six. It stays
    /// within -6 to 6.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.even()).sum::<f64>() - 6.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_mean_and_deviation_that_it_promises_and_repeats() {
        let mut noise = Noise::new(0);
        let values: Vec<f64> = (0..20_000).map(|_| noise.normal()).collect();
        let mean = values.iter().sum::<f64>() / 20_000.0;
        let variance = values.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
        let mut again = Noise::new(0);
        assert!(values.iter().all(|it| *it == again.normal()));
        assert_ne!(Noise::new(1).even(), Noise::new(2).even());
    }
}
