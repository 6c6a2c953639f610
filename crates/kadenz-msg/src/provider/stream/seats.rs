//! Who may stay connected to a listener, sans-IO: so many, and strangers for a short time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

/// How long a peer may take to greet, where a listener does not say otherwise.
pub(in crate::provider) const GREETING: Duration = Duration::from_secs(5);

/// A stranger's greeting is read within that span.
const GRACE: Duration = Duration::from_millis(100);

/// A connection's number, in the order of coming. No two connections of a listener have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::provider) struct Seat(pub(in crate::provider) u64);

/// How well a peer is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::provider) enum Standing {
    /// It has not greeted as the protocol asks.
    Stranger,
    /// It has, and nothing more.
    Greeted,
    /// It has subscribed or published.
    Active,
}

/// The seats of one listener.
///
/// Whoever comes when all are taken gets the seat of a stranger, the one that came first, or else of
/// one that has greeted and done nothing since; active peers are never sent away for another. A
/// stranger that has just come goes last, for its greeting may not have been read yet.
#[derive(Debug)]
pub(in crate::provider) struct Seats {
    limit: usize,
    greeting: Duration,
    next: u64,
    /// Until when they must have greeted.
    strangers: BTreeMap<Seat, MonotonicTime>,
    greeted: BTreeSet<Seat>,
    active: usize,
}

impl Seats {
    /// For so many peers, who must greet within that span.
    pub(in crate::provider) fn new(limit: usize, greeting: Duration) -> Self {
        Self {
            limit,
            greeting,
            next: 0,
            strangers: BTreeMap::new(),
            greeted: BTreeSet::new(),
            active: 0,
        }
    }

    pub(in crate::provider) fn has_room(&self) -> bool {
        self.strangers.len() + self.greeted.len() + self.active < self.limit
    }

    /// Gives a seat to a stranger.
    pub(in crate::provider) fn take(&mut self, now: MonotonicTime) -> Seat {
        let seat = Seat(self.next);
        self.next += 1;
        self.strangers.insert(seat, now + self.greeting);
        seat
    }

    /// Notes how well the peer is known by now; that never falls.
    pub(in crate::provider) fn note(&mut self, seat: Seat, standing: Standing) {
        let was_stranger = standing > Standing::Stranger && self.strangers.remove(&seat).is_some();
        if was_stranger {
            self.greeted.insert(seat);
        }
        if standing == Standing::Active && self.greeted.remove(&seat) {
            self.active += 1;
        }
    }

    /// The peer has gone. To be told once.
    pub(in crate::provider) fn leave(&mut self, seat: Seat) {
        let was_idle = self.strangers.remove(&seat).is_some() || self.greeted.remove(&seat);
        if !was_idle {
            self.active = self.active.saturating_sub(1);
        }
    }

    /// Whom to send away first where there is no room.
    pub(in crate::provider) fn least_known(&self, now: MonotonicTime) -> Option<Seat> {
        let silent = self.overdue(now + self.greeting.saturating_sub(GRACE));
        let idle = || self.greeted.first().copied();
        let newest = || self.strangers.first_key_value().map(|(seat, _)| *seat);
        silent.or_else(idle).or_else(newest)
    }

    /// A stranger whose time is over.
    pub(in crate::provider) fn overdue(&self, now: MonotonicTime) -> Option<Seat> {
        let (seat, until) = self.strangers.first_key_value()?;
        (*until <= now).then_some(*seat)
    }

    /// Whether this is a stranger whose time is over.
    pub(in crate::provider) fn is_overdue(&self, seat: Seat, now: MonotonicTime) -> bool {
        self.strangers.get(&seat).is_some_and(|until| *until <= now)
    }

    /// When the next stranger's time is over.
    pub(in crate::provider) fn deadline(&self) -> Option<MonotonicTime> {
        self.strangers.first_key_value().map(|(_, until)| *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ms * 1_000_000)
    }

    fn seats() -> Seats {
        Seats::new(3, Duration::from_millis(500))
    }

    #[test]
    fn the_silent_go_first_then_the_idle_and_never_the_active() {
        let mut seats = seats();
        let [active, greeted, stranger] = [0, 1, 2].map(|ms| seats.take(at(ms)));
        seats.note(active, Standing::Active);
        seats.note(greeted, Standing::Greeted);
        assert!(!seats.has_room());
        assert_eq!(seats.least_known(at(102)), Some(stranger));
        assert_eq!(
            seats.least_known(at(101)),
            Some(greeted),
            "it has just come"
        );
        seats.leave(greeted);
        assert_eq!(seats.least_known(at(101)), Some(stranger));
        seats.leave(stranger);
        assert!(seats.has_room());
        assert_eq!(seats.least_known(at(9999)), None);
    }

    #[test]
    fn a_stranger_s_time_ends_and_nobody_else_s() {
        let mut seats = seats();
        let [first, second] = [0, 10].map(|ms| seats.take(at(ms)));
        assert_eq!(seats.deadline(), Some(at(500)));
        assert_eq!(seats.overdue(at(499)), None);
        assert_eq!(seats.overdue(at(500)), Some(first));
        seats.note(first, Standing::Greeted);
        assert_eq!(seats.overdue(at(500)), None);
        assert_eq!(seats.overdue(at(510)), Some(second));
        seats.leave(second);
        assert_eq!((seats.overdue(at(9999)), seats.deadline()), (None, None));
    }

    #[test]
    fn a_standing_never_falls_and_seats_come_back() {
        let mut seats = seats();
        for _ in 0..3 {
            let seat = seats.take(at(0));
            seats.note(seat, Standing::Active);
            seats.note(seat, Standing::Greeted);
        }
        assert!(!seats.has_room() && seats.least_known(at(9999)).is_none());
        for seat in 0..3 {
            seats.leave(Seat(seat));
        }
        let again: Vec<_> = (0..3).map(|_| seats.take(at(1))).collect();
        assert!(!seats.has_room() && again[0] == Seat(3));
    }
}
