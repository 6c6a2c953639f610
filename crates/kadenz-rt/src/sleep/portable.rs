//! The sleepers of every system, or nearly every one.

#[cfg(not(target_os = "linux"))]
use std::sync::{Condvar as StdCondvar, Mutex, PoisonError};
use std::time::Duration;

use super::{Sleeper, SleeperKind, WaitPrimitive, wait_for_rest};
use crate::clock::{MonotonicTime, now};
#[cfg(target_os = "linux")]
use crate::os::linux::clock::thread_cpu_ns;

/// [`std::thread::sleep`] for the span that remains.
pub(super) struct StdSleep;

impl WaitPrimitive for StdSleep {
    const KIND: SleeperKind = SleeperKind::Std;

    fn wait(&mut self, deadline: MonotonicTime) -> bool {
        wait_for_rest(deadline, |ns| std::thread::sleep(Duration::from_nanos(ns)))
    }
}

/// `nanosleep` with the span that remains: whatever happens between reading the clock and falling
/// asleep is added to the lateness.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(super) struct NanosleepRelative;

#[cfg(any(target_os = "linux", target_os = "macos"))]
impl WaitPrimitive for NanosleepRelative {
    const KIND: SleeperKind = SleeperKind::NanosleepRelative;

    #[inline]
    fn wait(&mut self, deadline: MonotonicTime) -> bool {
        wait_for_rest(deadline, crate::os::nanosleep_for)
    }
}

/// The standard library's condition variable, for systems where its clock cannot be set.
///
/// On Windows its timeout is rounded up to whole milliseconds by the system underneath.
#[cfg(not(target_os = "linux"))]
pub(super) struct Condvar {
    mutex: Mutex<()>,
    condvar: StdCondvar,
    #[cfg(windows)]
    _resolution: Option<crate::os::windows::TimerResolution>,
}

#[cfg(not(target_os = "linux"))]
impl Condvar {
    pub(super) fn new() -> Self {
        let mut condvar = Self {
            mutex: Mutex::new(()),
            condvar: StdCondvar::new(),
            #[cfg(windows)]
            _resolution: crate::os::windows::TimerResolution::begin(),
        };
        // Some systems allocate at the first use.
        condvar.wait(now() + Duration::from_nanos(1));
        condvar
    }
}

#[cfg(not(target_os = "linux"))]
impl WaitPrimitive for Condvar {
    const KIND: SleeperKind = SleeperKind::Condvar;

    fn wait(&mut self, deadline: MonotonicTime) -> bool {
        let Self { mutex, condvar, .. } = &*self;
        wait_for_rest(deadline, |ns| {
            let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = condvar.wait_timeout(guard, Duration::from_nanos(ns));
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        })
    }
}

/// Sleeps until a margin before the deadline, then spins.
///
/// It really sleeps at least once a cycle, also when it is already late: a real-time thread that
/// never sleeps is stopped by the kernel's RT throttle for 50 ms in every second
/// (`sched_rt_runtime_us` = 950000 of 1000000). Each sleep is at least a sixteenth of the processor
/// time used since the last one, which keeps the thread below that share; and never below
/// [`MIN_SLEEP_NS`]. So a deadline in the past costs that much.
pub(super) struct Spin<S> {
    inner: S,
    margin: Duration,
    /// Processor time of this thread when it last woke.
    woke_cpu_ns: u64,
}

/// Long enough that the timer cannot expire before the kernel has descheduled the thread.
const MIN_SLEEP_NS: u64 = 5_000;
/// The RT throttle leaves 5 % to other threads; a sixteenth of the time awake makes 5.9 %.
const AWAKE_TO_ASLEEP: u64 = 16;
/// Longer than a cycle of any use; without it, work before the first cycle would delay that cycle.
const MAX_AWAKE_NS: u64 = 100_000_000;

impl<S: Sleeper> Spin<S> {
    pub(super) fn new(inner: S, margin: Duration) -> Self {
        Self {
            inner,
            margin,
            woke_cpu_ns: thread_cpu_ns(),
        }
    }

    /// How long this cycle must sleep at least.
    #[inline]
    fn owed(&self) -> Duration {
        // After a move to another thread the sleeper reads another thread's count, hence the saturation.
        let used_ns = thread_cpu_ns()
            .saturating_sub(self.woke_cpu_ns)
            .min(MAX_AWAKE_NS);
        Duration::from_nanos((used_ns / AWAKE_TO_ASLEEP).max(MIN_SLEEP_NS))
    }
}

impl<S: Sleeper> Sleeper for Spin<S> {
    #[inline]
    fn sleep_until(&mut self, deadline: MonotonicTime) {
        let wake = (deadline - self.margin).max(now() + self.owed());
        self.inner.sleep_until(wake);
        self.woke_cpu_ns = thread_cpu_ns();
        while now() < deadline {
            std::hint::spin_loop();
        }
    }

    fn name(&self) -> &'static str {
        SleeperKind::Spin.as_str()
    }

    fn early_returns(&self) -> u64 {
        self.inner.early_returns()
    }
}

/// Only Linux throttles, so only there the share matters.
#[cfg(not(target_os = "linux"))]
fn thread_cpu_ns() -> u64 {
    0
}
