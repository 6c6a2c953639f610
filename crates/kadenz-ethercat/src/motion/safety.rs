//! What stops all axes: lost devices, missed deadlines, faults, a stop by the handle.

use std::time::Duration;

use super::handle::MotionHandle;
use super::stage::Cause;

/// The tolerated errors. A number is one of cycles in a row; `None` tolerates any number.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Incomplete cycles: a frame was lost, or a device took no part.
    pub lost: Option<u32>,
    /// Deadlines missed in a row: cycles that began late, or not at all. A stall of n beats misses n.
    pub late: Option<u32>,
    /// Whether the fault of one axis stops the others.
    pub stop_on_fault: bool,
    /// How long all drives that answer may take to be enabled; the group waits without limit for a lost one. Ten
    /// seconds more where a drive that answers is not in OP (ETG.1020 allows it that time).
    pub enabling: Duration,
    /// How long an axis may take to come to rest: at the end, after it left operation by itself, and before it is
    /// enabled again. Then the group switches its power off.
    pub braking: Duration,
}

impl Policy {
    /// How many cycles of that length a loop goes on after its flag, so that all axes come to rest
    /// ([`LoopSettings::shutdown_cycles`](crate::control::cyclic::LoopSettings::shutdown_cycles)): the time to brake,
    /// and a second for what comes between.
    #[must_use]
    pub fn shutdown_cycles(&self, cycle: Duration) -> u64 {
        let span = self.braking + Duration::from_secs(1);
        let cycles = span.as_nanos().div_ceil(cycle.as_nanos().max(1));
        u64::try_from(cycles).unwrap_or(u64::MAX)
    }
}

impl Default for Policy {
    /// Ten incomplete cycles, ten late ones, no fault: a drive's own watchdog waits for 100 ms. Ten seconds to be
    /// enabled, for brakes and a drive that starts again. A second to come to rest.
    fn default() -> Self {
        Self {
            lost: Some(10),
            late: Some(10),
            stop_on_fault: true,
            enabling: Duration::from_secs(10),
            braking: Duration::from_secs(1),
        }
    }
}

/// Detects reasons for a stop, and keeps the first until it is reset.
///
/// # Real-time safety
/// Real-time safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Safety {
    policy: Policy,
    lost: u32,
    late: u32,
    cause: Option<Cause>,
    /// The requester of the stop, as the handle numbers it.
    by: u32,
}

impl Safety {
    /// Creates one with a policy.
    #[must_use]
    pub(crate) const fn new(policy: Policy) -> Self {
        Self {
            policy,
            lost: 0,
            late: 0,
            cause: None,
            by: 0,
        }
    }

    /// The tolerated errors.
    #[must_use]
    pub(crate) const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The cause of the stop; `None` while there is none. The first cause stays.
    #[must_use]
    pub(crate) const fn cause(&self) -> Option<Cause> {
        self.cause
    }

    /// The requester of the stop, by the handle's number.
    pub(super) const fn by(&self) -> u32 {
        self.by
    }

    /// Checks a cycle: whether its inputs are complete, how many deadlines were missed since the one before
    /// ([`CycleContext::missed`](crate::control::cyclic::CycleContext::missed)), and the fault of an axis.
    pub(crate) fn check(
        &mut self,
        whole: bool,
        missed: u64,
        fault: Option<Cause>,
    ) -> Option<Cause> {
        let count = |count: u32, bad: u64| match bad {
            0 => 0,
            bad => count.saturating_add(u32::try_from(bad).unwrap_or(u32::MAX)),
        };
        self.lost = count(self.lost, u64::from(!whole));
        self.late = count(self.late, missed);
        let above = |count: u32, most: Option<u32>| most.is_some_and(|most| count > most);
        let cause = if above(self.lost, self.policy.lost) {
            Some(Cause::Lost(self.lost))
        } else if above(self.late, self.policy.late) {
            Some(Cause::Late(self.late))
        } else {
            fault.filter(|_| self.policy.stop_on_fault)
        };
        self.cause = self.cause.or(cause);
        self.cause
    }

    /// Stops for a cause that the caller has found, whatever the policy; the first cause stays.
    pub(crate) fn stop(&mut self, cause: Cause) {
        self.cause = self.cause.or(Some(cause));
    }

    /// Clears the stop and all counters.
    pub(crate) const fn begin(&mut self) {
        *self = Self::new(self.policy);
    }

    /// Polls the handle; returns whether a reset of the current stop is requested ([`begin`](Self::begin)).
    pub(crate) fn poll_handle(&mut self, handle: &MotionHandle) -> bool {
        self.poll(|| handle.take_stop(), || handle.take_reset())
    }

    /// Takes the stop before the reset: a stop that comes after the reset that is taken is taken in the next cycle.
    fn poll(
        &mut self,
        take_stop: impl FnOnce() -> Option<u32>,
        take_reset: impl FnOnce() -> bool,
    ) -> bool {
        let stop = take_stop();
        let reset = take_reset();
        if let Some(by) = stop {
            if self.cause.is_none() {
                self.by = by;
            }
            self.stop(Cause::Asked);
            return false;
        }
        reset && self.cause.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const FAULT: Cause = Cause::Fault {
        axis: 4,
        code: Some(0x3230),
    };

    #[test]
    fn as_many_cycles_in_a_row_as_the_user_says_are_tolerated() {
        let policy = Policy {
            lost: Some(2),
            late: Some(1),
            ..Policy::default()
        };
        let mut safety = Safety::new(policy);
        for whole in [false, false, true, false, false] {
            assert_eq!(safety.check(whole, 0, None), None);
        }
        assert_eq!(safety.check(false, 0, None), Some(Cause::Lost(3)));
        // The cause stays, whatever follows.
        assert_eq!(safety.check(true, 0, Some(FAULT)), Some(Cause::Lost(3)));
        let mut safety = Safety::new(policy);
        assert_eq!(safety.check(true, 1, None), None);
        assert_eq!(safety.check(true, 1, None), Some(Cause::Late(2)));
        let mut safety = Safety::new(policy);
        assert_eq!(safety.check(true, 0, Some(FAULT)), Some(FAULT));
    }

    #[test]
    fn a_stall_counts_as_many_deadlines_as_it_missed() {
        let mut safety = Safety::new(Policy::default());
        assert_eq!(safety.check(true, 10, None), None);
        assert_eq!(safety.check(true, 0, None), None, "in time again");
        assert_eq!(safety.check(true, 4, None), None);
        assert_eq!(safety.check(true, 7, None), Some(Cause::Late(11)));
        let mut safety = Safety::new(Policy::default());
        let most = safety.check(true, u64::MAX, None);
        assert_eq!(most, Some(Cause::Late(u32::MAX)));
    }

    #[test]
    fn a_user_may_tolerate_anything() {
        let mut safety = Safety::new(Policy {
            lost: None,
            late: None,
            stop_on_fault: false,
            ..Policy::default()
        });
        for _ in 0..1000 {
            assert_eq!(safety.check(false, 3, Some(FAULT)), None);
        }
    }

    #[test]
    fn a_stop_stays_until_it_is_reset_and_a_reset_alone_does_nothing() {
        let (mut safety, handle) = (Safety::new(Policy::default()), MotionHandle::default());
        handle.reset();
        assert!(!safety.poll_handle(&handle));
        handle.stop();
        assert!(!safety.poll_handle(&handle));
        assert_eq!(safety.cause(), Some(Cause::Asked));
        // Both at once: the stop wins.
        handle.stop();
        handle.reset();
        assert!(!safety.poll_handle(&handle));
        handle.reset();
        assert!(safety.poll_handle(&handle));
        safety.begin();
        assert_eq!(safety.cause(), None);
    }

    #[test]
    fn a_stop_after_a_reset_stops_also_where_both_come_while_the_handle_is_polled() {
        let (mut safety, handle) = (Safety::new(Policy::default()), MotionHandle::default());
        safety.stop(Cause::Lost(11));
        let is_first = Cell::new(true);
        let meanwhile = || {
            if is_first.take() {
                handle.reset();
                handle.stop();
            }
        };
        for _ in 0..4 {
            let take_stop = || {
                let stop = handle.take_stop();
                meanwhile();
                stop
            };
            let take_reset = || {
                let reset = handle.take_reset();
                meanwhile();
                reset
            };
            if safety.poll(take_stop, take_reset) {
                safety.begin();
            }
        }
        assert_eq!(safety.cause(), Some(Cause::Asked));
    }

    #[test]
    fn shutdown_cycles_last_longer_than_axes_may_brake() {
        let policy = Policy {
            braking: Duration::from_millis(2_500),
            ..Policy::default()
        };
        assert_eq!(policy.shutdown_cycles(Duration::from_millis(1)), 3_500);
        assert_eq!(policy.shutdown_cycles(Duration::from_millis(300)), 12);
        assert_eq!(policy.shutdown_cycles(Duration::from_secs(1)), 4);
    }

    #[test]
    fn causes_name_the_axis_and_what_its_drive_reports() {
        assert_eq!(FAULT.to_string(), "axis 4 has a fault, error code 0x3230");
        let late = Cause::NotEnabled {
            axis: 1,
            status: 0x0250,
        };
        let words =
            "axis 1 was not enabled in time, its status word is 0x0250 (switch on disabled)";
        assert_eq!(late.to_string(), words);
    }
}
