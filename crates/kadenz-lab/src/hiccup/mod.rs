//! jHiccup's measurement, for any operating system and any program.
//!
//! A thread sleeps for a resolution, again and again, and records how much longer each sleep took
//! than the shortest one seen: the *hiccup* that any other program on the machine would have felt
//! too. Beside it stands the value against the intended time, which does not depend on the
//! shortest sleep.

mod experiment;

pub use experiment::{
    HiccupExperiment, HiccupOutcome, HiccupPlan, HiccupRecorders, experiment, hiccup,
};

// What to record for one sleep. Sans-IO.

/// jHiccup's algorithm, and the same against the intended time.
///
/// For each sleep of the resolution *R* that took *d*: the hiccup is *h* = *d* - shortest *d* seen
/// so far, the lateness is *d* - *R*. Both are followed by their value less *R*, less 2*R*, ...
/// while that is at least *R*: what the sleepers that would have come during the stall would have
/// felt (correction for coordinated omission).
/// Source: jHiccup 2.0, `HiccupRecorder`.
///
/// The first hiccups are too small while the shortest sleep still falls; the lateness is not.
///
/// ```
/// use kadenz_lab::hiccup::HiccupMeter;
/// let mut meter = HiccupMeter::new(1_000_000);
/// assert_eq!(meter.woke(1_060_000).hiccup_ns, 0);
/// let third = meter.woke(3_070_000);
/// assert_eq!(third.hiccup_ns, 2_010_000);
/// assert_eq!(third.lateness_ns, 2_070_000);
/// ```
#[derive(Clone, Debug)]
pub struct HiccupMeter {
    resolution_ns: i64,
    shortest_ns: i64,
}

/// What one sleep gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hiccup {
    /// Duration less the shortest duration seen.
    pub hiccup_ns: i64,
    /// Duration less the resolution; negative when the sleep returned early.
    pub lateness_ns: i64,
}

impl HiccupMeter {
    /// A meter for sleeps of `resolution_ns`.
    pub fn new(resolution_ns: u64) -> Self {
        Self {
            resolution_ns: i64::try_from(resolution_ns).unwrap_or(i64::MAX).max(1),
            shortest_ns: i64::MAX,
        }
    }

    /// Takes one sleep that took `duration_ns`.
    ///
    /// # Real-time safety
    /// No allocation, lock or system call.
    pub fn woke(&mut self, duration_ns: i64) -> Hiccup {
        self.shortest_ns = self.shortest_ns.min(duration_ns);
        Hiccup {
            hiccup_ns: duration_ns - self.shortest_ns,
            lateness_ns: duration_ns - self.resolution_ns,
        }
    }

    /// The last of what the omitted sleepers would have felt, and how many values that are with
    /// `value_ns` itself, the first: one a resolution.
    ///
    /// # Real-time safety
    /// No allocation, lock or system call.
    #[must_use]
    pub(crate) fn last_omitted(&self, value_ns: i64) -> (i64, u64) {
        let omitted = (value_ns / self.resolution_ns - 1).max(0);
        let last_ns = value_ns - omitted * self.resolution_ns;
        (last_ns, omitted.unsigned_abs() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_stall_of_three_seconds_is_felt_three_thousand_times() {
        let meter = HiccupMeter::new(1_000_000);
        assert_eq!(meter.last_omitted(3_000_000_000), (1_000_000, 3000));
    }

    #[test]
    fn below_two_resolutions_nothing_was_omitted() {
        let meter = HiccupMeter::new(1_000_000);
        assert_eq!(meter.last_omitted(1_999_999), (1_999_999, 1));
        assert_eq!(meter.last_omitted(2_000_000), (1_000_000, 2));
        assert_eq!(meter.last_omitted(-5), (-5, 1));
    }

    #[test]
    fn an_early_sleep_is_negative_lateness_and_no_hiccup() {
        let mut meter = HiccupMeter::new(1_000_000);
        let hiccup = meter.woke(990_000);
        assert_eq!(hiccup.lateness_ns, -10_000);
        assert_eq!(hiccup.hiccup_ns, 0);
    }

    proptest! {
        #[test]
        fn hiccups_are_never_negative(durations in prop::collection::vec(0i64..10_000_000, 1..200)) {
            let mut meter = HiccupMeter::new(1_000_000);
            for duration in durations {
                prop_assert!(meter.woke(duration).hiccup_ns >= 0);
            }
        }
    }
}
