//! The peers that may stay connected to a listener, sans-IO: a maximum number, and those that have not
//! completed the handshake for a short time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

/// The time that a peer may take to complete the handshake, if a listener sets no other.
pub(in crate::provider) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// The time without sending or taking after which a peer is idle, if a listener sets no other.
pub(in crate::provider) const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// The time within which an unknown peer's greeting is read.
const GRACE: Duration = Duration::from_millis(100);

/// A connection's number, in the order of arrival. No two connections of a listener have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::provider) struct ConnectionId(pub(in crate::provider) u64);

/// The progress of a peer's introduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::provider) enum PeerState {
    /// The peer has not completed the handshake.
    Connected,
    /// The peer has completed the handshake, and nothing more.
    HandshakeDone,
    /// The peer has subscribed or published.
    Active,
}

/// The connections for which one listener has room.
///
/// A peer that connects when all slots are taken gets the slot of one without a handshake, of these the first, or
/// else of one that has done nothing since its handshake, or else of an active one that is idle, where the
/// listener knows of one. The newest connection loses its slot last, as its bytes may not have been read yet.
#[derive(Debug)]
pub(in crate::provider) struct ConnectionSlots {
    limit: usize,
    handshake_timeout: Duration,
    next: u64,
    /// The times by which unknown peers must have completed the handshake.
    connected: BTreeMap<ConnectionId, MonotonicTime>,
    /// With the same time.
    handshake_done: BTreeMap<ConnectionId, MonotonicTime>,
    /// The times until which active peers are known not to have been idle.
    active: BTreeMap<ConnectionId, MonotonicTime>,
    by_time: BTreeSet<(MonotonicTime, ConnectionId)>,
}

impl ConnectionSlots {
    /// Returns slots for that many peers, which must complete the handshake within that span.
    pub(in crate::provider) fn new(limit: usize, handshake_timeout: Duration) -> Self {
        Self {
            limit,
            handshake_timeout,
            next: 0,
            connected: BTreeMap::new(),
            handshake_done: BTreeMap::new(),
            active: BTreeMap::new(),
            by_time: BTreeSet::new(),
        }
    }

    pub(in crate::provider) fn has_room(&self) -> bool {
        self.connected.len() + self.handshake_done.len() + self.active.len() < self.limit
    }

    /// Gives a slot to an unknown peer.
    pub(in crate::provider) fn take(&mut self, now: MonotonicTime) -> ConnectionId {
        let id = ConnectionId(self.next);
        self.next += 1;
        self.connected.insert(id, now + self.handshake_timeout);
        id
    }

    /// Notes the peer's state; it never falls.
    pub(in crate::provider) fn note(&mut self, id: ConnectionId, peer_state: PeerState) {
        if peer_state > PeerState::Connected
            && let Some(until) = self.connected.remove(&id)
        {
            self.handshake_done.insert(id, until);
        }
        if peer_state == PeerState::Active && self.handshake_done.remove(&id).is_some() {
            self.set_active(id, MonotonicTime::from_ns(0));
        }
    }

    fn set_active(&mut self, id: ConnectionId, until: MonotonicTime) {
        let before = self.active.insert(id, until);
        before.map(|before| self.by_time.remove(&(before, id)));
        self.by_time.insert((until, id));
    }

    /// Frees the slot of a disconnected peer.
    pub(in crate::provider) fn leave(&mut self, id: ConnectionId) {
        self.connected.remove(&id);
        self.handshake_done.remove(&id);
        if let Some(until) = self.active.remove(&id) {
            self.by_time.remove(&(until, id));
        }
    }

    /// Frees the slots of the connections that are to end, and removes them; returns whether there were any.
    pub(in crate::provider) fn release<C>(
        &mut self,
        connections: &mut Vec<C>,
        id: impl Fn(&C) -> ConnectionId,
        ends: impl Fn(&C) -> bool,
    ) -> bool {
        let before = connections.len();
        for ended in connections.extract_if(.., |it| ends(it)) {
            self.leave(id(&ended));
        }
        connections.len() < before
    }

    /// Returns the active peer that has been idle for the longest, and the time of its last activity, which
    /// `last` returns for each. Looks only at those that were active since the last look.
    pub(in crate::provider) fn longest_idle(
        &mut self,
        last: impl Fn(ConnectionId) -> MonotonicTime,
    ) -> Option<(ConnectionId, MonotonicTime)> {
        loop {
            let (until, id) = *self.by_time.first()?;
            let now = last(id);
            if now <= until {
                return Some((id, until));
            }
            self.set_active(id, now);
        }
    }

    /// Returns the first peer to disconnect if there is no room: one without activity. An active peer that is
    /// idle goes before a peer that has only just connected.
    pub(in crate::provider) fn least_needed(
        &self,
        now: MonotonicTime,
        idle: Option<ConnectionId>,
    ) -> Option<ConnectionId> {
        let come_by = now + self.handshake_timeout.saturating_sub(GRACE);
        let first = |peers: &BTreeMap<ConnectionId, MonotonicTime>, until: MonotonicTime| {
            let (id, its) = peers.first_key_value()?;
            (*its <= until).then_some(*id)
        };
        let end = MonotonicTime::from_ns(u64::MAX);
        let of_before = first(&self.connected, come_by).or(first(&self.handshake_done, come_by));
        let newest = || first(&self.handshake_done, end).or(first(&self.connected, end));
        of_before.or(idle).or_else(newest)
    }

    /// Returns an unknown peer whose time is over.
    pub(in crate::provider) fn overdue(&self, now: MonotonicTime) -> Option<ConnectionId> {
        let (id, until) = self.connected.first_key_value()?;
        (*until <= now).then_some(*id)
    }

    /// Returns whether this is an unknown peer whose time is over.
    pub(in crate::provider) fn is_overdue(&self, id: ConnectionId, now: MonotonicTime) -> bool {
        self.connected.get(&id).is_some_and(|until| *until <= now)
    }

    /// Returns when the next unknown peer's time is over.
    pub(in crate::provider) fn deadline(&self) -> Option<MonotonicTime> {
        self.connected.first_key_value().map(|(_, until)| *until)
    }
}

// A bound on the resources of all peers of one listener together: memory in bytes, or anything that is
// counted.

/// An amount of memory, and the part of it that is taken.
#[derive(Debug)]
pub(in crate::provider) struct Budget {
    limit: usize,
    taken: AtomicUsize,
}

impl Budget {
    pub(in crate::provider) fn new(limit: usize) -> Arc<Self> {
        let taken = AtomicUsize::new(0);
        Arc::new(Self { limit, taken })
    }

    /// A share of nothing, which may grow.
    pub(in crate::provider) fn share(self: &Arc<Self>) -> Share {
        Share {
            budget: Arc::clone(self),
            amount: 0,
        }
    }

    /// Returns a share of that size; `None` if less is left.
    pub(in crate::provider) fn take(self: &Arc<Self>, amount: usize) -> Option<Share> {
        let mut share = self.share();
        share.resize(amount).then_some(share)
    }

    #[cfg(test)]
    pub(in crate::provider) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

/// A part of a budget, which returns to the budget when it is dropped.
#[derive(Debug)]
pub(in crate::provider) struct Share {
    budget: Arc<Budget>,
    amount: usize,
}

impl Share {
    pub(in crate::provider) fn amount(&self) -> usize {
        self.amount
    }

    /// Takes more, or gives back; `false`, and nothing is changed, where more is not left.
    ///
    /// # Real-time safety
    /// Real-time safe: no allocation, no lock, no system call.
    pub(in crate::provider) fn resize(&mut self, amount: usize) -> bool {
        let taken = &self.budget.taken;
        if amount <= self.amount {
            taken.fetch_sub(self.amount - amount, Ordering::Relaxed);
        } else {
            let more = amount - self.amount;
            let grown = |taken: usize| {
                let taken = taken.checked_add(more)?;
                (taken <= self.budget.limit).then_some(taken)
            };
            let taken = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
            if taken.is_err() {
                return false;
            }
        }
        self.amount = amount;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ms * 1_000_000)
    }

    fn slots() -> ConnectionSlots {
        ConnectionSlots::new(3, Duration::from_millis(500))
    }

    #[test]
    fn the_silent_go_first_then_the_idle_and_never_the_active() {
        let mut slots = slots();
        let [active, handshake_done, connected] = [0, 1, 2].map(|ms| slots.take(at(ms)));
        slots.note(active, PeerState::Active);
        slots.note(handshake_done, PeerState::HandshakeDone);
        assert!(!slots.has_room());
        assert_eq!(slots.least_needed(at(102), None), Some(connected));
        assert_eq!(
            slots.least_needed(at(101), None),
            Some(handshake_done),
            "it has just come"
        );
        slots.leave(handshake_done);
        assert_eq!(slots.least_needed(at(101), None), Some(connected));
        slots.leave(connected);
        assert!(slots.has_room());
        assert_eq!(slots.least_needed(at(9999), None), None);
    }

    #[test]
    fn only_the_time_of_an_unknown_peer_ends() {
        let mut slots = slots();
        let [first, second] = [0, 10].map(|ms| slots.take(at(ms)));
        assert_eq!(slots.deadline(), Some(at(500)));
        assert_eq!(slots.overdue(at(499)), None);
        assert_eq!(slots.overdue(at(500)), Some(first));
        slots.note(first, PeerState::HandshakeDone);
        assert_eq!(slots.overdue(at(500)), None);
        assert_eq!(slots.overdue(at(510)), Some(second));
        slots.leave(second);
        assert_eq!((slots.overdue(at(9999)), slots.deadline()), (None, None));
    }

    #[test]
    fn of_the_active_the_one_that_is_idle_for_the_longest_is_found() {
        let mut slots = ConnectionSlots::new(4, Duration::from_millis(500));
        let [busy, quiet, mute] = [0, 1, 2].map(|ms| slots.take(at(ms)));
        let connected = slots.take(at(3));
        for id in [busy, quiet, mute] {
            slots.note(id, PeerState::Active);
        }
        let mut last = [at(900), at(50), at(40)];
        let find = |slots: &mut ConnectionSlots, last: &[MonotonicTime]| {
            slots.longest_idle(|id| last[id.0 as usize])
        };
        assert_eq!(find(&mut slots, &last), Some((mute, at(40))));
        last[2] = at(60);
        assert_eq!(find(&mut slots, &last), Some((quiet, at(50))));
        assert_eq!(slots.least_needed(at(100), Some(quiet)), Some(quiet));
        assert_eq!(slots.least_needed(at(103), Some(quiet)), Some(connected));
        slots.note(connected, PeerState::HandshakeDone);
        assert_eq!(slots.least_needed(at(100), Some(quiet)), Some(quiet));
        assert_eq!(slots.least_needed(at(103), Some(quiet)), Some(connected));
        assert_eq!(slots.least_needed(at(100), None), Some(connected));
        slots.leave(quiet);
        slots.leave(mute);
        assert_eq!(find(&mut slots, &last), Some((busy, at(900))));
        slots.leave(busy);
        assert_eq!(find(&mut slots, &last), None);
    }

    #[test]
    fn a_standing_never_falls_and_slots_come_back() {
        let mut slots = slots();
        for _ in 0..3 {
            let id = slots.take(at(0));
            slots.note(id, PeerState::Active);
            slots.note(id, PeerState::HandshakeDone);
        }
        assert!(!slots.has_room() && slots.least_needed(at(9999), None).is_none());
        for id in 0..3 {
            slots.leave(ConnectionId(id));
        }
        let again: Vec<_> = (0..3).map(|_| slots.take(at(1))).collect();
        assert!(!slots.has_room() && again[0] == ConnectionId(3));
    }
}

#[cfg(test)]
mod budget_tests {
    use super::*;

    #[test]
    fn shares_never_exceed_the_budget_and_come_back_when_dropped() {
        let budget = Budget::new(100);
        let mut first = budget.take(60).unwrap();
        assert!(budget.take(41).is_none());
        let second = budget.take(40).unwrap();
        assert!(!first.resize(61));
        assert_eq!((first.amount(), budget.taken()), (60, 100));
        drop(second);
        assert!(first.resize(100) && !first.resize(usize::MAX));
        assert!(first.resize(1));
        drop(first);
        assert_eq!(budget.taken(), 0);
    }
}
