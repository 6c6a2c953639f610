use std::io;

use super::{Sleeper, SleeperKind};
use crate::clock::{MonotonicTime, now};
use crate::os::windows::WaitableTimer;

/// A waitable timer, of high resolution where Windows has it (10, version 1803, and later).
#[derive(Debug)]
pub(super) struct WaitableTimerSleeper {
    timer: WaitableTimer,
    early_returns: u64,
}

impl WaitableTimerSleeper {
    pub(super) fn create() -> io::Result<Self> {
        Ok(Self {
            timer: WaitableTimer::create()?,
            early_returns: 0,
        })
    }
}

impl Sleeper for WaitableTimerSleeper {
    fn sleep_until(&mut self, deadline: MonotonicTime) {
        let mut time = now();
        while time < deadline {
            if !self.timer.wait_for(deadline.as_ns() - time.as_ns()) {
                std::thread::sleep(deadline.remaining(time));
            }
            time = now();
            self.early_returns += u64::from(time < deadline);
        }
    }

    fn name(&self) -> &'static str {
        SleeperKind::WaitableTimer.as_str()
    }

    fn early_returns(&self) -> u64 {
        self.early_returns
    }
}
