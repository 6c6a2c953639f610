//! A condition variable that waits against `CLOCK_MONOTONIC`.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use super::clock::timespec_of_ns;

/// A mutex and a condition variable that nobody signals.
///
/// Both stand in a box, because neither may move once it is in use.
pub(crate) struct TimedCondvar(Box<Parts>);

struct Parts {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    condvar: UnsafeCell<libc::pthread_cond_t>,
}

// SAFETY: a mutex and a condition variable of POSIX may be used from any thread; `wait` unlocks
// the mutex before it returns, so no thread owns it while the value is handed over.
unsafe impl Send for TimedCondvar {}

impl TimedCondvar {
    /// Creates the pair.
    pub(crate) fn create() -> std::io::Result<Self> {
        let parts = Box::new(Parts {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            condvar: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
        });
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before use and destroyed after it; the condition
        // variable is initialised at its final address, and nobody has used it yet.
        let outcome = unsafe {
            libc::pthread_condattr_init(attributes.as_mut_ptr());
            libc::pthread_condattr_setclock(attributes.as_mut_ptr(), libc::CLOCK_MONOTONIC);
            let outcome = libc::pthread_cond_init(parts.condvar.get(), attributes.as_ptr());
            libc::pthread_condattr_destroy(attributes.as_mut_ptr());
            outcome
        };
        if outcome != 0 {
            return Err(std::io::Error::from_raw_os_error(outcome));
        }
        Ok(Self(parts))
    }

    /// Waits until a point on the clock. False when the wait ended otherwise, which POSIX allows.
    #[inline]
    pub(crate) fn wait_until(&mut self, deadline_ns: u64) -> bool {
        let deadline = timespec_of_ns(deadline_ns);
        // SAFETY: both parts are initialised and stay where they are; this thread locks the mutex
        // before the wait and unlocks it after, and `&mut self` keeps every other thread away.
        let outcome = unsafe {
            libc::pthread_mutex_lock(self.0.mutex.get());
            let outcome = libc::pthread_cond_timedwait(
                self.0.condvar.get(),
                self.0.mutex.get(),
                &raw const deadline,
            );
            libc::pthread_mutex_unlock(self.0.mutex.get());
            outcome
        };
        outcome == libc::ETIMEDOUT
    }
}

impl Drop for TimedCondvar {
    fn drop(&mut self) {
        // SAFETY: both parts are initialised, nobody waits and nobody holds the mutex.
        unsafe {
            libc::pthread_cond_destroy(self.0.condvar.get());
            libc::pthread_mutex_destroy(self.0.mutex.get());
        }
    }
}
