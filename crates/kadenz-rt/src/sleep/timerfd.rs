use std::io;

use super::{Sleeper, SleeperKind};
use crate::clock::{MonotonicTime, now};
use crate::os::linux::timerfd::TimerFd;

/// A timerfd armed for an absolute point and read until it fires: two system calls a cycle.
#[derive(Debug)]
pub(super) struct Timerfd {
    timer: TimerFd,
    early_returns: u64,
}

impl Timerfd {
    pub(super) fn create() -> io::Result<Self> {
        Ok(Self {
            timer: TimerFd::create()?,
            early_returns: 0,
        })
    }
}

impl Sleeper for Timerfd {
    #[inline]
    fn sleep_until(&mut self, deadline: MonotonicTime) {
        if now() >= deadline {
            return;
        }
        self.timer.arm(deadline.as_ns());
        while !self.timer.wait() {
            self.early_returns += 1;
        }
    }

    fn name(&self) -> &'static str {
        SleeperKind::Timerfd.as_str()
    }

    fn early_returns(&self) -> u64 {
        self.early_returns
    }
}
