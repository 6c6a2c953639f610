//! Claims about clocks: the error of one-way times, the source of the claim, and what contradicts it.

use std::time::Duration;

use kadenz_record::run::model::Warning;
use kadenz_record::run::network::{FROM_DEVICE, TO_DEVICE};
use kadenz_rt::clock::{self, ClockPair, MonotonicTime, Synchronisation};
use kadenz_udp::clock_fit::Span;

use super::one_way::{OneWayFacts, Synchronised};
use super::{Clocks, ProbePlan};
use crate::session::Ongoing;

/// Readings of both clocks at once, of which the closest counts.
const TRIES: u32 = 5;

/// The claim that wall clocks agree within `apart`, for a run whose time begins at `origin`. Made before
/// the first packet leaves.
pub(super) fn synchronised(apart: Duration, origin: MonotonicTime) -> Synchronised {
    Synchronised {
        apart_ns: nanoseconds(apart),
        offset: WallClockOffset::starting_with(origin, ClockPair::read(TRIES)),
        read: Box::new(|| ClockPair::read(TRIES)),
    }
}

/// Notes in the run the error of the ways there and back, and by which clocks they were measured.
pub(super) fn note_ways(ongoing: &Ongoing, plan: &ProbePlan, facts: OneWayFacts) {
    let by = clock_basis(plan.clocks, facts);
    let error_ns = facts.error_ns;
    ongoing.running.update(|run| {
        run.insert_found("one_way_error_ns", error_ns);
        run.parameters
            .insert("one_way_by".to_owned(), by.as_str().into());
        for series in &mut run.series {
            if [TO_DEVICE, FROM_DEVICE].contains(&series.value()) {
                let words = format!(", {by}, true within {error_ns} ns");
                series.description.push_str(&words);
            }
        }
    });
    let kept = clock::synchronisation();
    ongoing.running.add_warnings(warnings(plan, facts, kept));
}

fn clock_basis(clocks: Clocks, facts: OneWayFacts) -> String {
    let apart = match clocks {
        Clocks::Synchronised { apart } if facts.by_claim > 0 => nanoseconds(apart),
        _ => return "fitted to each other".to_owned(),
    };
    let claim = format!("synchronised and said to agree within {apart} ns");
    match facts.settled - facts.by_claim {
        0 => claim,
        others => format!("{claim}, {others} round trips fitted to each other"),
    }
}

/// Warnings against the one-way times.
fn warnings(plan: &ProbePlan, facts: OneWayFacts, kept: Synchronisation) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let Clocks::Synchronised { apart } = plan.clocks {
        warnings.extend(refuted(nanoseconds(apart), facts));
        let elsewhere = plan.devices.iter().any(|it| !it.address.ip().is_loopback());
        warnings.extend(free(kept).filter(|_| elsewhere));
    }
    warnings.extend(unknown(facts));
    warnings
}

fn refuted(apart_ns: u64, facts: OneWayFacts) -> Option<Warning> {
    let OneWayFacts {
        refuted,
        beyond_ns,
        by_claim,
        ..
    } = facts;
    let text = format!(
        "the clocks are said to agree within {apart_ns} ns, and {refuted} of the devices cannot: with them packets would \
         have come before they were sent, by at least {beyond_ns} ns more than that. Their clocks were fitted from then on; \
         the ways of {by_claim} round trips rest on what is said"
    );
    let remedy = "see that ptp4l and phc2sys, or chronyd, keep the wall clocks of both, that the device stamps with it \
                  (`kadenz udp echo --stamps wall`), and that --clock-error is not too small; or take --clocks fitted";
    (refuted > 0).then(|| Warning::new("clocks_contradict", text, Some(remedy)))
}

fn free(kept: Synchronisation) -> Option<Warning> {
    (kept == Synchronisation::Free).then(|| {
        Warning::new(
            "wall_clock_free",
            "the clocks are said to agree, but this machine's kernel reports that nothing keeps its \
               wall clock",
            Some("see `chronyc tracking`, or whether phc2sys runs; or take --clocks fitted"),
        )
    })
}

fn unknown(facts: OneWayFacts) -> Option<Warning> {
    let OneWayFacts {
        settled, unsettled, ..
    } = facts;
    let text = format!(
        "of {unsettled} round trips, beside {settled} others, it is unknown how long each way took: a device's clock \
         stepped, or counts in longer steps than was said"
    );
    let remedy = Some("see --device-resolution; their round trips were recorded nevertheless");
    (unsettled > 0).then(|| Warning::new("ways_unknown", text, remedy))
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

// How far the wall clock is ahead of the run's time, and since when it was not set.

/// The wall clock's lead over the run's time. On Linux it changes only where the wall clock is set:
/// slewing, as PTP and NTP do, moves the sleep clock as well ([`kadenz_rt::clock::WallBridge`]).
#[derive(Clone, Copy, Debug)]
pub(super) struct WallClockOffset {
    origin: MonotonicTime,
    /// Since the last step of the wall clock: when that was, and the closest pair of readings.
    steady_since: MonotonicTime,
    closest: ClockPair,
    last: ClockPair,
}

impl WallClockOffset {
    /// Begins with a pair that is read before the first exchange.
    pub(super) fn starting_with(origin: MonotonicTime, pair: ClockPair) -> Self {
        Self {
            origin,
            steady_since: pair.monotonic(),
            closest: pair,
            last: pair,
        }
    }

    /// Takes a pair of readings, later than all exchanges for which the lead is queried.
    pub(super) fn observe(&mut self, pair: ClockPair) {
        let ((low, high), (now_low, now_high)) = (self.last.lead_ns(), pair.lead_ns());
        let steady = now_low <= high && low <= now_high;
        self.last = pair;
        if !steady {
            self.steady_since = pair.monotonic();
        }
        if !steady || pair.error_ns() < self.closest.error_ns() {
            self.closest = pair;
        }
    }

    /// How far the wall clock is ahead of the run's time since `sent_ns` of that; `None` if it was set afterwards.
    pub(super) fn since(&self, sent_ns: i64) -> Option<Span> {
        if self.origin.offset_by_ns(sent_ns) < self.steady_since {
            return None;
        }
        let (low, high) = self.closest.lead_ns();
        let origin = i128::from(self.origin.as_ns());
        Some(Span {
            lowest: low + origin,
            highest: high + origin,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: Clocks = Clocks::Synchronised {
        apart: Duration::from_micros(1),
    };

    #[test]
    fn the_run_says_which_clocks_its_ways_rest_on() {
        let facts = |settled, by_claim| OneWayFacts {
            settled,
            by_claim,
            ..OneWayFacts::default()
        };
        let said = "synchronised and said to agree within 1000 ns";
        assert_eq!(clock_basis(SAID, facts(9, 9)), said);
        assert_eq!(
            clock_basis(SAID, facts(9, 4)),
            format!("{said}, 5 round trips fitted to each other")
        );
        for clocks in [SAID, Clocks::Fitted] {
            assert_eq!(clock_basis(clocks, facts(9, 0)), "fitted to each other");
        }
    }

    #[test]
    fn what_speaks_against_a_claim_is_said() {
        assert_eq!(refuted(1000, OneWayFacts::default()), None);
        let facts = OneWayFacts {
            refuted: 1,
            beyond_ns: 2_900_000,
            ..OneWayFacts::default()
        };
        let text = refuted(1000, facts).map(|it| it.text).unwrap_or_default();
        assert!(text.contains("at least 2900000 ns"), "{text}");
        assert!(free(Synchronisation::Free).is_some());
        assert_eq!(free(Synchronisation::Kept { within_ns: 5 }), None);
        assert_eq!(free(Synchronisation::Unknown), None);
    }
}

#[cfg(test)]
mod lead_tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use kadenz_rt::clock::WallTime;

    use super::*;

    const MS: u64 = 1_000_000;

    /// The wall clock, `lead` ahead, is read within `width` from `at`, all in ns.
    fn pair(at: u64, width: u64, lead: i64) -> ClockPair {
        let time = MonotonicTime::from_ns;
        let wall = WallTime::from_unix_ns((at + width / 2).cast_signed() + lead);
        ClockPair::from_readings(time(at), wall, time(at + width))
    }

    #[test]
    fn the_closest_pair_counts() {
        let mut lead = WallClockOffset::starting_with(
            MonotonicTime::from_ns(5 * MS),
            pair(6 * MS, 400, 1_000),
        );
        lead.observe(pair(26 * MS, 40, 1_000));
        lead.observe(pair(46 * MS, 4_000, 1_000));
        let span = lead.since(2 * MS as i64).unwrap();
        let truth = 5 * MS as i128 + 1_000;
        assert_eq!((span.lowest, span.highest), (truth - 20, truth + 20));
    }

    #[test]
    fn nothing_is_said_across_a_step() {
        let mut lead =
            WallClockOffset::starting_with(MonotonicTime::from_ns(0), pair(0, 40, 1_000));
        lead.observe(pair(20 * MS, 40, 1_000));
        lead.observe(pair(40 * MS, 400, -7_000_000));
        assert_eq!(lead.since(39 * MS as i64), None);
        lead.observe(pair(60 * MS, 40, -7_000_000));
        let span = lead.since(41 * MS as i64).unwrap();
        assert_eq!((span.lowest, span.highest), (-7_000_020, -6_999_980));
        assert_eq!(lead.since(39 * MS as i64), None);
    }
}
