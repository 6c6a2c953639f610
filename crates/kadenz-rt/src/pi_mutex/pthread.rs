//! A POSIX mutex with `PTHREAD_PRIO_INHERIT`.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

#[cfg(not(target_os = "macos"))]
use libc::pthread_mutexattr_setprotocol;

use super::CreatePiMutexError;

// The `libc` crate lacks this function for macOS.
#[cfg(target_os = "macos")]
unsafe extern "C" {
    fn pthread_mutexattr_setprotocol(
        attributes: *mut libc::pthread_mutexattr_t,
        protocol: libc::c_int,
    ) -> libc::c_int;
}

/// A mutex without a value. It stands in a box because POSIX forbids moving it.
pub(super) struct RawMutex(Box<UnsafeCell<libc::pthread_mutex_t>>);

impl RawMutex {
    pub(super) fn create() -> Result<Self, CreatePiMutexError> {
        let mutex = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        let attributes = Attributes::create()?;
        // SAFETY: the attributes are initialised; the mutex stands at its final address and is not
        // in use.
        check(unsafe { libc::pthread_mutex_init(mutex.get(), &raw const attributes.0) })?;
        Ok(Self(mutex))
    }

    #[inline]
    pub(super) fn lock(&self) {
        // SAFETY: the mutex is initialised and does not move while `self` lives.
        match unsafe { libc::pthread_mutex_lock(self.0.get()) } {
            0 => {}
            libc::EDEADLK => panic!(
                "this thread holds the mutex already; let the first guard go before locking again"
            ),
            errno => panic!(
                "the mutex cannot be locked: {}",
                std::io::Error::from_raw_os_error(errno)
            ),
        }
    }

    #[inline]
    pub(super) fn try_lock(&self) -> bool {
        // SAFETY: the mutex is initialised and does not move while `self` lives.
        unsafe { libc::pthread_mutex_trylock(self.0.get()) == 0 }
    }

    /// # Safety
    /// The calling thread must hold the mutex.
    #[inline]
    pub(super) unsafe fn unlock(&self) {
        // SAFETY: the mutex is initialised, and the caller holds it.
        let outcome = unsafe { libc::pthread_mutex_unlock(self.0.get()) };
        debug_assert_eq!(outcome, 0);
    }

    /// The protocol of a new mutex, as the C library reports it.
    #[cfg(all(test, target_os = "linux"))]
    pub(super) fn protocol() -> libc::c_int {
        let attributes = Attributes::create().expect("this system has priority inheritance");
        let mut protocol = -1;
        // SAFETY: the attributes are initialised, and `protocol` is there to be written.
        let outcome = unsafe {
            libc::pthread_mutexattr_getprotocol(&raw const attributes.0, &raw mut protocol)
        };
        assert_eq!(outcome, 0);
        protocol
    }
}

impl Drop for RawMutex {
    fn drop(&mut self) {
        // A guard that was forgotten leaves the mutex locked, and destroying a locked mutex is
        // undefined: then its memory is leaked instead.
        if self.try_lock() {
            // SAFETY: this thread has just locked it; no other thread can reach it any more.
            unsafe {
                self.unlock();
                libc::pthread_mutex_destroy(self.0.get());
            }
        } else {
            let leaked = std::mem::replace(
                &mut self.0,
                Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)),
            );
            Box::leak(leaked);
        }
    }
}

/// Mutex attributes: priority inheritance, and an error instead of a self-deadlock.
struct Attributes(libc::pthread_mutexattr_t);

impl Attributes {
    fn create() -> Result<Self, CreatePiMutexError> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the attributes are there to be initialised.
        check(unsafe { libc::pthread_mutexattr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: they have just been initialised.
        let mut attributes = Self(unsafe { attributes.assume_init() });
        let raw = &raw mut attributes.0;
        // SAFETY: the attributes are initialised and live.
        check(unsafe { pthread_mutexattr_setprotocol(raw, libc::PTHREAD_PRIO_INHERIT) })?;
        // SAFETY: as above.
        check(unsafe { libc::pthread_mutexattr_settype(raw, libc::PTHREAD_MUTEX_ERRORCHECK) })?;
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: the attributes are initialised and not used any more.
        unsafe { libc::pthread_mutexattr_destroy(&raw mut self.0) };
    }
}

fn check(outcome: libc::c_int) -> Result<(), CreatePiMutexError> {
    match outcome {
        0 => Ok(()),
        libc::ENOTSUP => Err(CreatePiMutexError::Unsupported),
        errno => Err(CreatePiMutexError::Refused { errno }),
    }
}
