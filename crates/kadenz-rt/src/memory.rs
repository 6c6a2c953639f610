//! Memory that stays where it is: locked, and touched before it is needed.
//!
//! A page that is first touched, or was written to swap, costs a real-time loop a page fault: tens
//! of microseconds at best, milliseconds when a disk takes part. [`lock`] keeps the pages of the
//! process in memory; [`prefault_stack`] and [`prefault_heap`] touch what the loop will use.
//! [`faults`] tells whether it worked.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod refused;

#[cfg(target_os = "linux")]
pub(crate) use linux::locked_kb;
#[cfg(target_os = "linux")]
pub use linux::{LockedMemory, faults, lock};
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

/// Touches the next [`STACK_PREFAULT`] bytes of the calling thread's stack, so that the loop does
/// not fault on them. The thread needs that much stack left.
#[inline(never)]
pub fn prefault_stack() {
    let mut pages = [0_u8; STACK_PREFAULT];
    // The compiler may not leave out writes to what it cannot see the use of.
    std::hint::black_box(&mut pages);
}

/// Takes `bytes` from the heap, touches them and gives them back, so that allocations of that many
/// bytes in all need no new pages afterwards.
///
/// That holds for glibc with memory [`lock`]ed, which keeps what is given back; other allocators
/// may return it to the kernel. A loop should not allocate at all; this is for what it calls.
pub fn prefault_heap(bytes: usize) {
    let mut pages = vec![0_u8; bytes];
    // Zeroed memory comes untouched from the kernel: write to every page.
    for page in pages.chunks_mut(4096) {
        page[0] = 1;
    }
    std::hint::black_box(&mut pages);
}
