//! By how much the wall clock leads the sleep clock, and whether somebody set it.

use kadenz_rt::clock::{ClockPair, MonotonicTime, WallTime};

/// What all pairs of readings since the beginning allow the wall clock's lead over the sleep clock to
/// be. NTP's slewing moves both clocks alike on Linux, so that it stays the same until somebody sets
/// the wall clock (see [`kadenz_rt::clock::WallBridge`], which is for stamps of the last moments; here
/// a stamp may be of any age).
#[derive(Debug, Clone, Copy)]
pub(super) struct Lead {
    low: i128,
    high: i128,
}

/// The wall clock was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stepped {
    /// By about so much, in nanoseconds; positive when it was put forward.
    pub(super) by_ns: i64,
}

impl Lead {
    pub(super) fn of(pair: &ClockPair) -> Self {
        let (low, high) = pair.lead_ns();
        Self { low, high }
    }

    /// Takes another pair: what both allow is the lead.
    pub(super) fn observe(&mut self, pair: &ClockPair) -> Result<(), Stepped> {
        let (low, high) = pair.lead_ns();
        if high < self.low || self.high < low {
            let by = (low + high - self.low - self.high) / 2;
            return Err(Stepped { by_ns: narrow(by) });
        }
        self.low = self.low.max(low);
        self.high = self.high.min(high);
        Ok(())
    }

    /// From a stamp of the wall clock until a moment of the sleep clock, in nanoseconds.
    pub(super) fn between(&self, stamp: WallTime, moment: MonotonicTime) -> i64 {
        let lead = (self.low + self.high) / 2;
        narrow(i128::from(moment.as_ns()) + lead - i128::from(stamp.as_unix_ns()))
    }

    /// How far that may be off, either way.
    pub(super) fn error_ns(&self) -> i64 {
        narrow((self.high - self.low + 1) / 2)
    }
}

fn narrow(ns: i128) -> i64 {
    ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAD: i64 = 1_000_000_000_000;

    fn pair(at: u64, width: u64, lead: i64) -> ClockPair {
        let wall = WallTime::from_unix_ns(at as i64 + lead);
        let before = MonotonicTime::from_ns(at - width / 2);
        ClockPair::from_readings(before, wall, MonotonicTime::from_ns(at + width / 2))
    }

    #[test]
    fn a_stamp_of_any_age_is_held_against_the_sleep_clock() {
        let mut lead = Lead::of(&pair(1_000_000, 200, LEAD));
        lead.observe(&pair(5_000_000, 100, LEAD)).unwrap();
        let stamp = WallTime::from_unix_ns(LEAD + 2_000_000);
        assert_eq!(
            lead.between(stamp, MonotonicTime::from_ns(9_000_000)),
            7_000_000
        );
        assert_eq!(lead.error_ns(), 50);
    }

    #[test]
    fn a_clock_that_is_set_is_noticed_by_more_than_the_pairs_are_wide() {
        let mut lead = Lead::of(&pair(1_000_000, 200, LEAD));
        assert_eq!(lead.observe(&pair(2_000_000, 200, LEAD + 150)), Ok(()));
        let stepped = lead.observe(&pair(3_000_000, 200, LEAD - 5_000));
        assert!(stepped.is_err_and(|it| (-5_200..-4_900).contains(&it.by_ns)));
    }
}
