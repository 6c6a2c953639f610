use std::sync::{Condvar as StdCondvar, Mutex, PoisonError};
use std::time::Duration;

use super::{SleeperKind, Wait, wait_for_rest};
use crate::clock::{MonotonicTime, now};

/// The standard library's condition variable, for systems where it cannot be told its clock.
///
/// On Windows its timeout is rounded up to whole milliseconds by the system underneath.
pub(super) struct Condvar {
    mutex: Mutex<()>,
    condvar: StdCondvar,
    #[cfg(windows)]
    _resolution: Option<crate::os::windows::TimerResolution>,
}

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

impl Wait for Condvar {
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
