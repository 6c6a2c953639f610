//! A generator of random numbers that its seed makes repeatable, on every machine.

/// SplitMix64. Source: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators" (2014). Not
/// for secrets.
///
/// ```
/// use kadenz_rt::random::Random;
///
/// let mut random = Random::new(7);
/// let dice: Vec<u64> = (0..6).map(|_| 1 + random.below(6)).collect();
/// assert!(dice.iter().all(|eyes| (1..=6).contains(eyes)));
/// ```
///
/// # Real-time safety
/// Each number costs a few nanoseconds; no method allocates, locks or blocks.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, uniform over all values.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, uniform to one part in 2^64 / `end`; 0 for an end of 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(end)) >> 64) as u64
    }

    /// A number from 0 to below 1, in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with a probability from 0 to 1.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A number of the normal distribution of mean 0 and standard deviation 1 (Box and Muller). Its last bits may
    /// differ between platforms, as those of `ln` and `cos` do.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the seed 1234567, from the reference implementation in C
    /// (<https://prng.di.unimi.it/splitmix64.c>).
    #[test]
    fn the_sequence_is_splitmix64() {
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        let reference = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(first, reference);
    }

    #[test]
    fn numbers_stay_in_their_range_and_fill_it() {
        let mut random = Random::new(1);
        let mut seen = [false; 6];
        for _ in 0..1_000 {
            seen[random.below(6) as usize] = true;
            assert!((0.0..1.0).contains(&random.unit()));
            assert!(random.happens(1.0) && !random.happens(0.0));
        }
        assert_eq!(seen, [true; 6]);
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn the_normal_distribution_has_its_mean_and_width() {
        let mut random = Random::new(3);
        let all: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let variance = all.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / all.len() as f64;
        assert!(
            mean.abs() < 0.05 && (variance - 1.0).abs() < 0.05,
            "{mean} {variance}"
        );
    }
}
