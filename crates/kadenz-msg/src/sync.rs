//! The lock and the parking of the bus; loom's own in a model that tries every interleaving.

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
pub(crate) use model::{Thread, thread};

#[cfg(not(loom))]
use kadenz_rt::pi_mutex::PiMutex;

/// Mutual exclusion with priority inheritance if the system has it, else an ordinary mutex.
///
/// # Real-time safety
/// As [`PiMutex`]; every critical section of the bus is a few pushes and copies of one message.
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

    /// Runs `body` with the value under the lock. `body` must be short.
    pub(crate) fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        match &self.inner {
            #[cfg(not(loom))]
            Inner::Inheriting(mutex) => body(&mut mutex.lock()),
            #[cfg(not(loom))]
            Inner::Plain(mutex) => body(&mut lock(mutex)),
            #[cfg(loom)]
            Inner::Model(mutex) => body(&mut mutex.lock().expect("no model panics within a lock")),
        }
    }
}

/// Locks a mutex of the standard library, also one that a thread has left by a panic: it guards counters,
/// queues and buffers, each of which is whole.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Parking for the models: loom's own forgets an unpark while the thread waits for a mutex.
#[cfg(loom)]
mod model {
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread::ThreadId;

    /// Whether a thread was unparked, as the token of `std::thread::park`.
    #[derive(Debug, Default)]
    struct ParkToken {
        given: Mutex<bool>,
        changed: Condvar,
    }

    loom::thread_local! {
        static TOKEN: Arc<ParkToken> = Arc::new(ParkToken::default());
    }

    #[derive(Debug, Clone)]
    pub(crate) struct Thread {
        id: ThreadId,
        token: Arc<ParkToken>,
    }

    impl Thread {
        pub(crate) fn id(&self) -> ThreadId {
            self.id
        }

        pub(crate) fn unpark(&self) {
            *self.token.given.lock().unwrap() = true;
            self.token.changed.notify_one();
        }
    }

    pub(crate) mod thread {
        pub(crate) use loom::thread::spawn;

        use super::{TOKEN, Thread};

        pub(crate) fn current() -> Thread {
            Thread {
                id: loom::thread::current().id(),
                token: TOKEN.with(Clone::clone),
            }
        }

        pub(crate) fn park() {
            let token = TOKEN.with(Clone::clone);
            let mut given = token.given.lock().unwrap();
            while !*given {
                given = token.changed.wait(given).unwrap();
            }
            *given = false;
        }
    }
}
