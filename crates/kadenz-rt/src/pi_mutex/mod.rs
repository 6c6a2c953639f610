//! A mutex whose owner inherits the priority of its highest waiter.
//!
//! With an ordinary mutex a thread of high priority can wait for a thread of low priority while a third thread, of
//! a priority in between, keeps that one from running: unbounded priority inversion. Here the owner runs at the
//! priority of its highest waiter until it unlocks (`PTHREAD_PRIO_INHERIT`).
//!
//! ```
//! use kadenz_rt::pi_mutex::PiMutex;
//!
//! let set_point = PiMutex::new(0.0).unwrap();
//! *set_point.lock() = 0.5;
//! assert_eq!(*set_point.lock(), 0.5);
//! ```
#![allow(unsafe_code)]

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod pthread;

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

#[cfg(any(target_os = "linux", target_os = "macos"))]
use pthread::RawMutex;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
use refused::RawMutex;

/// Why no priority-inheriting mutex could be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CreatePiMutexError {
    /// The operating system has none.
    #[error(
        "this operating system has no mutex with priority inheritance; use std::sync::Mutex where none is needed"
    )]
    Unsupported,
    /// The C library or the kernel refused.
    #[error(
        "no priority-inheriting mutex could be made ({}); the kernel needs CONFIG_FUTEX_PI",
        std::io::Error::from_raw_os_error(*errno)
    )]
    Refused {
        /// The C library's error number.
        errno: i32,
    },
}

/// Mutual exclusion with priority inheritance.
///
/// There is no poisoning: a panic while the mutex is locked unlocks it.
///
/// # Real-time safety
/// Locking and unlocking allocate nothing, and make no system call while no other thread wants the mutex. A
/// waiter waits for the owner's critical section; no thread of lower priority than the waiter delays the owner.
pub struct PiMutex<T: ?Sized> {
    raw: RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: the mutex hands the value to one thread at a time, which is sending it: T must be Send.
unsafe impl<T: ?Sized + Send> Send for PiMutex<T> {}
// SAFETY: as above; sharing the mutex gives no way to share the value, so T need not be Sync.
unsafe impl<T: ?Sized + Send> Sync for PiMutex<T> {}

impl<T> PiMutex<T> {
    /// Makes an unlocked mutex. Allocates, so make it before the loop.
    ///
    /// # Errors
    /// Where the operating system has no priority inheritance; Windows, for one.
    pub fn new(value: T) -> Result<Self, CreatePiMutexError> {
        Ok(Self {
            raw: RawMutex::create()?,
            value: UnsafeCell::new(value),
        })
    }

    /// As [`PiMutex::new`], but returns the value where there is no such mutex, for callers that can use an
    /// ordinary one.
    ///
    /// # Errors
    /// As [`PiMutex::new`], with the value.
    pub fn new_or_return(value: T) -> Result<Self, (CreatePiMutexError, T)> {
        match RawMutex::create() {
            Ok(raw) => Ok(Self {
                raw,
                value: UnsafeCell::new(value),
            }),
            Err(error) => Err((error, value)),
        }
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> PiMutex<T> {
    /// Waits until the mutex is free, and locks it.
    ///
    /// # Panics
    /// When this thread holds it already, which would otherwise wait forever.
    #[inline]
    pub fn lock(&self) -> PiMutexGuard<'_, T> {
        self.raw.lock();
        PiMutexGuard {
            mutex: self,
            _not_send: PhantomData,
        }
    }

    /// Locks the mutex if it is free now; `None` if not, also when this thread holds it.
    #[inline]
    pub fn try_lock(&self) -> Option<PiMutexGuard<'_, T>> {
        self.raw.try_lock().then(|| PiMutexGuard {
            mutex: self,
            _not_send: PhantomData,
        })
    }

    /// The value, without locking: the borrow proves that no other thread has it.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for PiMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(value) => f.debug_tuple("PiMutex").field(&&*value).finish(),
            None => f.write_str("PiMutex(<locked>)"),
        }
    }
}

/// The value of a [`PiMutex`] for as long as it is locked. It stays on the thread that locked.
#[must_use = "dropping this unlocks the mutex at once"]
pub struct PiMutexGuard<'a, T: ?Sized> {
    mutex: &'a PiMutex<T>,
    _not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives only a shared value.
unsafe impl<T: ?Sized + Sync> Sync for PiMutexGuard<'_, T> {}

impl<T: ?Sized> Deref for PiMutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard exists only while this thread holds the mutex.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for PiMutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard exists only while this thread holds the mutex, and it is borrowed
        // mutably.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for PiMutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this guard's thread locked the mutex, and a guard is dropped only once.
        unsafe { self.mutex.raw.unlock() };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for PiMutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;

/// Stands where the operating system has no priority inheritance; no value of it can be made.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod refused {
    use super::CreatePiMutexError;

    pub(super) enum RawMutex {}

    impl RawMutex {
        pub(super) fn create() -> Result<Self, CreatePiMutexError> {
            Err(CreatePiMutexError::Unsupported)
        }

        pub(super) fn lock(&self) {
            match *self {}
        }

        pub(super) fn try_lock(&self) -> bool {
            match *self {}
        }

        /// # Safety
        /// None needed: there is no such mutex.
        pub(super) unsafe fn unlock(&self) {
            match *self {}
        }
    }
}
