//! Records with known modes in known noise, the same on every machine: for tests, benchmarks and users who want to know
//! what a search would find.

mod maker;

use super::{ModeKind, Point};
use maker::SampleGenerator;

/// The noise by which every sample differs from the level.
#[derive(Clone, Debug, PartialEq)]
pub enum Noise {
    /// Uniform between 0 and a width.
    Even {
        /// The largest noise, in nanoseconds.
        width_ns: f64,
    },
    /// Pareto: the tail of a queue. With a shape below 2 it has no variance.
    Pareto {
        /// The scale: half the shape's share of samples is above some of it.
        scale_ns: f64,
        /// The exponent of the tail; a smaller one has larger extremes.
        shape: f64,
    },
    /// Lognormal: its logarithm is normally distributed.
    Lognormal {
        /// The median of the noise, in nanoseconds.
        median_ns: f64,
        /// Deviation of its logarithm.
        sigma: f64,
    },
    /// Drawn from recorded values, each by itself.
    Recorded(Vec<i64>),
    /// Drawn from stretches of recorded values: from one at random for a random while, then from another, so that
    /// neighbouring values stay together and nothing recurs with a period. After the stationary bootstrap of D. N.
    /// Politis and J. P. Romano (1994).
    Stretches {
        /// The stretches, of some values each.
        recorded: Vec<Vec<i64>>,
        /// Mean number of samples that are drawn from one.
        samples: usize,
    },
}

/// A disturbance of a record without any period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Disturbance {
    /// Bursts at random (Poisson) times, of random length and height.
    Bursts {
        /// Mean number of bursts an hour.
        per_hour: f64,
        /// Mean length in samples.
        samples: f64,
        /// Height that half of them reach; one in a hundred reaches ten times as much.
        height_ns: f64,
    },
    /// The level rises in a line.
    Drift {
        /// Rise over the record.
        height_ns: f64,
    },
    /// The level wanders as 1/f noise does: as much within minutes as within hours.
    Wander {
        /// Height of each octave.
        height_ns: f64,
    },
    /// The level is correlated from sample to sample: an AR(1) process, normally distributed.
    Autoregressive {
        /// Standard deviation of the level, in nanoseconds.
        deviation_ns: f64,
        /// Correlation of a sample with the next, 0 to 1.
        correlation: f64,
    },
}

/// A mode that is put into a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planted {
    /// Form of an occurrence.
    pub kind: ModeKind,
    /// Time from one occurrence to the next; one interval of the samples at least.
    pub period_s: f64,
    /// Time of the first occurrence. If it, or `stray`, is not a number, there is none.
    pub first_s: f64,
    /// Duration of one; one sample at least.
    pub duration_s: f64,
    /// Height that it adds; at the end of a ramp.
    pub height_ns: f64,
    /// Each interval strays from the period by up to this share of it, evenly; 0 to 1.
    pub stray: f64,
    /// Share of occurrences that are absent, each independently; 0 to 1.
    pub absent: f64,
}

/// Parameters of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Interval of the samples, 1 ns at least.
    pub interval_ns: i64,
    /// Number of samples of the record.
    pub samples: u64,
    /// The value that noise, disturbances and modes are added to, in nanoseconds.
    pub level_ns: i64,
    /// Resolution of the clock, 1 ns at least: values are multiples of it.
    pub step_ns: i64,
    /// The noise of every sample.
    pub noise: Noise,
    /// The disturbances without a period.
    pub disturbances: Vec<Disturbance>,
    /// The modes that a search should find.
    pub modes: Vec<Planted>,
    /// Share of samples that are lost.
    pub lost: f64,
    /// Stretches without samples: start and end in seconds.
    pub gaps: Vec<(f64, f64)>,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Recipe {
    /// The record of \[Enner2016b\]: 24 hours at 100 Hz, 193 us, a clock of 250 ns, and its three modes in noise of less
    /// than 1 us.
    ///
    /// ```
    /// use kadenz_report::modes::sim::Recipe;
    ///
    /// let recipe = Recipe { samples: 1000, ..Recipe::enner2016b() };
    /// let points: Vec<_> = recipe.points().collect();
    /// assert_eq!(points.len(), 1000);
    /// assert_eq!(points[999].at_ns, 9_990_000_000);
    /// assert_eq!(points[999].value_ns % 250, 0);
    /// ```
    #[must_use]
    pub fn enner2016b() -> Self {
        let mode = |kind, period_s, first_s, duration_s, height_ns| Planted {
            kind,
            period_s,
            first_s,
            duration_s,
            height_ns,
            stray: 0.0,
            absent: 0.0,
        };
        Self {
            interval_ns: 10_000_000,
            samples: 8_640_000,
            level_ns: 193_000,
            step_ns: 250,
            noise: Noise::Even { width_ns: 900.0 },
            disturbances: Vec::new(),
            modes: vec![
                mode(ModeKind::Phase, 322.0, 100.0, 15.01, 4_000.0),
                mode(ModeKind::Spike, 5.0, 1.23, 0.01, 16_500.0),
                mode(ModeKind::Ramp, 3_600.0, 1_700.0, 0.1, 150_000.0),
            ],
            lost: 0.0,
            gaps: Vec::new(),
            seed: 1,
        }
    }

    /// The samples, in order of time, without the lost ones.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let mut maker = SampleGenerator::new(self);
        (0..self.samples).filter_map(move |index| maker.point(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_is_the_same_record() {
        let recipe = Recipe {
            samples: 5000,
            lost: 0.1,
            gaps: vec![(10.0, 12.0)],
            ..Recipe::enner2016b()
        };
        let (one, two): (Vec<_>, Vec<_>) = (recipe.points().collect(), recipe.points().collect());
        assert_eq!(one, two);
        assert!((4200..4400).contains(&one.len()), "{}", one.len());
        let other = Recipe { seed: 2, ..recipe };
        assert_ne!(one, other.points().collect::<Vec<_>>());
    }

    #[test]
    fn a_ramp_rises_to_its_height_and_a_spike_is_one_sample() {
        let mut recipe = Recipe::enner2016b();
        recipe.noise = Noise::Even { width_ns: 0.0 };
        recipe.samples = 200_000;
        let above: Vec<i64> = recipe.points().map(|it| it.value_ns - 193_000).collect();
        assert_eq!(above[123], 16_500);
        assert_eq!(above.iter().take(1000).filter(|it| **it > 0).count(), 2);
        assert_eq!(
            above[170_000..170_011],
            [
                15_000, 30_000, 45_000, 60_000, 75_000, 90_000, 105_000, 120_000, 135_000, 150_000,
                0
            ]
        );
        assert_eq!(
            above[10_001..11_502]
                .iter()
                .filter(|it| **it >= 4000)
                .count(),
            1500
        );
    }

    #[test]
    fn no_parameter_makes_it_hang_or_panic() {
        let odd = [
            f64::NAN,
            f64::NEG_INFINITY,
            f64::MIN,
            -1e9,
            -1.0,
            0.0,
            1e-300,
            1e9,
            f64::MAX,
            f64::INFINITY,
        ];
        let ends = [i64::MIN, -1, 0, 1, i64::MAX];
        for (index, first) in odd.into_iter().enumerate() {
            for (other, second) in odd.into_iter().enumerate() {
                let planted = Planted {
                    kind: [ModeKind::Ramp, ModeKind::Spike][other % 2],
                    period_s: second,
                    first_s: first,
                    duration_s: odd[(index + other) % odd.len()],
                    height_ns: second,
                    stray: odd[(index + 2 * other) % odd.len()],
                    absent: odd[(2 * index + other) % odd.len()],
                };
                let recipe = Recipe {
                    interval_ns: ends[index % 5],
                    step_ns: ends[other % 5],
                    level_ns: ends[(index + other) % 5],
                    samples: 50,
                    modes: vec![planted],
                    ..Recipe::enner2016b()
                };
                assert_eq!(recipe.points().count(), 50, "{planted:?}");
            }
        }
    }

    #[test]
    fn a_mode_that_began_long_before_the_record_is_in_it() {
        let mut recipe = Recipe::enner2016b();
        recipe.samples = 1000;
        recipe.noise = Noise::Even { width_ns: 0.0 };
        recipe.modes = vec![recipe.modes[1]];
        recipe.modes[0].first_s = 1.23 - 5e9;
        let above = recipe.points().filter(|it| it.value_ns > 193_000);
        let at: Vec<i64> = above.map(|it| it.at_ns / 10_000_000).collect();
        assert_eq!(at, [123, 623]);
    }

    #[test]
    fn a_stretch_stays_together_and_none_is_left_out() {
        let recipe = Recipe {
            samples: 20_000,
            step_ns: 1,
            level_ns: 0,
            noise: Noise::Stretches {
                recorded: vec![vec![1], vec![2], vec![3]],
                samples: 100,
            },
            modes: Vec::new(),
            ..Recipe::enner2016b()
        };
        let values: Vec<i64> = recipe.points().map(|it| it.value_ns).collect();
        // A new stretch is the same as the old one in one of three cases.
        let changes = values.windows(2).filter(|it| it[0] != it[1]).count();
        assert!((90..180).contains(&changes), "{changes}");
        let of = |wanted| values.iter().filter(|it| **it == wanted).count();
        assert!((1..=3).all(|wanted| of(wanted) > 4_000));
    }
}
