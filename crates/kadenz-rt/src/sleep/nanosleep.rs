use super::{Sleeper, SleeperKind};
use crate::clock::MonotonicTime;
use crate::os::linux::sleep::nanosleep_until;

/// `clock_nanosleep` with an absolute deadline: the kernel compares with the clock, so it cannot
/// return early but for a signal.
#[derive(Debug, Default)]
pub(super) struct Nanosleep {
    early_returns: u64,
}

impl Sleeper for Nanosleep {
    #[inline]
    fn sleep_until(&mut self, deadline: MonotonicTime) {
        while !nanosleep_until(deadline.as_ns()) {
            self.early_returns += 1;
        }
    }

    fn name(&self) -> &'static str {
        SleeperKind::Nanosleep.as_str()
    }

    fn early_returns(&self) -> u64 {
        self.early_returns
    }
}
