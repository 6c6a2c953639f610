//! Linux: `mlockall`, and glibc's allocator set to keep freed memory.

use std::sync::{Mutex, PoisonError};

use super::{Faults, LockMemoryError};
use crate::os::linux::memory::{keep_freed_memory, lock_all, thread_usage, unlock_all};

/// The process's memory is locked while at least one of these lives.
#[derive(Debug)]
#[must_use = "dropping this unlocks the memory at once"]
pub struct LockedMemory(());

/// How many guards live, and whether memory had been locked before the first of them.
struct Holders {
    guards: usize,
    locked_before: bool,
}

static HOLDERS: Mutex<Holders> = Mutex::new(Holders {
    guards: 0,
    locked_before: false,
});

/// Locks all pages the process has mapped and, with `future`, those it will map.
///
/// Locking belongs to the process: the guards of several threads are counted, and the last one to go unlocks,
/// unless memory had been locked before the first. While they live, glibc's allocator keeps freed memory
/// (`M_TRIM_THRESHOLD` -1, `M_MMAP_MAX` 0; see mallopt(3)).
///
/// Under a finite RLIMIT_MEMLOCK and without CAP_IPC_LOCK, `future` makes every later allocation
/// beyond the limit fail, also the stack of a new thread.
///
/// # Errors
/// When the kernel refuses, with its error number.
pub fn lock(future: bool) -> Result<LockedMemory, LockMemoryError> {
    let mut holders = HOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    if holders.guards == 0 {
        holders.locked_before = locked_kb() > 0;
    }
    lock_all(future).map_err(|errno| LockMemoryError::Refused { errno })?;
    keep_freed_memory(true);
    holders.guards += 1;
    Ok(LockedMemory(()))
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        let mut holders = HOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        holders.guards -= 1;
        if holders.guards == 0 && !holders.locked_before {
            unlock_all();
            keep_freed_memory(false);
        }
    }
}

/// Page faults of the calling thread since it started; `None` where the system does not count them.
#[must_use]
pub fn faults() -> Option<Faults> {
    let usage = thread_usage();
    Some(Faults {
        minor: usage.minor_faults,
        major: usage.major_faults,
    })
}

/// Kilobytes the process has locked, as the kernel counts them.
pub(crate) fn locked_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
