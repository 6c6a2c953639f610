//! How sure a period is.
//!
//! Time is cut into slots as long as the period. A slot is covered if an event in it has a successor
//! one period later, within the window. A mode covers nearly all of them; a burst of events covers
//! one, however many pairs it makes. What chance covers is taken from the rate of the events and from
//! lags beside the period, whichever is more.

use super::lags::Candidate;

/// Least share of slots that a mode covers.
pub(super) const LEAST_COVERAGE: f64 = 0.6;

/// Least share for a part of a period that is sure already: a set that lacks two events in five has a
/// pair in every third slot, but one in nearly every slot of twice the length.
pub(super) const LEAST_FOR_PART: f64 = 0.3;

/// Most of the slots that chance may cover, by twice its hits: of more, no mode can be told apart.
const MOST_BY_CHANCE: f64 = 0.95;

/// Lags beside the period that are looked at, as multiples of the window.
const BESIDE: [f64; 12] = [
    -13.3, -11.1, -8.9, -6.7, -4.5, -2.3, 2.3, 4.5, 6.7, 8.9, 11.1, 13.3,
];

/// What is asked of a period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Demand {
    /// Least share of covered slots.
    pub(super) least: f64,
    /// Natural logarithm of the highest probability of chance.
    pub(super) ln_limit: f64,
}

/// How sure a period is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Coverage {
    /// The period, now the mean lag of the pairs that hit.
    pub(super) candidate: Candidate,
    /// Slots with a hit.
    pub(super) covered: usize,
    /// Slots in the time that was watched.
    pub(super) slots: usize,
    /// Natural logarithm of an upper bound of the probability that chance covers as many.
    pub(super) ln_chance: f64,
}

/// What a lag hits.
#[derive(Clone, Copy, Debug, Default)]
struct Hits {
    covered: usize,
    mean_lag: f64,
}

/// Looks at a period of a set of times, which ascend, that was watched for `span_s`. Absent if it is
/// not covered, or not more than beside it.
pub(super) fn coverage(
    times: &[f64],
    candidate: Candidate,
    span_s: f64,
    demand: Demand,
) -> Option<Coverage> {
    let slots = (span_s / candidate.period_s).floor() as usize;
    if slots < 2 || by_chance(times.len(), candidate, slots, span_s) > MOST_BY_CHANCE {
        return None;
    }
    let mut candidate = candidate;
    let mut hits = hits(times, candidate.period_s, candidate);
    for _ in 0..2 {
        // A period that is a little off covers fewer slots, but not this few.
        if hits.covered == 0 || (hits.covered as f64) < 0.5 * demand.least * slots as f64 {
            return None;
        }
        candidate.period_s = hits.mean_lag;
        hits = self::hits(times, candidate.period_s, candidate);
    }
    let covered = hits.covered.min(slots);
    let share = covered as f64 / slots as f64;
    if covered < 2 || share < demand.least {
        return None;
    }
    // One pair gave the period, so it proves nothing; the last slot has no successor.
    let ln_tail = |chance| ln_binomial_tail(covered - 1, (slots - 2).max(covered - 1), chance);
    let at_random = by_chance(times.len(), candidate, slots, span_s);
    if ln_tail(at_random) > demand.ln_limit {
        return None;
    }
    let beside = beside(times, candidate) / slots as f64;
    if beside > share / 2.0 {
        return None;
    }
    let beside = beside + 2.0 * (beside / (slots as f64 * BESIDE.len() as f64)).sqrt();
    Some(Coverage {
        candidate,
        covered,
        slots,
        ln_chance: ln_tail(at_random.max(beside)),
    })
}

/// The share of slots that as many events would cover at random times: twice the expected hits a
/// slot, for events keep to no even rate.
fn by_chance(events: usize, candidate: Candidate, slots: usize, span_s: f64) -> f64 {
    let followers = events as f64 * 2.0 * candidate.window_s / span_s;
    let hits = followers * events as f64 / slots as f64;
    1.0 - (-2.0 * hits).exp()
}

/// Mean number of slots that are covered at lags beside the period.
fn beside(times: &[f64], candidate: Candidate) -> f64 {
    let Candidate { period_s, window_s } = candidate;
    let lags = BESIDE
        .iter()
        .map(|multiple| period_s + multiple * window_s)
        .filter(|lag| *lag > 2.0 * window_s);
    let (mut sum, mut count) = (0.0, 0.0);
    for lag in lags {
        sum += hits(times, lag, candidate).covered as f64;
        count += 1.0;
    }
    if count > 0.0 { sum / count } else { 0.0 }
}

/// The slots that pairs at `lag` cover. Slots are those of the candidate.
fn hits(times: &[f64], lag: f64, candidate: Candidate) -> Hits {
    let Candidate { period_s, window_s } = candidate;
    let Some(&origin) = times.first() else {
        return Hits::default();
    };
    let (mut next, mut last_slot) = (0, None);
    let (mut covered, mut pairs, mut sum) = (0, 0_u64, 0.0);
    for &from in times {
        let wanted = from + lag;
        while times.get(next).is_some_and(|to| *to < wanted) {
            next += 1;
        }
        // The nearest is the first that is not before, or the last that is.
        let around = [next.checked_sub(1), Some(next)];
        let off = around
            .into_iter()
            .filter_map(|place| times.get(place?))
            .map(|to| to - wanted)
            .min_by(|a, b| a.abs().total_cmp(&b.abs()));
        let Some(off) = off.filter(|off| off.abs() <= window_s) else {
            continue;
        };
        pairs += 1;
        sum += lag + off;
        // An event on the edge of a slot must not fall into one or the other by rounding.
        let slot = ((from - origin) / period_s + 0.5) as u64;
        if last_slot != Some(slot) {
            covered += 1;
            last_slot = Some(slot);
        }
    }
    Hits {
        covered,
        mean_lag: sum / pairs.max(1) as f64,
    }
}

/// Natural logarithm of Chernoff's bound of P(X >= hits) for a binomial X: never too sure.
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

    fn of_demand(times: &[f64], period_s: f64, tolerance: f64, ln_limit: f64) -> Option<Coverage> {
        let demand = Demand {
            least: LEAST_COVERAGE,
            ln_limit,
        };
        let candidate = Candidate::new(period_s, tolerance, 0.01);
        coverage(times, candidate, 1000.0, demand)
    }

    fn of(times: &[f64], period_s: f64, tolerance: f64) -> Option<Coverage> {
        of_demand(times, period_s, tolerance, 0.0)
    }

    #[test]
    fn a_beat_covers_every_slot_and_chance_does_not() {
        let beat: Vec<f64> = (0..200).map(|i| 5.0 * f64::from(i)).collect();
        let found = of(&beat, 5.0, 0.0).unwrap();
        assert!(found.covered >= 199 && found.slots == 200);
        assert!(found.ln_chance < -500.0, "{found:?}");
        assert_eq!(of_demand(&beat, 5.0, 0.0, -1e9), None);
        assert_eq!(of(&beat, 2.5, 0.0), None);
        assert_eq!(of(&beat, 3.7, 0.0), None);
    }

    #[test]
    fn bursts_make_many_pairs_and_cover_little() {
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
