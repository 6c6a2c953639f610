//! Generates a record, one sample after the other.

use super::{Disturbance, Noise, Planted, Recipe};
use crate::modes::{ModeKind, Point};
use crate::statistics::random::Random;

/// Generates one sample after the other.
pub(super) struct SampleGenerator<'a> {
    recipe: &'a Recipe,
    noise: Random,
    /// The current stretch of [`Noise::Stretches`]; none before the first sample.
    stretch: Option<usize>,
    loss: Random,
    modes: Vec<Recurring>,
    disturbances: Vec<Disturbing>,
}

/// A mode and its present occurrence.
struct Recurring {
    planted: Planted,
    at_s: f64,
    is_absent: bool,
    random: Random,
}

/// A disturbance and its state.
struct Disturbing {
    kind: Disturbance,
    random: Random,
    /// The burst: remaining samples and height.
    burst: (u64, f64),
    /// The octaves of a wandering level.
    octaves: [f64; 20],
    /// State of an autoregressive level, in standard deviations.
    level: f64,
}

impl<'a> SampleGenerator<'a> {
    pub(super) fn new(recipe: &'a Recipe) -> Self {
        let stream = |number: usize| Random::new(recipe.seed, number as u64);
        let recurring = |(index, &planted): (usize, &Planted)| {
            let random = stream(1000 + index);
            Recurring::new(planted, recipe.interval_ns.max(1) as f64 / 1e9, random)
        };
        let disturbing = |(index, &kind): (usize, &Disturbance)| Disturbing {
            kind,
            random: stream(2000 + index),
            burst: (0, 0.0),
            octaves: [0.0; 20],
            level: 0.0,
        };
        Self {
            recipe,
            noise: stream(1),
            stretch: None,
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

    pub(super) fn point(&mut self, index: u64) -> Option<Point> {
        let recipe = self.recipe;
        let interval_ns = recipe.interval_ns.max(1);
        let at_ns = i64::try_from(index)
            .unwrap_or(i64::MAX)
            .saturating_mul(interval_ns);
        let at_s = at_ns as f64 / 1e9;
        let interval_s = interval_ns as f64 / 1e9;
        let mut value =
            recipe.level_ns as f64 + recipe.noise.draw(&mut self.noise, &mut self.stretch);
        for mode in &mut self.modes {
            value += mode.adds(at_s, interval_s);
        }
        for disturbance in &mut self.disturbances {
            value += disturbance.adds(index, recipe);
        }
        let lost = self.loss.unit() < recipe.lost;
        let in_gap = recipe.gaps.iter().any(|gap| (gap.0..gap.1).contains(&at_s));
        let step_ns = recipe.step_ns.max(1);
        let value_ns = (value as i64).div_euclid(step_ns).saturating_mul(step_ns);
        (!lost && !in_gap).then_some(Point { at_ns, value_ns })
    }
}

impl Noise {
    fn draw(&self, random: &mut Random, stretch: &mut Option<usize>) -> f64 {
        match self {
            Self::Even { width_ns } => random.unit() * width_ns,
            Self::Pareto { scale_ns, shape } => {
                scale_ns * ((1.0 - random.unit()).powf(-1.0 / shape) - 1.0)
            }
            Self::Lognormal { median_ns, sigma } => median_ns * (sigma * normal(random)).exp(),
            Self::Recorded(values) => one_of(values, random),
            Self::Stretches { recorded, .. } if recorded.is_empty() => 0.0,
            Self::Stretches { recorded, samples } => {
                let goes_on = random.below((*samples).max(1)) > 0;
                let place = stretch
                    .filter(|_| goes_on)
                    .unwrap_or_else(|| random.below(recorded.len()));
                *stretch = Some(place);
                one_of(&recorded[place], random)
            }
        }
    }
}

/// One of some values; 0 if there are none.
fn one_of(values: &[i64], random: &mut Random) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values[random.below(values.len())] as f64
}

/// A normally distributed number. Source: G. E. P. Box, M. E. Muller, "A note on the generation of
/// random normal deviates" (1958).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

impl Recurring {
    /// Begins so that no parameter keeps [`Recurring::adds`] busy for long: a period is one interval at least,
    /// occurrences before the record are skipped, and a time that is not a number never comes.
    fn new(mut planted: Planted, interval_s: f64, random: Random) -> Self {
        planted.period_s = planted.period_s.max(interval_s);
        planted.stray = planted.stray.clamp(0.0, 1.0);
        let is_number = planted.first_s.is_finite() && !planted.stray.is_nan();
        let length_s = planted.duration_s.max(interval_s);
        let at_s = if !is_number {
            f64::INFINITY
        } else if planted.first_s + length_s < 0.0 {
            // The remainder is exact, however long ago the first one was.
            let at_s = planted.first_s.rem_euclid(planted.period_s);
            at_s - ((at_s + length_s) / planted.period_s).floor() * planted.period_s
        } else {
            planted.first_s
        };
        let at_s = if at_s.is_nan() { f64::INFINITY } else { at_s };
        let mut recurring = Self {
            planted,
            at_s,
            is_absent: false,
            random,
        };
        recurring.is_absent = recurring.draws_absent();
        recurring
    }

    /// Whether the next occurrence is absent. Draws no random number where none is.
    fn draws_absent(&mut self) -> bool {
        self.planted.absent > 0.0 && self.random.unit() < self.planted.absent
    }

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
            let next_s = self.at_s + period_s * (1.0 + stray * (2.0 * self.random.unit() - 1.0));
            // Too far from zero for a period to make a difference: there is no next one.
            self.at_s = if next_s > self.at_s {
                next_s
            } else {
                f64::INFINITY
            };
            self.is_absent = self.draws_absent();
        }
        if now < self.at_s || self.is_absent {
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
                // value for about 2^k samples. At random times, because regular ones would be a period.
                for (octave, value) in self.octaves.iter_mut().enumerate() {
                    if self.random.below(1 << (octave + 3)) == 0 {
                        *value = height_ns * (2.0 * self.random.unit() - 1.0);
                    }
                }
                self.octaves.iter().sum()
            }
            Disturbance::Autoregressive {
                deviation_ns,
                correlation,
            } => {
                let correlation = correlation.clamp(-1.0, 1.0);
                let innovation = (1.0 - correlation * correlation).sqrt();
                self.level = correlation * self.level + innovation * normal(&mut self.random);
                deviation_ns * self.level
            }
        }
    }
}
