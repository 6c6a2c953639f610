//! Numbers that look like chance and are the same every time (SplitMix64).

pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly between 0 and 1, without either.
    pub(crate) fn even(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// True with this probability.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.even() < probability
    }

    /// Gaussian, by Box and Muller.
    pub(crate) fn bell(&mut self, mean: f64, deviation: f64) -> f64 {
        let radius = (-2.0 * self.even().ln()).sqrt();
        mean + deviation * radius * (std::f64::consts::TAU * self.even()).cos()
    }

    /// Exponential with this mean: the tail of most latencies.
    pub(crate) fn tail(&mut self, mean: f64) -> f64 {
        -mean * self.even().ln()
    }
}
