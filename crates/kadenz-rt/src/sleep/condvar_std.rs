use std::io;
use std::sync::{Condvar as StdCondvar, Mutex, PoisonError};

use super::{Sleeper, SleeperKind};
use crate::clock::{MonotonicTime, now};

/// The standard library's condition variable, for systems where it cannot be told its clock.
///
/// On Windows its timeout is rounded up to whole milliseconds by the system underneath.
pub(super) struct Condvar {
    mutex: Mutex<()>,
    condvar: StdCondvar,
    early_returns: u64,
    #[cfg(windows)]
    _resolution: Option<crate::os::windows::TimerResolution>,
}

impl Condvar {
    #[expect(
        clippy::unnecessary_wraps,
        reason = "as the condition variable of Linux, which can fail"
    )]
    pub(super) fn create() -> io::Result<Self> {
        let mut condvar = Self {
            mutex: Mutex::new(()),
            condvar: StdCondvar::new(),
            early_returns: 0,
            #[cfg(windows)]
            _resolution: crate::os::windows::TimerResolution::begin(),
        };
        // Some systems allocate at the first use.
        condvar.sleep_until(now() + std::time::Duration::from_nanos(1));
        Ok(condvar)
    }
}

impl Sleeper for Condvar {
    fn sleep_until(&mut self, deadline: MonotonicTime) {
        let mut guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        let mut time = now();
        while time < deadline {
            let waited = self.condvar.wait_timeout(guard, deadline.remaining(time));
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
            time = now();
            self.early_returns += u64::from(time < deadline);
        }
    }

    fn name(&self) -> &'static str {
        SleeperKind::Condvar.as_str()
    }

    fn early_returns(&self) -> u64 {
        self.early_returns
    }
}
