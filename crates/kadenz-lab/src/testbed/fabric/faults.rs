//! Faults drawn from a seeded generator.

use crate::testbed::quantity::Picos;
use crate::testbed::topology::{Faults, Share};

/// SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators"): small,
/// and good enough to draw faults.
#[derive(Clone, Debug)]
pub(super) struct Generator(u64);

/// What happens to one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Drawn {
    pub(super) lost: bool,
    pub(super) doubled: bool,
    pub(super) held: bool,
}

impl Generator {
    /// Of one lane or port; lanes of one seed draw different numbers.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut generator = Self(seed ^ stream.wrapping_mul(0xa076_1d64_78bd_642f));
        generator.next();
        generator
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// True for this share of all calls.
    fn happens(&mut self, share: Share) -> bool {
        // 53 bits are what a double tells apart.
        let drawn = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        drawn < share.as_f64()
    }

    /// From zero up to `most`.
    pub(super) fn up_to(&mut self, most: Picos) -> Picos {
        let drawn = u128::from(self.next()) * (u128::from(most.as_ps()) + 1);
        Picos::from_ps((drawn >> 64) as u64)
    }

    /// Draws for the next frame: always three numbers, so that one fault's share does not change
    /// which frames another meets.
    pub(super) fn draw(&mut self, faults: &Faults) -> Drawn {
        Drawn {
            lost: self.happens(faults.loss),
            doubled: self.happens(faults.duplicate),
            held: self.happens(faults.reorder),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // The first numbers of the reference implementation from seed 1234567.
        let mut generator = Generator(1_234_567);
        assert_eq!(generator.next(), 6_457_827_717_110_365_317);
        assert_eq!(generator.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn shares_are_kept_and_their_ends_are_certain() {
        let mut generator = Generator::new(7, 0);
        let mut share = |share| {
            let share = Share::new(share).unwrap();
            (0..10_000).filter(|_| generator.happens(share)).count()
        };
        assert_eq!(share(0.0), 0);
        assert_eq!(share(1.0), 10_000);
        let tenth = share(0.1);
        assert!((850..1150).contains(&tenth), "{tenth}");
    }

    #[test]
    fn lanes_draw_differently_and_each_the_same_again() {
        let first = |stream| Generator::new(7, stream).next();
        assert_ne!(first(0), first(1));
        assert_eq!(first(1), first(1));
        let mut generator = Generator::new(0, 0);
        let most = Picos::from_ns(1);
        assert!((0..1000).all(|_| generator.up_to(most) <= most));
        assert_eq!(generator.up_to(Picos::ZERO), Picos::ZERO);
    }
}
