//! The lock and the parking that the bus is made of; loom's own where it tries every interleaving.

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
#[cfg(not(loom))]
pub(crate) use std::thread::{self, Thread};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
#[cfg(loom)]
pub(crate) use loom::thread::{self, Thread};

#[cfg(not(loom))]
use kadenz_rt::pi_mutex::PiMutex;

/// Mutual exclusion with priority inheritance where the system has it, else an ordinary mutex.
///
/// Real-time safety: as [`PiMutex`]; every critical section of the bus is a few pushes and copies of
/// one message.
#[derive(Debug)]
pub(crate) struct Lock<T> {
    inner: Inner<T>,
}

#[derive(Debug)]
enum Inner<T> {
    #[cfg(not(loom))]
    Inheriting(PiMutex<T>),
    #[cfg(not(loom))]
    Plain(std::sync::Mutex<T>),
    #[cfg(loom)]
    Model(loom::sync::Mutex<T>),
}

impl<T> Lock<T> {
    #[cfg(not(loom))]
    pub(crate) fn new(value: T) -> Self {
        let inner = match PiMutex::new_or_return(value) {
            Ok(mutex) => Inner::Inheriting(mutex),
            Err((_, value)) => Inner::Plain(std::sync::Mutex::new(value)),
        };
        Self { inner }
    }

    #[cfg(loom)]
    pub(crate) fn new(value: T) -> Self {
        let inner = Inner::Model(loom::sync::Mutex::new(value));
        Self { inner }
    }

    /// Does something with the value, alone. What `body` does must be short.
    pub(crate) fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        match &self.inner {
            #[cfg(not(loom))]
            Inner::Inheriting(mutex) => body(&mut mutex.lock()),
            #[cfg(not(loom))]
            Inner::Plain(mutex) => {
                let mut guard = mutex
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                body(&mut guard)
            }
            #[cfg(loom)]
            Inner::Model(mutex) => body(&mut mutex.lock().expect("no model panics within a lock")),
        }
    }
}
