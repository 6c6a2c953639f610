use std::io;

use super::{Sleeper, SleeperKind};
use crate::clock::{MonotonicTime, now};
use crate::os::linux::posix_timer::PosixTimer;

/// A POSIX timer whose signal the sleeping thread waits for: two system calls a cycle, and one to
/// see that it still runs on the thread the timer signals.
///
/// On the first sleep on another thread the timer is made anew for that thread. The signal
/// (`SIGRTMAX - 3`) stays blocked in a thread that has used this sleeper.
#[derive(Debug)]
pub(super) struct PosixTimerSleeper {
    timer: PosixTimer,
    early_returns: u64,
}

impl PosixTimerSleeper {
    pub(super) fn create() -> io::Result<Self> {
        Ok(Self {
            timer: PosixTimer::create()?,
            early_returns: 0,
        })
    }

    /// Makes the timer signal this thread. False where the kernel refuses one more timer.
    fn follow_thread(&mut self) -> bool {
        if !self.timer.belongs_here() {
            match PosixTimer::create() {
                Ok(timer) => self.timer = timer,
                Err(_) => return false,
            }
        }
        true
    }
}

impl Sleeper for PosixTimerSleeper {
    #[inline]
    fn sleep_until(&mut self, deadline: MonotonicTime) {
        let mut time = now();
        if time >= deadline {
            return;
        }
        if !self.follow_thread() {
            return std::thread::sleep(deadline.remaining(time));
        }
        self.timer.arm(deadline.as_ns());
        while time < deadline {
            self.timer
                .wait(LOST_SIGNAL_NS.saturating_add(deadline.as_ns() - time.as_ns()));
            time = now();
            self.early_returns += u64::from(time < deadline);
        }
    }

    fn name(&self) -> &'static str {
        SleeperKind::PosixTimer.as_str()
    }

    fn early_returns(&self) -> u64 {
        self.early_returns
    }
}

/// A second after the deadline the signal is taken for lost: something else in the process took it.
const LOST_SIGNAL_NS: u64 = 1_000_000_000;
