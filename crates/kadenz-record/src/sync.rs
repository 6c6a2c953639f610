//! Atomics, locks and threads: the standard library's, or loom's when its models are checked.

#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering, fence},
    },
};

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicI64, AtomicU64, Ordering, fence},
    },
};
#[cfg(loom)]
pub(crate) use std::sync::PoisonError;

/// Lets other threads run during a wait: spins `spins` times, then sleeps, because on a real-time thread a yield
/// would never let a thread of lower priority finish.
#[cfg(not(loom))]
pub(crate) fn wait_a_little(spins: &mut u32) {
    if *spins > 0 {
        *spins -= 1;
        spin_loop();
    } else {
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
}

#[cfg(loom)]
pub(crate) fn wait_a_little(_spins: &mut u32) {
    spin_loop();
    loom::thread::yield_now();
}
