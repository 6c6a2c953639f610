//! Records with known modes in known noise, the same on every machine: for tests, benchmarks and
//! whoever wants to know what a search would find.

use super::{ModeKind, Point};
use crate::compare::random::Random;

/// What every sample differs from the level by.
#[derive(Clone, Debug, PartialEq)]
pub enum Noise {
    /// Even between 0 and a width.
    Even {
        /// The width.
        width_ns: f64,
    },
    /// Pareto: the tail of a queue. With a shape below 2 it has no variance.
    Pareto {
        /// The scale: half the shape's share of samples is above some of it.
        scale_ns: f64,
        /// The shape.
        shape: f64,
    },
    /// Lognormal.
    Lognormal {
        /// Its median.
        median_ns: f64,
        /// Deviation of its logarithm.
        sigma: f64,
    },
    /// Drawn from recorded values.
    Recorded(Vec<i64>),
}

/// What disturbs a record without any period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Disturbance {
    /// Bursts at random (Poisson) times, of random length and height.
    Bursts {
        /// Bursts an hour.
        per_hour: f64,
        /// Mean length in samples.
        samples: f64,
        /// Height that half of them reach; one in a hundred reaches ten times as much.
        height_ns: f64,
    },
    /// The level rises in a line.
    Drift {
        /// By so much over the record.
        height_ns: f64,
    },
    /// The level wanders as 1/f noise does: as much within minutes as within hours.
    Wander {
        /// Height of each octave.
        height_ns: f64,
    },
}

/// A mode that is put into a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planted {
    /// What an occurrence looks like.
    pub kind: ModeKind,
    /// From one occurrence to the next.
    pub period_s: f64,
    /// First occurrence.
    pub first_s: f64,
    /// How long one lasts; one sample at least.
    pub duration_s: f64,
    /// What it adds; at the end of a ramp.
    pub height_ns: f64,
    /// Each interval strays from the period by up to this share of it, evenly.
    pub stray: f64,
}

/// How to make a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Interval of the samples.
    pub interval_ns: i64,
    /// How many.
    pub samples: u64,
    /// The level.
    pub level_ns: i64,
    /// Resolution of the clock: values are multiples of it.
    pub step_ns: i64,
    /// What every sample differs by.
    pub noise: Noise,
    /// What disturbs it.
    pub disturbances: Vec<Disturbance>,
    /// Its modes.
    pub modes: Vec<Planted>,
    /// Share of samples that are lost.
    pub lost: f64,
    /// Stretches without samples: start and end in seconds.
    pub gaps: Vec<(f64, f64)>,
    /// Where the random numbers begin.
    pub seed: u64,
}

impl Recipe {
    /// The record of the blog "Analyzing the viability of Ethernet and UDP for robot control": 24
    /// hours at 100 Hz, 193 us, a clock of 250 ns, and its three modes in noise of less than 1 us.
    ///
    /// ```
    /// use kadenz_report::modes::sim::Recipe;
    ///
    /// let recipe = Recipe { samples: 1000, ..Recipe::blog() };
    /// let points: Vec<_> = recipe.points().collect();
    /// assert_eq!(points.len(), 1000);
    /// assert_eq!(points[999].at_ns, 9_990_000_000);
    /// assert_eq!(points[999].value_ns % 250, 0);
    /// ```
    #[must_use]
    pub fn blog() -> Self {
        let mode = |kind, period_s, first_s, duration_s, height_ns| Planted {
            kind,
            period_s,
            first_s,
            duration_s,
            height_ns,
            stray: 0.0,
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

    /// The samples, in order of time; those that are lost are not there.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let mut maker = Maker::new(self);
        (0..self.samples).filter_map(move |index| maker.point(index))
    }
}

/// Makes one sample after the other.
struct Maker<'a> {
    recipe: &'a Recipe,
    noise: Random,
    loss: Random,
    modes: Vec<Recurring>,
    disturbances: Vec<Disturbing>,
}

/// A mode and its present occurrence.
struct Recurring {
    planted: Planted,
    at_s: f64,
    random: Random,
}

/// A disturbance and its state.
struct Disturbing {
    kind: Disturbance,
    random: Random,
    /// The burst: samples left and height.
    burst: (u64, f64),
    /// The octaves of a wandering level.
    octaves: [f64; 20],
}

impl<'a> Maker<'a> {
    fn new(recipe: &'a Recipe) -> Self {
        let stream = |number: usize| Random::new(recipe.seed, number as u64);
        let recurring = |(index, &planted): (usize, &Planted)| Recurring {
            planted,
            at_s: planted.first_s,
            random: stream(1000 + index),
        };
        let disturbing = |(index, &kind): (usize, &Disturbance)| Disturbing {
            kind,
            random: stream(2000 + index),
            burst: (0, 0.0),
            octaves: [0.0; 20],
        };
        Self {
            recipe,
            noise: stream(1),
            loss: stream(2),
            modes: recipe.modes.iter().enumerate().map(recurring).collect(),
            disturbances: recipe
                .disturbances
                .iter()
                .enumerate()
                .map(disturbing)
                .collect(),
        }
    }

    fn point(&mut self, index: u64) -> Option<Point> {
        let recipe = self.recipe;
        let at_ns = index.cast_signed() * recipe.interval_ns;
        let at_s = at_ns as f64 / 1e9;
        let interval_s = recipe.interval_ns as f64 / 1e9;
        let mut value = recipe.level_ns as f64 + recipe.noise.draw(&mut self.noise);
        for mode in &mut self.modes {
            value += mode.adds(at_s, interval_s);
        }
        for disturbance in &mut self.disturbances {
            value += disturbance.adds(index, recipe);
        }
        let lost = self.loss.unit() < recipe.lost;
        let in_gap = recipe.gaps.iter().any(|gap| (gap.0..gap.1).contains(&at_s));
        let value_ns = (value as i64).div_euclid(recipe.step_ns) * recipe.step_ns;
        (!lost && !in_gap).then_some(Point { at_ns, value_ns })
    }
}

impl Noise {
    fn draw(&self, random: &mut Random) -> f64 {
        match self {
            Self::Even { width_ns } => random.unit() * width_ns,
            Self::Pareto { scale_ns, shape } => {
                scale_ns * ((1.0 - random.unit()).powf(-1.0 / shape) - 1.0)
            }
            Self::Lognormal { median_ns, sigma } => median_ns * (sigma * normal(random)).exp(),
            Self::Recorded(values) if values.is_empty() => 0.0,
            Self::Recorded(values) => values[random.below(values.len())] as f64,
        }
    }
}

/// A normally distributed number. Source: G. E. P. Box, M. E. Muller, "A note on the generation of
/// random normal deviates" (1958).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

impl Recurring {
    fn adds(&mut self, at_s: f64, interval_s: f64) -> f64 {
        let Planted {
            kind,
            period_s,
            duration_s,
            height_ns,
            stray,
            ..
        } = self.planted;
        // Half an interval keeps rounding from moving an occurrence by a sample.
        let now = at_s + interval_s / 2.0;
        let length_s = duration_s.max(interval_s);
        while now >= self.at_s + length_s {
            self.at_s += period_s * (1.0 + stray * (2.0 * self.random.unit() - 1.0));
        }
        if now < self.at_s {
            return 0.0;
        }
        if kind == ModeKind::Ramp {
            let place = ((now - self.at_s) / interval_s).floor() + 1.0;
            height_ns * place / (length_s / interval_s).round()
        } else {
            height_ns
        }
    }
}

impl Disturbing {
    fn adds(&mut self, index: u64, recipe: &Recipe) -> f64 {
        match self.kind {
            Disturbance::Bursts {
                per_hour,
                samples,
                height_ns,
            } => {
                let share = per_hour * recipe.interval_ns as f64 / 3.6e12;
                if self.burst.0 == 0 && self.random.unit() < share {
                    let length = -samples * (1.0 - self.random.unit()).ln();
                    let height = height_ns * 0.5 / (1.0 - self.random.unit()).sqrt();
                    self.burst = (length as u64 + 1, height * std::f64::consts::SQRT_2);
                }
                if self.burst.0 == 0 {
                    return 0.0;
                }
                self.burst.0 -= 1;
                self.burst.1 * (0.5 + 0.5 * self.random.unit())
            }
            Disturbance::Drift { height_ns } => height_ns * index as f64 / recipe.samples as f64,
            Disturbance::Wander { height_ns } => {
                // Source: R. F. Voss, J. Clarke, "1/f noise in music" (1978): octave k holds a random
                // value for about 2^k samples. At random times, for regular ones would be a period.
                for (octave, value) in self.octaves.iter_mut().enumerate() {
                    if self.random.below(1 << (octave + 3)) == 0 {
                        *value = height_ns * (2.0 * self.random.unit() - 1.0);
                    }
                }
                self.octaves.iter().sum()
            }
        }
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
            ..Recipe::blog()
        };
        let (one, two): (Vec<_>, Vec<_>) = (recipe.points().collect(), recipe.points().collect());
        assert_eq!(one, two);
        assert!((4200..4400).contains(&one.len()), "{}", one.len());
        let other = Recipe { seed: 2, ..recipe };
        assert_ne!(one, other.points().collect::<Vec<_>>());
    }

    #[test]
    fn a_ramp_rises_to_its_height_and_a_spike_is_one_sample() {
        let mut recipe = Recipe::blog();
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
}
