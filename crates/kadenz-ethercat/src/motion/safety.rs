//! What stops all axes: lost devices, missed deadlines, faults, a hand on the switch.

use std::sync::atomic::{AtomicBool, Ordering};

/// What is tolerated. A number is of cycles in a row; `None` for any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Cycles whose frames did not come back whole: a frame was lost, or a device took no part.
    pub lost: Option<u32>,
    /// Cycles that began late, since the one before was not done.
    pub late: Option<u32>,
    /// Whether the fault of one axis stops the others.
    pub stop_on_fault: bool,
}

impl Default for Policy {
    /// Ten lost cycles, ten late ones, no fault: a drive's own watchdog waits for 100 ms.
    fn default() -> Self {
        Self {
            lost: Some(10),
            late: Some(10),
            stop_on_fault: true,
        }
    }
}

/// Why all axes were stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// So many cycles in a row did not come back whole.
    Lost(u32),
    /// So many cycles in a row began late.
    Late(u32),
    /// The axis of that number left its operation by itself.
    Fault(usize),
    /// Somebody asked for it.
    Asked,
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lost(cycles) => write!(f, "{cycles} cycles in a row did not come back whole"),
            Self::Late(cycles) => write!(f, "{cycles} cycles in a row began late"),
            Self::Fault(axis) => write!(f, "axis {axis} stopped by itself"),
            Self::Asked => f.write_str("somebody asked for it"),
        }
    }
}

/// What other threads may ask for. Whoever holds a reference may stop; a reset is heard while it is stopped.
#[derive(Debug, Default)]
pub struct Switch {
    stop: AtomicBool,
    reset: AtomicBool,
}

impl Switch {
    /// Stops all axes, in the next cycle.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Lets them go on after a stop, whatever its cause; faults are reset.
    pub fn reset(&self) {
        self.reset.store(true, Ordering::Release);
    }
}

/// Watches, and stays with a stop until it is reset. Real-time safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Safety {
    policy: Policy,
    lost: u32,
    late: u32,
    cause: Option<Cause>,
}

impl Safety {
    /// By a policy.
    #[must_use]
    pub const fn new(policy: Policy) -> Self {
        Self {
            policy,
            lost: 0,
            late: 0,
            cause: None,
        }
    }

    /// Why it stopped; `None` while all is well. The first cause stays.
    #[must_use]
    pub const fn cause(&self) -> Option<Cause> {
        self.cause
    }

    /// Looks at a cycle: whether its inputs came whole, whether it began late, and which axis has a fault.
    pub fn look(&mut self, whole: bool, late: bool, fault: Option<usize>) -> Option<Cause> {
        let count = |count: u32, bad: bool| if bad { count.saturating_add(1) } else { 0 };
        self.lost = count(self.lost, !whole);
        self.late = count(self.late, late);
        let above = |count: u32, most: Option<u32>| most.is_some_and(|most| count > most);
        let cause = if above(self.lost, self.policy.lost) {
            Some(Cause::Lost(self.lost))
        } else if above(self.late, self.policy.late) {
            Some(Cause::Late(self.late))
        } else {
            fault
                .filter(|_| self.policy.stop_on_fault)
                .map(Cause::Fault)
        };
        self.cause = self.cause.or(cause);
        self.cause
    }

    /// Hears the switch; whether it was reset now.
    pub fn hear(&mut self, switch: &Switch) -> bool {
        let reset = switch.reset.swap(false, Ordering::AcqRel);
        if switch.stop.swap(false, Ordering::AcqRel) {
            self.cause = self.cause.or(Some(Cause::Asked));
            return false;
        }
        let resets = reset && self.cause.is_some();
        if resets {
            *self = Self::new(self.policy);
        }
        resets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_cycles_in_a_row_as_the_user_says_are_tolerated() {
        let policy = Policy {
            lost: Some(2),
            late: Some(1),
            stop_on_fault: true,
        };
        let mut safety = Safety::new(policy);
        for whole in [false, false, true, false, false] {
            assert_eq!(safety.look(whole, false, None), None);
        }
        assert_eq!(safety.look(false, false, None), Some(Cause::Lost(3)));
        // It stays, whatever comes.
        assert_eq!(safety.look(true, false, Some(4)), Some(Cause::Lost(3)));
        let mut safety = Safety::new(policy);
        assert_eq!(safety.look(true, true, None), None);
        assert_eq!(safety.look(true, true, None), Some(Cause::Late(2)));
        let mut safety = Safety::new(policy);
        assert_eq!(safety.look(true, false, Some(4)), Some(Cause::Fault(4)));
    }

    #[test]
    fn a_user_may_tolerate_anything() {
        let mut safety = Safety::new(Policy {
            lost: None,
            late: None,
            stop_on_fault: false,
        });
        for _ in 0..1000 {
            assert_eq!(safety.look(false, true, Some(1)), None);
        }
    }

    #[test]
    fn a_stop_stays_until_it_is_reset_and_a_reset_alone_does_nothing() {
        let (mut safety, switch) = (Safety::new(Policy::default()), Switch::default());
        switch.reset();
        assert!(!safety.hear(&switch));
        switch.stop();
        assert!(!safety.hear(&switch));
        assert_eq!(safety.cause(), Some(Cause::Asked));
        // Both at once: the stop wins.
        switch.stop();
        switch.reset();
        assert!(!safety.hear(&switch));
        switch.reset();
        assert!(safety.hear(&switch));
        assert_eq!(safety.cause(), None);
    }
}
