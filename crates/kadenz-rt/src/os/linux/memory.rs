//! Locking memory, and the allocator's habits.

use std::mem::MaybeUninit;

use rustix::mm::{MlockAllFlags, mlockall, munlockall};

use super::number;

/// Locks what the process has mapped, and with `future` also what it will map.
pub(crate) fn lock_all(future: bool) -> Result<(), i32> {
    let mut flags = MlockAllFlags::CURRENT;
    flags.set(MlockAllFlags::FUTURE, future);
    number(mlockall(flags))
}

/// Unlocks all memory of the process.
pub(crate) fn unlock_all() {
    let _ = munlockall();
}

/// Tells glibc to keep freed memory (`true`) or to go back to its defaults (`false`). Returns
/// whether there is such a switch.
#[cfg(target_env = "gnu")]
pub(crate) fn keep_freed_memory(keep: bool) -> bool {
    // glibc's defaults, from mallopt(3).
    let (trim_threshold, mmap_max) = if keep { (-1, 0) } else { (128 * 1024, 65_536) };
    // SAFETY: the calls take numbers; glibc guards its settings with its own lock.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, trim_threshold) == 1
            && libc::mallopt(libc::M_MMAP_MAX, mmap_max) == 1
    }
}

/// Other C libraries have no such switch.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn keep_freed_memory(_keep: bool) -> bool {
    false
}

/// What `getrusage` counts of the calling thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadUsage {
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
}

/// Reads the calling thread's counts.
pub(crate) fn thread_usage() -> ThreadUsage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is there to be written, and zeroed memory is a valid value should the call
    // fail.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let count = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
    ThreadUsage {
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
    }
}

/// Bytes of stack below the caller that the calling thread may still use; `None` where the C
/// library does not tell.
pub(crate) fn stack_left() -> Option<usize> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the attributes are there to be initialised; the calling thread exists.
    let outcome =
        unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) };
    if outcome != 0 {
        return None;
    }
    let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the call above initialised the attributes; they are destroyed once, after use.
    let outcome = unsafe {
        let outcome =
            libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        outcome
    };
    let here = (&raw const outcome).addr();
    (outcome == 0).then(|| here.saturating_sub(lowest.addr()))
}

/// Whether a file gives capabilities to whoever executes it.
pub(crate) fn has_file_capabilities(file: &std::ffi::CStr) -> bool {
    rustix::fs::getxattr_query(file, c"security.capability").is_ok_and(|bytes| bytes > 0)
}
