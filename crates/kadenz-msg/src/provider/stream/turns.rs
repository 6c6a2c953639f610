//! Who is served next, sans-IO: among all that wait, the one that was served for the shortest time.

use std::collections::BTreeSet;
use std::time::Duration;

use super::seats::Seat;

/// How long a peer was served, and whether it waits.
///
/// A peer that comes back after a pause counts as served as long as the one that is served now, so
/// that it goes first, and saves nothing up.
#[derive(Debug, Default)]
pub(in crate::provider) struct Served {
    time: Duration,
    waits: bool,
}

/// Peers that have something to be done, as in a completely fair scheduler.
#[derive(Debug, Default)]
pub(in crate::provider) struct Turns {
    waiting: BTreeSet<(Duration, Seat)>,
    /// What the one that was served last had had before.
    floor: Duration,
}

impl Turns {
    pub(in crate::provider) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// It has something to be done.
    pub(in crate::provider) fn wait(&mut self, seat: Seat, served: &mut Served) {
        if !served.waits {
            served.waits = true;
            served.time = served.time.max(self.floor);
            self.waiting.insert((served.time, seat));
        }
    }

    /// Who is next. It waits no longer: [`Turns::done`] is to be told.
    pub(in crate::provider) fn next(&mut self) -> Option<Seat> {
        let (time, seat) = self.waiting.pop_first()?;
        self.floor = time;
        Some(seat)
    }

    /// It was served for so long.
    pub(in crate::provider) fn done(served: &mut Served, time: Duration) {
        served.waits = false;
        served.time += time;
    }

    /// It has gone.
    pub(in crate::provider) fn leave(&mut self, seat: Seat, served: &Served) {
        self.waiting.remove(&(served.time, seat));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    #[test]
    fn who_asks_for_little_waits_for_one_turn_of_those_who_ask_for_all() {
        let mut turns = Turns::default();
        let mut greedy: Vec<Served> = (0..10).map(|_| Served::default()).collect();
        let mut modest = Served::default();
        for (seat, served) in (0..).zip(&mut greedy) {
            turns.wait(Seat(seat), served);
        }
        let mut serve_greedy = |turns: &mut Turns| {
            let seat = turns.next().unwrap();
            let served = &mut greedy[seat.0 as usize];
            Turns::done(served, 50 * US);
            turns.wait(seat, served);
        };
        for round in 0..1000 {
            for _ in 0..20 {
                serve_greedy(&mut turns);
            }
            turns.wait(Seat(99), &mut modest);
            assert_eq!(turns.next(), Some(Seat(99)), "in round {round}");
            Turns::done(&mut modest, 5 * US);
        }
    }

    #[test]
    fn the_greedy_share_alike_and_a_pause_saves_nothing_up() {
        let mut turns = Turns::default();
        let mut served = [(); 2].map(|()| Served::default());
        let mut count = [0; 2];
        turns.wait(Seat(0), &mut served[0]);
        for round in 0..2000 {
            if round == 1000 {
                turns.wait(Seat(1), &mut served[1]);
            }
            let seat = turns.next().unwrap();
            let at = seat.0 as usize;
            count[at] += 1;
            Turns::done(&mut served[at], US);
            turns.wait(seat, &mut served[at]);
        }
        assert!((498..=502).contains(&count[1]), "{count:?}");
    }

    #[test]
    fn who_has_gone_has_no_turn() {
        let mut turns = Turns::default();
        let mut served = Served::default();
        turns.wait(Seat(1), &mut served);
        turns.leave(Seat(1), &served);
        assert!(turns.is_empty() && turns.next().is_none());
    }
}
