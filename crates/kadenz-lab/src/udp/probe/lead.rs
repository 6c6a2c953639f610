//! By how much the wall clock is ahead of the run's time, and since when it was not set.

use kadenz_rt::clock::{ClockPair, MonotonicTime};
use kadenz_udp::clock_fit::Span;

/// The wall clock's lead over the run's time. On Linux it changes only where the wall clock is set:
/// slewing, as PTP and NTP do, moves the sleep clock as well ([`kadenz_rt::clock::WallBridge`]).
#[derive(Clone, Copy, Debug)]
pub(super) struct Lead {
    origin: MonotonicTime,
    /// Since the wall clock was last seen to be set: when that was, and the closest pair.
    steady_since: MonotonicTime,
    closest: ClockPair,
    last: ClockPair,
    /// How often it was set.
    pub(super) steps: u64,
}

impl Lead {
    /// Begins with a pair that is read before the first exchange.
    pub(super) fn starting_with(origin: MonotonicTime, pair: ClockPair) -> Self {
        Self {
            origin,
            steady_since: pair.monotonic(),
            closest: pair,
            last: pair,
            steps: 0,
        }
    }

    /// Takes a pair that is later than all exchanges that it will be asked about.
    pub(super) fn observe(&mut self, pair: ClockPair) {
        let ((low, high), (now_low, now_high)) = (self.last.lead_ns(), pair.lead_ns());
        let steady = now_low <= high && low <= now_high;
        self.last = pair;
        if !steady {
            self.steps += 1;
            self.steady_since = pair.monotonic();
        }
        if !steady || pair.error_ns() < self.closest.error_ns() {
            self.closest = pair;
        }
    }

    /// By how much the wall clock is ahead of the run's time since `sent_ns` of that; `None` if it was
    /// set after.
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
        let mut lead =
            Lead::starting_with(MonotonicTime::from_ns(5 * MS), pair(6 * MS, 400, 1_000));
        lead.observe(pair(26 * MS, 40, 1_000));
        lead.observe(pair(46 * MS, 4_000, 1_000));
        let span = lead.since(2 * MS as i64).unwrap();
        let truth = 5 * MS as i128 + 1_000;
        assert_eq!((span.lowest, span.highest), (truth - 20, truth + 20));
        assert_eq!(lead.steps, 0);
    }

    #[test]
    fn nothing_is_said_across_a_step() {
        let mut lead = Lead::starting_with(MonotonicTime::from_ns(0), pair(0, 40, 1_000));
        lead.observe(pair(20 * MS, 40, 1_000));
        lead.observe(pair(40 * MS, 400, -7_000_000));
        assert_eq!((lead.steps, lead.since(39 * MS as i64)), (1, None));
        lead.observe(pair(60 * MS, 40, -7_000_000));
        let span = lead.since(41 * MS as i64).unwrap();
        assert_eq!((span.lowest, span.highest), (-7_000_020, -6_999_980));
        assert_eq!(lead.since(39 * MS as i64), None);
    }
}
