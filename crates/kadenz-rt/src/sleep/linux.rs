//! The sleepers of Linux.

use std::io;

use super::portable::{NanosleepRelative, Spin, StdSleep};
use super::{Sleeper, SleeperKind, SleeperOptions, WaitPrimitive, Waiter, boxed, wait_for_rest};
use crate::clock::{MonotonicTime, now};
use crate::os::linux::sleep::{PosixTimer, TimedCondvar, TimerFd, nanosleep_until, poll_for};

pub(super) fn make(kind: SleeperKind, options: SleeperOptions) -> io::Result<Box<dyn Sleeper>> {
    Ok(match kind {
        SleeperKind::NanosleepRelative => boxed(NanosleepRelative),
        SleeperKind::Timerfd => boxed(TimerFd::create()?),
        SleeperKind::PosixTimer => boxed(PosixTimer::create()?),
        SleeperKind::Condvar => boxed(TimedCondvar::create()?),
        SleeperKind::Poll => boxed(Poll),
        SleeperKind::Std => boxed(StdSleep),
        SleeperKind::Spin => Box::new(Spin::new(Waiter::new(Nanosleep), options.spin_margin)),
        SleeperKind::Nanosleep | SleeperKind::WaitableTimer | SleeperKind::MachWait => {
            boxed(Nanosleep)
        }
    })
}

/// `clock_nanosleep` with an absolute deadline: the kernel compares with the clock, so it cannot
/// return early except for a signal.
struct Nanosleep;

impl WaitPrimitive for Nanosleep {
    const KIND: SleeperKind = SleeperKind::Nanosleep;

    #[inline]
    fn wait(&mut self, deadline: MonotonicTime) -> bool {
        nanosleep_until(deadline.as_ns())
    }
}

/// `ppoll` on no descriptors. The older `poll` counts milliseconds; this one counts nanoseconds.
struct Poll;

impl WaitPrimitive for Poll {
    const KIND: SleeperKind = SleeperKind::Poll;

    #[inline]
    fn wait(&mut self, deadline: MonotonicTime) -> bool {
        wait_for_rest(deadline, poll_for)
    }
}

/// A timerfd armed for an absolute point and read until it fires: two system calls a cycle.
impl WaitPrimitive for TimerFd {
    const KIND: SleeperKind = SleeperKind::Timerfd;

    #[inline]
    fn begin(&mut self, deadline: MonotonicTime) -> bool {
        let ahead = now() < deadline;
        if ahead {
            self.arm(deadline.as_ns());
        }
        ahead
    }

    #[inline]
    fn wait(&mut self, _: MonotonicTime) -> bool {
        Self::wait(self)
    }
}

/// A second after the deadline the signal counts as lost: other code in the process took it.
const LOST_SIGNAL_NS: u64 = 1_000_000_000;

/// A POSIX timer whose signal the sleeping thread waits for: two system calls a cycle, and one to check that the
/// sleeper still runs on the thread that the timer signals.
///
/// On the first sleep on another thread the timer is made again for that thread. The signal
/// (`SIGRTMAX - 3`) stays blocked in a thread that has used this sleeper.
impl WaitPrimitive for PosixTimer {
    const KIND: SleeperKind = SleeperKind::PosixTimer;

    #[inline]
    fn begin(&mut self, deadline: MonotonicTime) -> bool {
        let time = now();
        if time >= deadline {
            return false;
        }
        if !self.belongs_here() {
            match Self::create() {
                Ok(timer) => *self = timer,
                // The kernel refuses one more timer.
                Err(_) => {
                    std::thread::sleep(deadline.remaining(time));
                    return false;
                }
            }
        }
        self.arm(deadline.as_ns());
        true
    }

    #[inline]
    fn wait(&mut self, deadline: MonotonicTime) -> bool {
        wait_for_rest(deadline, |ns| {
            Self::wait(self, LOST_SIGNAL_NS.saturating_add(ns));
        })
    }
}

/// A condition variable that no thread signals, waiting against `CLOCK_MONOTONIC`.
impl WaitPrimitive for TimedCondvar {
    const KIND: SleeperKind = SleeperKind::Condvar;

    #[inline]
    fn wait(&mut self, deadline: MonotonicTime) -> bool {
        wait_for_rest(deadline, |_| self.wait_until(deadline.as_ns()))
    }
}
