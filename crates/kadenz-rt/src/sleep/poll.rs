use super::{Sleeper, SleeperKind};
use crate::clock::{MonotonicTime, now};
use crate::os::linux::sleep::poll_for;

/// `ppoll` on no descriptors. The older `poll` counts milliseconds; this one counts nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Poll {
    early_returns: u64,
}

impl Sleeper for Poll {
    #[inline]
    fn sleep_until(&mut self, deadline: MonotonicTime) {
        let mut time = now();
        while time < deadline {
            poll_for(deadline.as_ns() - time.as_ns());
            time = now();
            self.early_returns += u64::from(time < deadline);
        }
    }

    fn name(&self) -> &'static str {
        SleeperKind::Poll.as_str()
    }

    fn early_returns(&self) -> u64 {
        self.early_returns
    }
}
