//! The events of a mode, found by following each to the one a period later. Pulse trains are separated in this way (H.
//! K. Mardia, "New techniques for the deinterleaving of repetitive sequences", 1989): a histogram of differences
//! suggests a period, and a search along it shows which pulses are present and which are missing.

use super::lags::PeriodCandidate;

/// Occurrences that may be missing in a row: in a mode with half of them absent, one run of absences in 500 is longer.
const MAX_MISSING: u32 = 8;

/// Occurrences that may be missing in a row where a chain begins.
const MAX_MISSING_AT_START: u32 = 2;

/// Number of starts that are tried: in noise a chain may begin at a stray event.
pub(super) const STARTS: usize = 12;

/// Expected occurrences examined in chains from all starts, before the last start: a long chain that began at a stray
/// event breaks, and continues at the mode.
const MAX_STEPS: usize = 4096;

/// Multiples of a period that are compared with it.
const MULTIPLES: std::ops::RangeInclusive<u32> = 2..=8;

/// How much likelier a multiple must make the observed occurrences, as a natural logarithm. Absences without a pattern
/// reach that once in a thousand times.
const CLEARLY: f64 = 7.0;

/// Events that follow each other by a period.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    /// Places of the members among the events.
    pub(super) members: Vec<usize>,
    /// From a member to the next in seconds, and how many periods that is; not across a break.
    pub(super) steps: Vec<(f64, u32)>,
    /// When a member was expected, and the half width of its window.
    pub(super) expected: Vec<(f64, f64)>,
    /// For each member the number of periods since the first.
    places: Vec<u64>,
}

impl Chain {
    /// Mean period over all steps.
    pub(super) fn period_s(&self) -> Option<f64> {
        let (seconds, periods) = self
            .steps
            .iter()
            .fold((0.0, 0_u64), |(s, n), &(step, count)| {
                (s + step, n + u64::from(count))
            });
        (periods > 0).then(|| seconds / periods as f64)
    }

    /// The multiple of the period that explains the present and absent occurrences better than the period itself: for
    /// example, every second occurrence is always present and those between belong to another mode, or to none. Absent
    /// where the period is the best explanation.
    pub(super) fn multiple(&self) -> Option<u32> {
        let last = *self.places.last()?;
        let ln_likelihood = |multiple: u64| -> f64 {
            let mut present = [0_u64; *MULTIPLES.end() as usize];
            self.places
                .iter()
                .for_each(|it| present[(it % multiple) as usize] += 1);
            let one = |first: u64| {
                ln_likelihood(
                    present[first as usize],
                    last.saturating_add(multiple - first) / multiple,
                )
            };
            (0..multiple).map(one).sum()
        };
        let single = ln_likelihood(1);
        let gain = |multiple: u32| {
            let parameters = f64::from(multiple - 1) / 2.0 * (last as f64 + 1.0).ln();
            ln_likelihood(u64::from(multiple)) - single - parameters
        };
        // The smallest multiple: its own multiples explain as much.
        MULTIPLES.into_iter().find(|it| gain(*it) > CLEARLY)
    }
}

/// Natural logarithm of the likelihood of this many hits in this many tries, at their own rate.
fn ln_likelihood(hits: u64, tries: u64) -> f64 {
    let part = |count: u64| {
        if count == 0 {
            0.0
        } else {
            count as f64 * (count as f64 / tries as f64).ln()
        }
    };
    part(hits.min(tries)) + part(tries.saturating_sub(hits))
}

/// The longest chain of the first few that begin in different places. `times` ascend.
pub(super) fn chain(times: &[f64], candidate: PeriodCandidate) -> Chain {
    let mut longest = Chain::default();
    // A chain that reaches an event of an earlier start continues as that one did.
    let mut reached = vec![false; times.len()];
    let (mut from, mut steps) = (0, 0);
    for _ in 0..STARTS {
        let start = (from..times.len()).find(|&at| !reached[at] && begins(times, at, candidate));
        let Some(start) = start else {
            break;
        };
        from = start + 1;
        let found = walk(times, start, candidate);
        found.members.iter().for_each(|&at| reached[at] = true);
        steps += found.expected.len();
        if found.members.len() > longest.members.len() {
            longest = found;
        }
        if steps > MAX_STEPS {
            break;
        }
    }
    longest
}

/// The chain that begins first.
pub(super) fn first(times: &[f64], candidate: PeriodCandidate) -> Chain {
    let start = (0..times.len()).find(|&at| begins(times, at, candidate));
    start.map_or_else(Chain::default, |start| walk(times, start, candidate))
}

/// Whether an event has a successor, and that one too, where there are enough of them.
fn begins(times: &[f64], at: usize, candidate: PeriodCandidate) -> bool {
    let next = |at: usize| {
        (1..=MAX_MISSING_AT_START + 1)
            .find_map(|count| follower(times, at, at + 1, count, candidate).ok())
    };
    next(at).is_some_and(|second| times.len() < 8 || next(second).is_some())
}

fn walk(times: &[f64], start: usize, candidate: PeriodCandidate) -> Chain {
    let mut chain = Chain {
        members: vec![start],
        places: vec![0],
        ..Chain::default()
    };
    let (mut at, mut place) = (start, 0_u64);
    loop {
        let mut from = at + 1;
        let next = (1..=MAX_MISSING + 1).find_map(|count| {
            let wanted = times[at] + f64::from(count) * candidate.period_s;
            if from == times.len() {
                return None;
            }
            chain.expected.push((wanted, window_s(candidate, count)));
            match follower(times, at, from, count, candidate) {
                Ok(next) => Some((next, count)),
                Err(passed) => {
                    from = passed;
                    None
                }
            }
        });
        let next = if let Some((next, count)) = next {
            chain.steps.push((times[next] - times[at], count));
            place = place.saturating_add(u64::from(count));
            next
        } else if let Some(next) = (from..times.len()).find(|&it| begins(times, it, candidate)) {
            let periods = ((times[next] - times[at]) / candidate.period_s).round();
            place = place.saturating_add(periods as u64);
            next
        } else {
            return chain;
        };
        at = next;
        chain.members.push(at);
        chain.places.push(place);
    }
}

/// With more missing occurrences, a straying mode strays further.
fn window_s(candidate: PeriodCandidate, count: u32) -> f64 {
    (candidate.window_s * f64::from(count).sqrt()).min(candidate.period_s / 3.0)
}

/// The event nearest to `count` periods after one, within the window; otherwise the first later one. None before `from`
/// is considered.
fn follower(
    times: &[f64],
    at: usize,
    from: usize,
    count: u32,
    candidate: PeriodCandidate,
) -> Result<usize, usize> {
    let wanted = times[at] + f64::from(count) * candidate.period_s;
    let window_s = window_s(candidate, count);
    let off = |place: usize| (times[place] - wanted).abs();
    let from = first_from(times, from, wanted - window_s);
    (from..times.len())
        .take_while(|&place| times[place] <= wanted + window_s)
        .min_by(|&a, &b| off(a).total_cmp(&off(b)))
        .ok_or(from)
}

/// The first time at or after `at_s`, from a place on; near ones are found faster.
fn first_from(times: &[f64], from: usize, at_s: f64) -> usize {
    let mut step = 1;
    let mut low = from;
    while times.get(low + step).is_some_and(|it| *it < at_s) {
        low += step;
        step *= 2;
    }
    let high = (low + step + 1).min(times.len());
    low + times[low.min(high)..high].partition_point(|it| *it < at_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::Random;

    #[test]
    fn a_chain_steps_over_what_is_missing_and_what_is_foreign() {
        let times = [0.0, 3.1, 10.0, 20.0, 27.0, 40.0, 50.0];
        let found = chain(&times, PeriodCandidate::new(10.0, 0.01, 0.01));
        assert_eq!(found.members, [0, 2, 3, 5, 6]);
        assert_eq!(found.period_s(), Some(10.0));
        assert_eq!(found.steps[2], (20.0, 2));
    }

    #[test]
    fn a_chain_goes_on_after_a_break_with_another_phase() {
        let times = [0.0, 10.0, 20.0, 1003.0, 1013.0, 1023.0];
        let found = chain(&times, PeriodCandidate::new(10.0, 0.01, 0.01));
        assert_eq!(found.members.len(), 6);
        assert_eq!(found.period_s(), Some(10.0));
    }

    #[test]
    fn absences_without_a_pattern_leave_the_period_and_those_with_one_a_multiple() {
        let mut random = Random::new(5, 5);
        let beat = |is_present: &mut dyn FnMut(u32) -> bool| {
            let times: Vec<f64> = (0..200)
                .filter(|it| is_present(*it))
                .map(|it| 10.0 * f64::from(it))
                .collect();
            chain(&times, PeriodCandidate::new(10.0, 0.01, 0.01)).multiple()
        };
        assert_eq!(beat(&mut |_| true), None);
        assert_eq!(beat(&mut |_| random.unit() < 0.5), None);
        // Every second and every third: two modes.
        assert_eq!(beat(&mut |it| it % 2 == 0 || it % 3 == 0), Some(2));
    }
}
