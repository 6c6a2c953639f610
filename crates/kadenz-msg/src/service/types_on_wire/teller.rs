//! When to tell a type; sans-IO.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use crate::message::Fingerprint;

/// Others get so long to tell first. Each teller waits for a part of it, drawn anew.
const WAIT: Duration = Duration::from_millis(20);

/// A type is told once in this time at most, whoever asks how often.
const REST: Duration = Duration::from_millis(400);

/// What a teller is asked that it knows: what waits to be told and what was told, a place a type.
#[derive(Debug, Default)]
pub(super) struct Teller {
    types: BTreeMap<Fingerprint, Turn>,
    drawing: RandomState,
}

#[derive(Debug, Clone, Copy)]
enum Turn {
    /// To be told then.
    Due(MonotonicTime),
    /// Told, by whomever; to rest until then.
    Rests(MonotonicTime),
}

impl Teller {
    /// Somebody asks for a type that this program knows.
    pub(super) fn asked(&mut self, fingerprint: Fingerprint, now: MonotonicTime) {
        match self.types.get(&fingerprint) {
            Some(Turn::Due(_)) => return,
            Some(Turn::Rests(until)) if now < *until => return,
            _ => {}
        }
        let drawn = self.drawing.hash_one((fingerprint, now)) % wait_ns();
        let due = now + Duration::from_nanos(drawn);
        self.types.insert(fingerprint, Turn::Due(due));
    }

    /// Another program told a type as this one would have.
    pub(super) fn told(&mut self, fingerprint: Fingerprint, now: MonotonicTime) {
        self.types.insert(fingerprint, Turn::Rests(now + REST));
    }

    /// A type to tell now; it counts as told then.
    pub(super) fn due(&mut self, now: MonotonicTime) -> Option<Fingerprint> {
        let mut types = self.types.iter();
        let due = types.find(|(_, turn)| matches!(turn, Turn::Due(due) if *due <= now));
        let fingerprint = *due?.0;
        self.told(fingerprint, now);
        Some(fingerprint)
    }

    /// When the next one is to be told.
    pub(super) fn next_due(&self) -> Option<MonotonicTime> {
        let turns = self.types.values();
        let due = turns.filter_map(|turn| match turn {
            Turn::Due(due) => Some(*due),
            Turn::Rests(_) => None,
        });
        due.min()
    }
}

fn wait_ns() -> u64 {
    u64::try_from(WAIT.as_nanos()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: Fingerprint = Fingerprint(7);

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ms * 1_000_000)
    }

    #[test]
    fn a_type_is_told_within_the_wait_and_not_again_before_it_has_rested() {
        let mut teller = Teller::default();
        teller.asked(TYPE, at(0));
        teller.asked(TYPE, at(1));
        assert!(teller.next_due().unwrap() < at(20));
        assert_eq!(teller.due(at(20)), Some(TYPE));
        assert_eq!((teller.due(at(20)), teller.next_due()), (None, None));
        for ms in 21..420 {
            teller.asked(TYPE, at(ms));
            assert_eq!(
                teller.due(at(ms)),
                None,
                "a flood of questions has one answer"
            );
        }
        teller.asked(TYPE, at(420));
        assert_eq!(teller.due(at(440)), Some(TYPE));
    }

    #[test]
    fn who_hears_it_told_stays_silent() {
        let mut teller = Teller::default();
        teller.asked(TYPE, at(0));
        teller.told(TYPE, at(0));
        teller.asked(TYPE, at(100));
        assert_eq!((teller.due(at(300)), teller.next_due()), (None, None));
    }

    #[test]
    fn tellers_wait_for_different_moments() {
        let dues = (0..20).map(|_| {
            let mut teller = Teller::default();
            teller.asked(TYPE, at(0));
            teller.next_due().unwrap()
        });
        let dues: std::collections::BTreeSet<_> = dues.collect();
        assert!(dues.len() > 15, "{dues:?}");
    }
}
