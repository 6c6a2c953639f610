use std::io;

use super::{Sleeper, SleeperKind};
use crate::clock::{MonotonicTime, now};
use crate::os::linux::condvar::TimedCondvar;

/// A condition variable that nobody signals, waiting against `CLOCK_MONOTONIC`.
pub(super) struct Condvar {
    condvar: TimedCondvar,
    early_returns: u64,
}

impl Condvar {
    pub(super) fn create() -> io::Result<Self> {
        Ok(Self {
            condvar: TimedCondvar::create()?,
            early_returns: 0,
        })
    }
}

impl Sleeper for Condvar {
    #[inline]
    fn sleep_until(&mut self, deadline: MonotonicTime) {
        while now() < deadline {
            let timed_out = self.condvar.wait_until(deadline.as_ns());
            self.early_returns += u64::from(!timed_out);
        }
    }

    fn name(&self) -> &'static str {
        SleeperKind::Condvar.as_str()
    }

    fn early_returns(&self) -> u64 {
        self.early_returns
    }
}
