//! M: memory locked (`mlockall`, and glibc's allocator set to keep freed memory) and touched.

use std::sync::{Mutex, PoisonError};

use super::super::{ALL_PAGES, Measure, Note, prefault};
use super::kernel_says;
use super::rights::Rights;
use crate::host::Root;
use crate::os::linux::memory::{keep_freed_memory, lock_all, unlock_all};

pub(crate) const REMEDY: &str = "sudo prlimit --pid $$ --memlock=unlimited for this shell; for good, put `@realtime - memlock \
                      unlimited` into /etc/security/limits.d/99-realtime.conf, join that group and log in again";

pub(super) fn apply(rights: &Rights) -> (Measure, Option<LockedMemory>) {
    // Under a limit, memory mapped later would not be locked but refused: threads could not start.
    let limit = if rights.cap_ipc_lock {
        None
    } else {
        rights.memlock
    };
    let outcome = lock(limit.is_none());
    prefault::touch();
    let note = match (&outcome, limit) {
        (Ok(_), None) => None,
        (Ok(_), Some(limit)) => Some(only_current(limit)),
        (Err(errno), limit) => Some(refusal(*errno, limit)),
    };
    let requested = ALL_PAGES.to_owned();
    let granted = match (&outcome, &note) {
        (Ok(_), None) => format!("{requested} ({} kB locked)", locked_kb("self")),
        (Ok(_), Some(_)) => format!("current pages only ({} kB locked)", locked_kb("self")),
        (Err(_), _) => format!("{} kB locked", locked_kb("self")),
    };
    let ok = note.is_none();
    let measure = Measure::noted("memory_lock", requested, granted, ok, note);
    (measure, outcome.ok())
}

pub(super) fn only_current(limit: u64) -> Note {
    Note::new(
        format!(
            "RLIMIT_MEMLOCK is {} kB and CAP_IPC_LOCK is missing: with pages to come locked as well, allocations \
             beyond the limit would fail",
            limit / 1024
        ),
        REMEDY,
    )
}

pub(crate) fn refusal(errno: i32, limit: Option<u64>) -> Note {
    match (errno, limit) {
        (libc::ENOMEM | libc::EPERM | libc::EAGAIN, Some(limit)) => Note::new(
            format!(
                "this process needs more than RLIMIT_MEMLOCK ({} kB), and CAP_IPC_LOCK is missing",
                limit / 1024
            ),
            REMEDY,
        ),
        _ => Note::new(
            format!("the kernel says: {}", kernel_says(errno)),
            "see mlockall(2)",
        ),
    }
}

/// The process's memory is locked while at least one of these lives.
#[derive(Debug)]
#[must_use = "dropping this unlocks the memory at once"]
pub(crate) struct LockedMemory(());

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
fn lock(future: bool) -> Result<LockedMemory, i32> {
    let mut holders = HOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    if holders.guards == 0 {
        holders.locked_before = locked_kb("self") > 0;
    }
    lock_all(future)?;
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

/// Kilobytes that a process, a number or `self`, has locked, as the kernel counts them.
pub(crate) fn locked_kb(process: &str) -> u64 {
    let status = Root::system().read(&format!("/proc/{process}/status"));
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
