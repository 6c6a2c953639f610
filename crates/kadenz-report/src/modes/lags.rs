//! Candidate periods of a set of times: lags from one time to the next ones that are more
//! frequent than lags a little shorter or longer.

/// Up to this many resolutions lags are counted one by one, above in steps of [`STEP`]: where the two
/// meet they are equally wide.
const LINEAR: f64 = 500.0;
const STEP: f64 = 0.002;

/// Maximum number of pairs of times that are examined in one set.
const MAX_PAIRS: usize = 1 << 18;

/// Minimum and maximum number of followers of a time that are examined.
const FOLLOWERS: (usize, usize) = (8, 256);

/// How much a period may stray, as a share of it. 0 is the resolution itself.
pub(super) const TOLERANCES: [f64; 5] = [0.0, 0.002, 0.01, 0.03, 0.1];

/// Periods that are examined closely for each tolerance.
const MAX_CANDIDATES: usize = 4;

/// Minimum share of a period's occurrences that the pairs beyond chance must make for the period to be tried. Where
/// half of the occurrences are absent, a quarter of them has a successor.
const MIN_SHARE: f64 = 0.1;

/// Maximum number of pairs that chance may make in a slot: with more, no mode can be distinguished.
const MAX_BY_CHANCE: f64 = 2.0;

/// A period to be tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PeriodCandidate {
    pub(super) period_s: f64,
    /// An event within this time of the predicted one counts.
    pub(super) window_s: f64,
}

impl PeriodCandidate {
    /// A period with the window that a tolerance gives it, never below what the resolution needs.
    pub(super) fn new(period_s: f64, tolerance: f64, resolution_s: f64) -> Self {
        let least = (period_s / 8.0).clamp(0.6 * resolution_s, 1.1 * resolution_s);
        Self {
            period_s,
            window_s: (tolerance * period_s).max(least),
        }
    }
}

/// How often each lag occurs.
#[derive(Debug)]
pub(super) struct Lags {
    resolution_s: f64,
    /// For each bin the number and the sum of the lags in all bins below.
    below: Vec<(f64, f64)>,
    pub(super) pairs: usize,
}

impl Lags {
    /// Counts the lags between each time and its followers, up to `longest_s`. `times` ascend.
    pub(super) fn of(times: &[f64], resolution_s: f64, longest_s: f64) -> Self {
        let bins = bin(longest_s, resolution_s) + 2;
        let mut below = vec![(0.0, 0.0); bins + 1];
        let followers = (MAX_PAIRS / times.len().max(1)).clamp(FOLLOWERS.0, FOLLOWERS.1);
        let mut pairs = 0;
        for (index, from) in times.iter().enumerate() {
            for to in times[index + 1..].iter().take(followers) {
                let lag = to - from;
                if lag > longest_s {
                    break;
                }
                let bin = &mut below[bin(lag, resolution_s) + 1];
                *bin = (bin.0 + 1.0, bin.1 + lag);
                pairs += 1;
            }
        }
        for index in 1..below.len() {
            let (count, sum) = below[index - 1];
            below[index] = (below[index].0 + count, below[index].1 + sum);
        }
        Self {
            resolution_s,
            below,
            pairs,
        }
    }

    /// Number of bins: no more periods than these can be distinguished.
    pub(super) fn bins(&self) -> usize {
        self.below.len() - 1
    }

    /// The most frequent periods, for a set that was watched for `span_s`.
    pub(super) fn candidates(&self, tolerance: f64, span_s: f64) -> Vec<PeriodCandidate> {
        let mut found: Vec<(f64, PeriodCandidate)> = Vec::new();
        let mut index = 3;
        while index < self.bins() {
            let period_s = value(index, self.resolution_s);
            let candidate = PeriodCandidate::new(period_s, tolerance, self.resolution_s);
            let exact = PeriodCandidate::new(period_s, 0.0, self.resolution_s);
            let width_s = self.width_at(period_s);
            // Windows that overlap by two thirds miss nothing.
            index += ((candidate.window_s / width_s) as usize / 3).max(1);
            // A window narrower than a step of the lags would miss what it counts.
            let narrow = candidate.window_s < 0.6 * width_s;
            if (tolerance > 0.0 && candidate == exact) || narrow {
                continue;
            }
            if let Some(score) = self.score(candidate, span_s) {
                found.push((score, self.centred(candidate)));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let best = found.first().map_or(0.0, |it| it.0);
        let mut chosen = apart(found.iter().map(|it| it.1));
        // Multiples of a period are as frequent as the period, and there are more of them.
        found.retain(|it| it.0 > best / 2.0);
        found.sort_by(|a, b| a.1.period_s.total_cmp(&b.1.period_s));
        chosen.extend(apart(found.iter().map(|it| it.1)));
        chosen
    }

    /// By how many deviations the lags at a period exceed those around it; absent where they could
    /// not fill the slots.
    fn score(&self, candidate: PeriodCandidate, span_s: f64) -> Option<f64> {
        let PeriodCandidate { period_s, window_s } = candidate;
        let hits = self.count(period_s - window_s, period_s + window_s);
        if hits < 2.0 {
            return None;
        }
        let lower = (
            (period_s - 5.0 * window_s).max(period_s / 3.0),
            period_s - 1.5 * window_s,
        );
        let upper = (period_s + 1.5 * window_s, period_s + 5.0 * window_s);
        let around = [lower, upper].map(|(from, to)| {
            let width = (to - from).max(0.0);
            (self.count(from, from + width), width)
        });
        let width = around[0].1 + around[1].1;
        let by_chance = if width > 0.0 {
            let window = (2.0 * window_s).max(self.width_at(period_s));
            (around[0].0 + around[1].0) * window / width
        } else {
            0.0
        };
        let slots = span_s / period_s;
        if by_chance > MAX_BY_CHANCE * slots {
            return None;
        }
        let share = (hits - by_chance) / slots;
        (share >= MIN_SHARE).then(|| (hits - by_chance) / (hits + by_chance + 1.0).sqrt())
    }

    /// The candidate at the mean of the lags in its window: after several missing occurrences in a row, a period that
    /// is off by most of the window finds no occurrence.
    fn centred(&self, candidate: PeriodCandidate) -> PeriodCandidate {
        let PeriodCandidate { period_s, window_s } = candidate;
        let (count, sum) = self.within(period_s - window_s, period_s + window_s);
        PeriodCandidate {
            period_s: if count > 0.0 { sum / count } else { period_s },
            window_s,
        }
    }

    fn count(&self, from_s: f64, to_s: f64) -> f64 {
        self.within(from_s, to_s).0
    }

    /// Number of lags from one to another, and their sum.
    fn within(&self, from_s: f64, to_s: f64) -> (f64, f64) {
        let place = |lag: f64| bin(lag.max(0.0), self.resolution_s).min(self.bins());
        // Bins whose middle lies inside.
        let from = place(from_s + 0.49 * self.width_at(from_s));
        let to = place(to_s - 0.49 * self.width_at(to_s)) + 1;
        let to = to.min(self.bins());
        if to <= from {
            return (0.0, 0.0);
        }
        let (above, below) = (self.below[to], self.below[from]);
        (above.0 - below.0, above.1 - below.1)
    }

    fn width_at(&self, lag_s: f64) -> f64 {
        (STEP * lag_s).max(self.resolution_s)
    }
}

/// The first few that do not overlap.
fn apart(candidates: impl Iterator<Item = PeriodCandidate>) -> Vec<PeriodCandidate> {
    let mut chosen: Vec<PeriodCandidate> = Vec::new();
    for candidate in candidates {
        let near = |it: &PeriodCandidate| {
            (it.period_s - candidate.period_s).abs() <= it.window_s + candidate.window_s
        };
        if !chosen.iter().any(near) {
            chosen.push(candidate);
        }
        if chosen.len() == MAX_CANDIDATES {
            break;
        }
    }
    chosen
}

fn bin(lag_s: f64, resolution_s: f64) -> usize {
    let steps = lag_s / resolution_s;
    if steps < LINEAR {
        (steps + 0.5) as usize
    } else {
        (LINEAR + (steps / LINEAR).ln() / STEP + 0.5) as usize
    }
}

/// The lag in the middle of a bin.
fn value(bin: usize, resolution_s: f64) -> f64 {
    let bin = bin as f64;
    if bin < LINEAR {
        bin * resolution_s
    } else {
        LINEAR * ((bin - LINEAR) * STEP).exp() * resolution_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::Random;

    #[test]
    fn bins_and_values_are_inverse() {
        for index in 0..5000 {
            assert_eq!(bin(value(index, 0.01), 0.01), index);
        }
        assert!(value(501, 0.01) - value(500, 0.01) <= 0.0101);
    }

    #[test]
    fn a_period_stands_out_among_strays() {
        let mut times: Vec<f64> = (0..200).map(|i| 5.0 * f64::from(i)).collect();
        let mut random = Random::new(1, 1);
        times.extend((0..300).map(|_| random.below(100_000) as f64 / 100.0));
        times.sort_by(f64::total_cmp);
        let lags = Lags::of(&times, 0.01, 400.0);
        let found = lags.candidates(0.0, 1000.0);
        assert!(
            found.iter().any(|it| (it.period_s - 5.0).abs() < 0.02),
            "{found:?}"
        );
    }

    #[test]
    fn the_window_is_never_narrower_than_the_clock() {
        assert!((PeriodCandidate::new(5.0, 0.0, 0.01).window_s - 0.011).abs() < 1e-12);
        assert_eq!(PeriodCandidate::new(5.0, 0.1, 0.01).window_s, 0.5);
        assert_eq!(PeriodCandidate::new(0.04, 0.0, 0.01).window_s, 0.006);
    }
}
