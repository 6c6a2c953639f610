use super::{Sleeper, SleeperKind};
use crate::clock::{MonotonicTime, now};
use crate::os::macos::{prepare, wait_for};

/// `mach_wait_until` on Mach's absolute time, which [`std::time::Instant`] reads too.
#[derive(Debug)]
pub(super) struct MachWait {
    early_returns: u64,
}

impl MachWait {
    pub(super) fn new() -> Self {
        prepare();
        Self { early_returns: 0 }
    }
}

impl Sleeper for MachWait {
    #[inline]
    fn sleep_until(&mut self, deadline: MonotonicTime) {
        let mut time = now();
        while time < deadline {
            wait_for(deadline.as_ns() - time.as_ns());
            time = now();
            self.early_returns += u64::from(time < deadline);
        }
    }

    fn name(&self) -> &'static str {
        SleeperKind::MachWait.as_str()
    }

    fn early_returns(&self) -> u64 {
        self.early_returns
    }
}
