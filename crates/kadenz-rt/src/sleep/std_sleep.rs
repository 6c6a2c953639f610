use super::{Sleeper, SleeperKind};
use crate::clock::{MonotonicTime, now};

/// [`std::thread::sleep`] for the span that remains.
#[derive(Debug, Default)]
pub(super) struct StdSleep {
    early_returns: u64,
}

impl Sleeper for StdSleep {
    #[inline]
    fn sleep_until(&mut self, deadline: MonotonicTime) {
        let mut time = now();
        while time < deadline {
            std::thread::sleep(deadline.remaining(time));
            time = now();
            self.early_returns += u64::from(time < deadline);
        }
    }

    fn name(&self) -> &'static str {
        SleeperKind::Std.as_str()
    }

    fn early_returns(&self) -> u64 {
        self.early_returns
    }
}
