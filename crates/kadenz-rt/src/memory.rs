//! Memory that stays resident: locked, and touched before it is needed.
//!
//! A page that is first touched, or was written to swap, costs a real-time loop a page fault: tens of microseconds
//! at best, milliseconds when a disk takes part. [`lock`] keeps the pages of the process in memory;
//! [`prefault_stack`] and [`prefault_heap`] touch the pages that the loop will use. [`faults`] shows whether it
//! worked.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
use crate::os::linux::memory::stack_left;
#[cfg(target_os = "linux")]
pub(crate) use linux::locked_kb;
#[cfg(target_os = "linux")]
pub use linux::{LockedMemory, faults, lock};
#[cfg(not(target_os = "linux"))]
use refused::stack_left;
#[cfg(not(target_os = "linux"))]
pub use refused::{LockedMemory, faults, lock};

/// Bytes of stack that [`prefault_stack`] touches: a quarter of the 2 MiB a thread of the standard
/// library has.
pub const STACK_PREFAULT: usize = 512 * 1024;

/// Bytes of heap that tuning touches ahead of a run.
pub const HEAP_PREFAULT: usize = 8 * 1024 * 1024;

/// Page faults of the calling thread since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// Answered from memory.
    pub minor: u64,
    /// Answered from a disk.
    pub major: u64,
}

/// Why memory could not be locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LockMemoryError {
    /// The kernel refused; mostly because of RLIMIT_MEMLOCK.
    #[error("memory cannot be locked ({}); raise RLIMIT_MEMLOCK or grant CAP_IPC_LOCK", std::io::Error::from_raw_os_error(*errno))]
    Refused {
        /// The kernel's error number.
        errno: i32,
    },
    /// The operating system has no call for it.
    #[error("this operating system cannot lock all memory of a process; keep enough of it free")]
    Unsupported,
}

/// Touches the next [`STACK_PREFAULT`] bytes of the calling thread's stack, so that the loop does not fault on
/// them; less where the stack has less left, or where the system does not report it (outside Linux).
pub fn prefault_stack() {
    let usable = stack_left().map_or(0, |left| left.saturating_sub(STACK_RESERVE));
    touch_stack(usable.min(STACK_PREFAULT));
}

/// Bytes of stack that are not touched: this function itself and a signal handler need them.
const STACK_RESERVE: usize = 64 * 1024;

/// Bytes of stack that one call touches, a little more with its frame.
const STACK_CHUNK: usize = 16 * 1024;

#[inline(never)]
fn touch_stack(bytes: usize) {
    let mut chunk = [0_u8; STACK_CHUNK];
    // The compiler may not leave out writes whose use it cannot see, nor end the frame before the deeper ones.
    std::hint::black_box(&mut chunk);
    if let Some(rest) = bytes.checked_sub(STACK_CHUNK) {
        touch_stack(rest);
    }
    std::hint::black_box(&mut chunk);
}

/// Takes `bytes` from the heap, touches them and frees them, so that later allocations of that many bytes in all
/// need no new pages.
///
/// That holds for glibc with memory [`lock`]ed, which keeps freed memory; other allocators may return it to the
/// kernel. A loop should not allocate at all; this is for the code that it calls.
pub fn prefault_heap(bytes: usize) {
    let mut pages = vec![0_u8; bytes];
    // Zeroed memory comes untouched from the kernel: write to every page.
    for page in pages.chunks_mut(4096) {
        page[0] = 1;
    }
    std::hint::black_box(&mut pages);
}

/// Systems without `mlockall` and without fault counts a thread.
#[cfg(not(target_os = "linux"))]
mod refused {
    use super::{Faults, LockMemoryError};

    /// The guard of locked memory; it cannot be made on this operating system.
    #[derive(Debug)]
    pub enum LockedMemory {}

    /// Locks nothing: this operating system cannot lock all memory of a process.
    ///
    /// # Errors
    /// Always.
    pub fn lock(_future: bool) -> Result<LockedMemory, LockMemoryError> {
        Err(LockMemoryError::Unsupported)
    }

    /// Page faults of the calling thread since it started; not counted on this operating system.
    #[must_use]
    pub fn faults() -> Option<Faults> {
        None
    }

    /// Not known here.
    pub(super) const fn stack_left() -> Option<usize> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_stack_is_touched_no_further_than_it_reaches() {
        for kilobytes in [64, 128, 256, 1024, 4096] {
            let small = std::thread::Builder::new().stack_size(kilobytes * 1024);
            small.spawn(prefault_stack).unwrap().join().unwrap();
        }
    }

    #[test]
    fn heap_of_any_size_can_be_touched() {
        for bytes in [0, 1, 4096, 4097, 1 << 20] {
            prefault_heap(bytes);
        }
    }
}
