//! The events of a mode: from each to the one that comes a period later.

use super::events::Event;
use super::lags::Candidate;

/// Occurrences that may be missing in a row, lost or hidden.
const MOST_MISSING: u32 = 3;

/// Starts that are tried: in noise a chain may begin at a stray event.
const STARTS: usize = 12;

/// Events that follow each other by a period.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    /// Places of the members among the events.
    pub(super) members: Vec<usize>,
    /// From a member to the next in seconds, and how many periods that is; not across a break.
    pub(super) steps: Vec<(f64, u32)>,
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
}

/// The longest chain of the first few that begin in different places.
pub(super) fn chain(events: &[Event], candidate: Candidate) -> Chain {
    let starts = (0..events.len())
        .filter(|&at| begins(events, at, candidate))
        .take(STARTS);
    starts
        .map(|start| walk(events, start, candidate))
        .max_by(|a, b| {
            a.members
                .len()
                .cmp(&b.members.len())
                .then(b.members.cmp(&a.members))
        })
        .unwrap_or_default()
}

/// Whether an event has a successor, and that one too, where there are enough of them.
fn begins(events: &[Event], at: usize, candidate: Candidate) -> bool {
    let second = follower(events, at, 1, candidate);
    second.is_some_and(|next| events.len() < 8 || follower(events, next, 1, candidate).is_some())
}

fn walk(events: &[Event], start: usize, candidate: Candidate) -> Chain {
    let mut chain = Chain {
        members: vec![start],
        steps: Vec::new(),
    };
    let mut at = start;
    loop {
        let next = (1..=MOST_MISSING + 1)
            .find_map(|count| Some((follower(events, at, count, candidate)?, count)));
        if let Some((place, count)) = next {
            chain
                .steps
                .push((events[place].mark_s - events[at].mark_s, count));
            at = place;
        } else if let Some(place) =
            (at + 1..events.len()).find(|&place| begins(events, place, candidate))
        {
            at = place;
        } else {
            return chain;
        }
        chain.members.push(at);
    }
}

/// The event nearest to `count` periods after one, within the window.
fn follower(events: &[Event], at: usize, count: u32, candidate: Candidate) -> Option<usize> {
    let wanted = events[at].mark_s + f64::from(count) * candidate.period_s;
    let window_s = candidate.window_s * f64::from(count).sqrt();
    let off = |place: usize| (events[place].mark_s - wanted).abs();
    let from = events.partition_point(|it| it.mark_s < wanted - window_s);
    (from.max(at + 1)..events.len())
        .take_while(|&place| events[place].mark_s <= wanted + window_s)
        .min_by(|&a, &b| off(a).total_cmp(&off(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(times: &[f64]) -> Vec<Event> {
        let event = |&mark_s: &f64| Event {
            at_s: mark_s,
            mark_s,
            end_s: mark_s,
            ..Event::default()
        };
        times.iter().map(event).collect()
    }

    #[test]
    fn a_chain_steps_over_what_is_missing_and_what_is_foreign() {
        let times = [0.0, 3.1, 10.0, 20.0, 27.0, 40.0, 50.0];
        let found = chain(&events(&times), Candidate::new(10.0, 0.01, 0.01));
        assert_eq!(found.members, [0, 2, 3, 5, 6]);
        assert_eq!(found.period_s(), Some(10.0));
        assert_eq!(found.steps[2], (20.0, 2));
    }

    #[test]
    fn a_chain_goes_on_after_a_break_with_another_phase() {
        let times = [0.0, 10.0, 20.0, 1003.0, 1013.0, 1023.0];
        let found = chain(&events(&times), Candidate::new(10.0, 0.01, 0.01));
        assert_eq!(found.members.len(), 6);
        assert_eq!(found.period_s(), Some(10.0));
    }
}
