//! The order of service, sans-IO: peers with few requests come before those with many.

use std::collections::VecDeque;

use super::connection_slots::ConnectionId;

/// The number of others' turns before one of the peers whose last turn was not enough.
const QUICK_TURNS: u32 = 4;

/// Whether a peer waits for its turn.
#[derive(Debug, Default)]
pub(in crate::provider) struct QueueState(bool);

/// Peers that have work. A peer whose turn was not enough goes behind all others of that kind, and every
/// fifth turn at least is of them.
#[derive(Debug, Default)]
pub(in crate::provider) struct RunQueue {
    quick: VecDeque<ConnectionId>,
    long: VecDeque<ConnectionId>,
    /// The number of turns since the last turn of a long one.
    quick_turns: u32,
}

impl RunQueue {
    pub(in crate::provider) fn is_empty(&self) -> bool {
        self.quick.is_empty() && self.long.is_empty()
    }

    /// Notes that there is work for the peer.
    pub(in crate::provider) fn wait(&mut self, id: ConnectionId, waits: &mut QueueState) {
        if !waits.0 {
            waits.0 = true;
            self.quick.push_back(id);
        }
    }

    /// Returns the next peer; it may have disconnected. For one that has not, the caller calls
    /// [`RunQueue::done`].
    pub(in crate::provider) fn next(&mut self) -> Option<ConnectionId> {
        let is_long = self.quick.is_empty() || self.quick_turns >= QUICK_TURNS;
        if is_long && let Some(id) = self.long.pop_front() {
            self.quick_turns = 0;
            return Some(id);
        }
        self.quick_turns += 1;
        self.quick.pop_front()
    }

    /// Notes that the peer had its turn, which was enough or not.
    pub(in crate::provider) fn done(
        &mut self,
        id: ConnectionId,
        waits: &mut QueueState,
        enough: bool,
    ) {
        waits.0 = !enough;
        if !enough {
            self.long.push_back(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_request_waits_for_one_turn_of_any_number_of_long_ones() {
        let mut turns = RunQueue::default();
        let mut greedy: Vec<QueueState> = (0..10_000).map(|_| QueueState::default()).collect();
        let mut modest = QueueState::default();
        for (id, waits) in (0..).zip(&mut greedy) {
            turns.wait(ConnectionId(id), waits);
        }
        let mut serve_greedy = |turns: &mut RunQueue, id: ConnectionId| {
            turns.done(id, &mut greedy[id.0 as usize], false);
        };
        // Until all have had a turn, and wait for another.
        for _ in 0..20_000 {
            let id = turns.next().unwrap();
            serve_greedy(&mut turns, id);
        }
        for round in 0..1000 {
            turns.wait(ConnectionId(99_999), &mut modest);
            let mut before = 0;
            while let Some(id) = turns.next().filter(|id| *id != ConnectionId(99_999)) {
                serve_greedy(&mut turns, id);
                before += 1;
            }
            assert!(before <= 1, "{before} in round {round}");
            turns.done(ConnectionId(99_999), &mut modest, true);
        }
    }

    #[test]
    fn long_requests_share_alike_and_are_not_starved() {
        let mut turns = RunQueue::default();
        let mut long = [(); 2].map(|()| QueueState::default());
        let mut quick = QueueState::default();
        let mut count = [0_u32; 3];
        for (id, waits) in (0..).zip(&mut long) {
            turns.wait(ConnectionId(id), waits);
        }
        for _ in 0..1000 {
            turns.wait(ConnectionId(2), &mut quick);
            let id = turns.next().unwrap();
            count[id.0 as usize] += 1;
            match id.0 {
                2 => turns.done(id, &mut quick, true),
                at => turns.done(id, &mut long[at as usize], false),
            }
        }
        assert!(
            count[0] >= 99 && count[0].abs_diff(count[1]) <= 1,
            "{count:?}"
        );
    }

    #[test]
    fn what_comes_while_it_waits_gives_no_second_turn() {
        let mut turns = RunQueue::default();
        let mut waits = QueueState::default();
        turns.wait(ConnectionId(1), &mut waits);
        turns.wait(ConnectionId(1), &mut waits);
        assert_eq!((turns.next(), turns.next()), (Some(ConnectionId(1)), None));
        turns.done(ConnectionId(1), &mut waits, false);
        turns.wait(ConnectionId(1), &mut waits);
        assert_eq!((turns.next(), turns.next()), (Some(ConnectionId(1)), None));
        assert!(turns.is_empty());
    }
}
