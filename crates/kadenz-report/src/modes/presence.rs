//! How certain a period is: how many of its predicted occurrences are present, compared with the number by chance.
//!
//! An occurrence is expected one period after the one before, or, while occurrences are missing, at multiples of it.
//! Events at random times, at their rate, would be within the window now and then; so would those of a burst. The
//! number by chance is computed from that rate and from times beside the expected ones, whichever is more.

use super::chain::{Chain, STARTS, chain, first};
use super::lags::PeriodCandidate;

/// Minimum share of its occurrences that a mode must show: a mode with half of them absent sometimes shows only a
/// third.
pub(super) const MIN_PRESENCE: f64 = 0.3;

/// Maximum share of the expected occurrences that chance may find: with more, no mode can be distinguished.
const MAX_BY_CHANCE: f64 = 0.9;

/// Times beside the expected ones that are examined, as multiples of the window.
const BESIDE: [f64; 12] = [
    -13.3, -11.1, -8.9, -6.7, -4.5, -2.3, 2.3, 4.5, 6.7, 8.9, 11.1, 13.3,
];

/// How certain a period is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Presence {
    /// The period, now the mean of the steps from one occurrence to the next.
    pub(super) candidate: PeriodCandidate,
    /// Occurrences that are present.
    pub(super) present: usize,
    /// Occurrences that are expected in the searched time.
    pub(super) expected: usize,
    /// Share of the expected occurrences that chance finds.
    pub(super) chance: f64,
    /// Natural logarithm of an upper bound of the probability that chance finds as many.
    pub(super) ln_chance: f64,
    /// The multiple of the period that explains the present occurrences better.
    pub(super) multiple: Option<u32>,
}

/// Examines a period of a set of times, which ascend, that was watched for `span_s`. Absent if its occurrences are not
/// present, or if chance makes as many with a probability above `ln_limit`, the natural logarithm.
pub(super) fn presence(
    times: &[f64],
    candidate: PeriodCandidate,
    span_s: f64,
    ln_limit: f64,
) -> Option<Presence> {
    let rate = times.len() as f64 / span_s;
    if by_chance(rate, candidate.window_s) > MAX_BY_CHANCE {
        return None;
    }
    let (candidate, chain) = refined(times, candidate, span_s)?;
    let expected = (span_s / candidate.period_s).floor() as usize;
    let present = chain.members.len().min(expected);
    let share = present as f64 / expected as f64;
    if expected < 2 || share < MIN_PRESENCE {
        return None;
    }
    // The first of a chain is not expected, and one step gave the period: neither is evidence.
    let hits = chain.steps.len().saturating_sub(1);
    let tries = hits.max(expected - 2);
    let ln_tail = |chance| ln_binomial_tail(hits, tries, chance) + (STARTS as f64).ln();
    let windows_s: f64 = chain.expected.iter().map(|it| it.1).sum();
    let at_random = by_chance(rate, windows_s / chain.expected.len() as f64);
    if at_random > MAX_BY_CHANCE || ln_tail(at_random) > ln_limit {
        return None;
    }
    let (hit, looked_at) = beside(times, &chain, candidate.period_s);
    let looked_at = looked_at.max(1) as f64;
    let beside = hit as f64 / looked_at;
    if beside > share / 2.0 {
        return None;
    }
    let chance = at_random.max(beside + 2.0 * (beside / looked_at).sqrt());
    Some(Presence {
        candidate,
        present,
        expected,
        chance,
        ln_chance: ln_tail(chance),
        multiple: chain.multiple(),
    })
}

/// The longest chain of a period, and the period refined from its steps.
fn refined(
    times: &[f64],
    candidate: PeriodCandidate,
    span_s: f64,
) -> Option<(PeriodCandidate, Chain)> {
    let mut candidate = candidate;
    for _ in 0..2 {
        let found = first(times, candidate);
        // A slightly wrong period shows fewer occurrences, but not this few.
        if (found.members.len() as f64) < 0.5 * MIN_PRESENCE * (span_s / candidate.period_s).floor()
        {
            return None;
        }
        candidate.period_s = found.period_s()?;
    }
    Some((candidate, chain(times, candidate)))
}

/// The share of windows, to either side of a time, that hold one of the events at random times: twice their rate,
/// because the rate of events is not even.
fn by_chance(rate: f64, window_s: f64) -> f64 {
    1.0 - (-4.0 * rate * window_s).exp()
}

/// Number of windows beside the expected times with an event, and number of windows.
fn beside(times: &[f64], chain: &Chain, period_s: f64) -> (usize, usize) {
    let (mut hits, mut looked_at) = (0, 0);
    for multiple in BESIDE {
        let mut next = 0;
        // Times further away are beside another one.
        let near = chain
            .expected
            .iter()
            .filter(|it| (multiple * it.1).abs() <= period_s / 2.0);
        for (wanted, window_s) in near {
            let from = wanted + (multiple - 1.0) * window_s;
            while times.get(next).is_some_and(|it| *it < from) {
                next += 1;
            }
            looked_at += 1;
            hits += usize::from(
                times
                    .get(next)
                    .is_some_and(|it| *it <= from + 2.0 * window_s),
            );
        }
    }
    (hits, looked_at)
}

/// Natural logarithm of Chernoff's bound of P(X >= hits) for a binomial X: it errs on the safe side.
/// H. Chernoff, "A measure of asymptotic efficiency for tests of a hypothesis" (1952).
fn ln_binomial_tail(hits: usize, tries: usize, chance: f64) -> f64 {
    let share = hits as f64 / tries.max(1) as f64;
    let chance = chance.clamp(1e-12, 1.0);
    if share <= chance {
        return 0.0;
    }
    let other = if share < 1.0 {
        (1.0 - share) * ((1.0 - share) / (1.0 - chance)).ln()
    } else {
        0.0
    };
    -(tries as f64) * (share * (share / chance).ln() + other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::Random;

    fn of_limit(times: &[f64], period_s: f64, tolerance: f64, ln_limit: f64) -> Option<Presence> {
        presence(
            times,
            PeriodCandidate::new(period_s, tolerance, 0.01),
            1000.0,
            ln_limit,
        )
    }

    fn of(times: &[f64], period_s: f64, tolerance: f64) -> Option<Presence> {
        of_limit(times, period_s, tolerance, 0.0)
    }

    #[test]
    fn a_beat_is_present_and_chance_is_not() {
        let beat: Vec<f64> = (0..200).map(|i| 5.0 * f64::from(i)).collect();
        let found = of(&beat, 5.0, 0.0).unwrap();
        assert!(found.present >= 199 && found.expected == 200);
        assert!(found.ln_chance < -500.0, "{found:?}");
        assert_eq!(of_limit(&beat, 5.0, 0.0, -1e9), None);
        assert_eq!(of(&beat, 3.7, 0.0), None);
    }

    #[test]
    fn half_a_beat_is_half_as_present_and_its_part_is_less_sure() {
        let mut random = Random::new(3, 3);
        let beat = (0..200).filter(|_| random.unit() < 0.5);
        let beat: Vec<f64> = beat.map(|i| 5.0 * f64::from(i)).collect();
        let whole = of(&beat, 5.0, 0.0).unwrap();
        assert_eq!(whole.present, beat.len());
        for multiple in [0.5, 2.0, 3.0, 4.0] {
            let other = of(&beat, 5.0 * multiple, 0.0);
            assert!(
                other.is_none_or(|it| it.ln_chance > whole.ln_chance),
                "{other:?}"
            );
        }
    }

    #[test]
    fn bursts_make_many_pairs_and_are_present_seldom() {
        let burst = |at: f64| (0..40).map(move |i| at + 0.02 * f64::from(i));
        let times: Vec<f64> = burst(100.0)
            .chain(burst(150.0))
            .chain(burst(700.0))
            .collect();
        assert_eq!(of(&times, 50.0, 0.002), None);
    }

    #[test]
    fn the_bound_is_above_the_tail() {
        // P(X >= 3) of 3 at 0.1 is 0.001; of P(X >= 2) of 3 it is 0.028.
        assert!((ln_binomial_tail(3, 3, 0.1).exp() - 0.001).abs() < 1e-9);
        assert!(ln_binomial_tail(2, 3, 0.1).exp() > 0.028);
        assert_eq!(ln_binomial_tail(1, 10, 0.5), 0.0);
    }
}
