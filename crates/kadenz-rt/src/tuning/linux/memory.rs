//! M: memory locked and touched.

use super::super::{ALL_PAGES, Measure, Note};
use super::kernel_says;
use super::rights::Rights;
use crate::memory::{self, LockMemoryError, LockedMemory};

pub(crate) const REMEDY: &str = "sudo prlimit --pid $$ --memlock=unlimited for this shell; for good, put `@realtime - memlock \
                      unlimited` into /etc/security/limits.d/99-realtime.conf, join that group and log in again";

pub(super) fn apply(rights: &Rights) -> (Measure, Option<LockedMemory>) {
    // Under a limit, memory mapped later would not be locked but refused: threads could not start.
    let limit = if rights.cap_ipc_lock {
        None
    } else {
        rights.memlock
    };
    let outcome = memory::lock(limit.is_none());
    super::super::prefault();
    let note = match (&outcome, limit) {
        (Ok(_), None) => None,
        (Ok(_), Some(limit)) => Some(only_current(limit)),
        (Err(error), limit) => Some(refusal(error, limit)),
    };
    let requested = ALL_PAGES.to_owned();
    let granted = match (&outcome, &note) {
        (Ok(_), None) => format!("{requested} ({} kB locked)", memory::locked_kb()),
        (Ok(_), Some(_)) => format!("current pages only ({} kB locked)", memory::locked_kb()),
        (Err(_), _) => format!("{} kB locked", memory::locked_kb()),
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

pub(crate) fn refusal(error: &LockMemoryError, limit: Option<u64>) -> Note {
    match (error, limit) {
        (
            LockMemoryError::Refused {
                errno: libc::ENOMEM | libc::EPERM | libc::EAGAIN,
            },
            Some(limit),
        ) => Note::new(
            format!(
                "this process needs more than RLIMIT_MEMLOCK ({} kB), and CAP_IPC_LOCK is missing",
                limit / 1024
            ),
            REMEDY,
        ),
        (LockMemoryError::Refused { errno }, _) => Note::new(
            format!("the kernel says: {}", kernel_says(*errno)),
            "see mlockall(2)",
        ),
        (LockMemoryError::Unsupported, _) => Note::new(error.to_string(), "see mlockall(2)"),
    }
}
