//! A segment's health, cycle by cycle, as the loop notes it for other threads.
//!
//! Assumption: one loop notes; any number of threads read. Guarantee: neither side ever waits. The
//! values of one cycle (states, number of answers) are one word, so a reader never sees half of two
//! cycles; counters are read one by one, and each is right.
//!
//! ```
//! use kadenz_ethercat::control::health::Health;
//! use kadenz_ethercat::main_device::cycle::Outcome;
//!
//! let health = Health::new();
//! let lost = Outcome { sent: 1, ..Outcome::default() };
//! health.note(&lost);
//! let snapshot = health.snapshot();
//! assert_eq!((snapshot.cycles, snapshot.lost, snapshot.silent), (1, 1, 1));
//! assert!(!snapshot.is_well(59));
//! ```

use serde::{Deserialize, Serialize};

use super::cyclic::{CycleReport, Observer};
use crate::main_device::cycle::Outcome;
use crate::main_device::link::LinkCounts;
use crate::sync::{AtomicU64, Ordering};
use crate::wire::{AlStatus, State};

/// Marks in [`Health::latest`] that the states of all came back with the last cycle.
const HAS_STATES: u64 = 1 << 63;
/// Marks that the last cycle was whole.
const WHOLE: u64 = 1 << 62;

/// The loop's record of the segment, as numbers that threads share.
///
/// # Real-time safety
/// No method allocates, locks or waits.
#[derive(Debug, Default)]
pub struct Health {
    /// The states of all, ORed, in bits 0 to 15, the number of answers in bits 16 to 31, and the two
    /// marks above.
    latest: AtomicU64,
    cycles: AtomicU64,
    whole: AtomicU64,
    lost: AtomicU64,
    wrong: AtomicU64,
    /// Working counter of the last wrong frame, and the expected one.
    wrong_last: AtomicU64,
    silent: AtomicU64,
    system_time: AtomicU64,
    link: [AtomicU64; 7],
}

/// The values that the loop noted up to now.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "Vitals")
)]
pub struct HealthSnapshot {
    /// Cycles of the loop.
    pub cycles: u64,
    /// Cycles in which every frame came back with the right working counter.
    pub whole: u64,
    /// Frames of process data that did not come back in their cycle.
    pub lost: u64,
    /// Frames that came back with a wrong working counter.
    pub wrong: u64,
    /// The working counters of the last cycle that had a wrong one.
    pub wrong_last: u32,
    /// The expected working counters.
    pub wrong_expected: u32,
    /// Cycles in a row, up to now, in which nothing came back.
    pub silent: u64,
    /// Whether the last cycle was whole.
    pub is_whole: bool,
    /// AL status of all SubDevices, ORed, as of the last cycle; `None` when it did not come back.
    pub states: Option<u16>,
    /// How many SubDevices answered then.
    pub answered: u16,
    /// The reference clock when it came last, ns; 0 for never.
    pub system_time_ns: u64,
    /// Counts of all frames on the link.
    pub link: LinkCounts,
}

impl HealthSnapshot {
    /// Whether, in the last cycle, that many SubDevices were there, all in OP without an error, and
    /// every working counter was right.
    #[must_use]
    pub fn is_well(&self, devices: u16) -> bool {
        let op = AlStatus::new(State::Op, false).0;
        self.is_whole && self.answered == devices && self.states.is_some_and(|it| it & 0x1F == op)
    }
}

impl Health {
    /// A record with nothing noted yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes a cycle; for the loop.
    ///
    /// # Real-time safety
    /// It neither allocates, locks nor waits.
    pub fn note(&self, outcome: &Outcome) {
        let states = outcome.states.map_or(0, |(status, count)| {
            HAS_STATES | u64::from(count) << 16 | u64::from(status.0)
        });
        let whole = if outcome.is_whole() { WHOLE } else { 0 };
        let lost = u64::from(outcome.sent.saturating_sub(outcome.answered));
        let wrong = u64::from(outcome.answered.saturating_sub(outcome.whole));
        add(&self.cycles, 1);
        add(&self.whole, u64::from(outcome.is_whole()));
        add(&self.lost, lost);
        add(&self.wrong, wrong);
        if wrong > 0 {
            let both = u64::from(outcome.expected) << 32 | u64::from(outcome.working_counter);
            self.wrong_last.store(both, Ordering::Relaxed);
        }
        match outcome.answered {
            0 => add(&self.silent, 1),
            _ => self.silent.store(0, Ordering::Relaxed),
        }
        if let Some(time) = outcome.system_time_ns {
            self.system_time.store(time, Ordering::Relaxed);
        }
        // Last, so that a reader that sees this cycle's word sees its counters too.
        self.latest.store(states | whole, Ordering::Release);
    }

    /// Notes the counts of the link's frames; for the loop, at any time.
    ///
    /// # Real-time safety
    /// It neither allocates, locks nor waits.
    pub(crate) fn note_link(&self, counts: &LinkCounts) {
        let all = [
            counts.sent,
            counts.refused,
            counts.answered,
            counts.lost,
            counts.late,
            counts.foreign,
            counts.damaged,
        ];
        for (word, count) in self.link.iter().zip(all) {
            word.store(count, Ordering::Relaxed);
        }
    }

    /// Returns the values noted.
    ///
    /// # Real-time safety
    /// It neither allocates nor waits.
    #[must_use]
    pub fn snapshot(&self) -> HealthSnapshot {
        let latest = self.latest.load(Ordering::Acquire);
        let get = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let [sent, refused, answered, lost, late, foreign, damaged] = self.link.each_ref().map(get);
        let wrong_last = get(&self.wrong_last);
        HealthSnapshot {
            cycles: get(&self.cycles),
            whole: get(&self.whole),
            lost: get(&self.lost),
            wrong: get(&self.wrong),
            wrong_last: wrong_last as u32,
            wrong_expected: (wrong_last >> 32) as u32,
            silent: get(&self.silent),
            is_whole: latest & WHOLE != 0,
            states: (latest & HAS_STATES != 0).then_some(latest as u16),
            answered: (latest >> 16) as u16,
            system_time_ns: get(&self.system_time),
            link: LinkCounts {
                sent,
                refused,
                answered,
                lost,
                late,
                foreign,
                damaged,
            },
        }
    }
}

/// The loop notes each cycle when this is among its observers.
impl Observer for &Health {
    fn cycle(&mut self, report: &CycleReport<'_>) {
        if let Some(outcome) = &report.outcome {
            self.note(outcome);
        }
        self.note_link(&report.counts);
    }
}

/// One thread writes, so reading and writing need not be one step.
fn add(word: &AtomicU64, more: u64) {
    word.store(
        word.load(Ordering::Relaxed).wrapping_add(more),
        Ordering::Relaxed,
    );
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn good() -> Outcome {
        Outcome {
            sent: 1,
            answered: 1,
            whole: 1,
            working_counter: 9,
            expected: 9,
            states: Some((AlStatus::new(State::Op, false), 3)),
            system_time_ns: Some(77),
        }
    }

    #[test]
    fn a_segment_is_well_when_all_are_there_in_op_and_took_part() {
        let health = Health::new();
        assert!(!health.snapshot().is_well(0), "nothing was noted yet");
        health.note(&good());
        assert!(health.snapshot().is_well(3) && !health.snapshot().is_well(4));
        assert_eq!(health.snapshot().system_time_ns, 77);
        let states = Some((AlStatus(0x18), 3));
        health.note(&Outcome { states, ..good() });
        assert!(!health.snapshot().is_well(3), "an error stands");
    }

    #[test]
    fn each_kind_of_failure_has_its_counter() {
        let health = Health::new();
        for outcome in [
            Outcome {
                sent: 2,
                ..Outcome::default()
            },
            Outcome {
                sent: 1,
                ..Outcome::default()
            },
            Outcome {
                whole: 0,
                working_counter: 7,
                ..good()
            },
        ] {
            health.note(&outcome);
        }
        let snapshot = health.snapshot();
        assert_eq!((snapshot.cycles, snapshot.whole), (3, 0));
        assert_eq!((snapshot.lost, snapshot.wrong), (3, 1));
        assert_eq!((snapshot.wrong_last, snapshot.wrong_expected), (7, 9));
        assert_eq!(snapshot.silent, 0, "the last one came back");
    }

    #[test]
    fn noting_allocates_nothing() {
        let health = Health::new();
        let counted = allocation_counter::measure(|| {
            health.note(&good());
            health.note_link(&LinkCounts::default());
        });
        assert_eq!(counted.count_total, 0);
    }
}
