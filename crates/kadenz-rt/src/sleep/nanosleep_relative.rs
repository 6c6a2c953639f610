use super::{Sleeper, SleeperKind};
use crate::clock::{MonotonicTime, now};
use crate::os::nanosleep_for;

/// `nanosleep` with the span that remains: whatever happens between reading the clock and falling
/// asleep is added to the lateness.
#[derive(Debug, Default)]
pub(super) struct NanosleepRelative {
    early_returns: u64,
}

impl Sleeper for NanosleepRelative {
    #[inline]
    fn sleep_until(&mut self, deadline: MonotonicTime) {
        let mut time = now();
        while time < deadline {
            nanosleep_for(deadline.as_ns() - time.as_ns());
            time = now();
            self.early_returns += u64::from(time < deadline);
        }
    }

    fn name(&self) -> &'static str {
        SleeperKind::NanosleepRelative.as_str()
    }

    fn early_returns(&self) -> u64 {
        self.early_returns
    }
}
