//! Locking memory, the allocator's habits, and files mapped into memory.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd as _};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use rustix::mm::{MlockAllFlags, mlockall, munlockall};
use rustix::thread::futex;

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

/// Page faults of the calling thread since it started: those answered from memory, and from a disk.
#[cfg(test)]
pub(crate) fn thread_faults() -> (i64, i64) {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is there to be written, and zeroed memory is a valid value if the call fails.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    (usage.ru_minflt, usage.ru_majflt)
}

/// Bytes of stack below the caller that the calling thread may still use; `None` where the C library does not
/// report them.
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

/// Whether a file gives capabilities to the process that executes it.
pub(crate) fn has_file_capabilities(file: &std::ffi::CStr) -> bool {
    rustix::fs::getxattr_query(file, c"security.capability").is_ok_and(|bytes| bytes > 0)
}

// Files mapped into memory as words of 64 bits: mmap(2).

/// A shared mapping of a file or device, or of a part of it, in this process's memory, until it is dropped.
#[derive(Debug)]
pub(super) struct Mapped {
    start: NonNull<u8>,
    length: usize,
}

impl Mapped {
    /// Maps so many bytes from an offset on; `rights` are of `PROT_*`. `flags` are added to `MAP_SHARED` and must
    /// not hold `MAP_FIXED`, which would replace memory in use.
    pub(super) fn of(
        file: &impl AsFd,
        length: usize,
        offset: libc::off_t,
        rights: i32,
        flags: i32,
    ) -> io::Result<Self> {
        let (anywhere, flags) = (std::ptr::null_mut(), libc::MAP_SHARED | flags);
        let file = file.as_fd().as_raw_fd();
        // SAFETY: a new mapping anywhere, as `flags` hold no `MAP_FIXED`, of a descriptor that is borrowed and so open.
        let memory = unsafe { libc::mmap(anywhere, length, rights, flags, file, offset) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// Its first byte.
    #[inline]
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// How many bytes.
    pub(super) fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, of this size, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// A file's words in memory, shared with every process that maps the file.
#[derive(Debug)]
pub(crate) struct Mapping {
    memory: Mapped,
    count: usize,
}

// SAFETY: the mapping is the whole process's, and its words are atomic.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the file's first words. The file must be so long, and stay so: beyond its end the kernel
    /// ends the process.
    pub(crate) fn of(file: &File, count: usize, writes: bool) -> io::Result<Self> {
        let rights = if writes {
            libc::PROT_READ | libc::PROT_WRITE
        } else {
            libc::PROT_READ
        };
        let memory = Mapped::of(file, count * 8, 0, rights, libc::MAP_POPULATE)?;
        Ok(Self { memory, count })
    }

    /// How many words.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// A word's value.
    #[inline]
    pub(crate) fn load(&self, place: usize, order: Ordering) -> u64 {
        self.word(place).load(order)
    }

    /// All words of a mapping that was made for writing.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds so many aligned words as long as it lives; others access them
        // atomically or from other processes, by the same instructions.
        unsafe { std::slice::from_raw_parts(self.memory.start().cast().as_ptr(), self.count) }
    }

    /// Bytes of a mapping that was made for writing.
    pub(crate) fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        let start = self.check(&range);
        // SAFETY: inside the mapping, which the caller has alone by `&mut`. A process that reads the same pages
        // does so through another mapping, by loads or copies whose result it keeps only if the writer did not
        // write meanwhile.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), range.len()) }
    }

    /// Copies bytes that another process may write meanwhile.
    pub(crate) fn copy_to(&self, from: usize, into: &mut [u8]) {
        let start = self.check(&(from..from.saturating_add(into.len())));
        // SAFETY: inside the mapping, and `into` is memory of this process. Where the writer writes meanwhile
        // the bytes are a mixture, which is a valid value of bytes, and which the caller drops.
        unsafe { std::ptr::copy_nonoverlapping(start.as_ptr(), into.as_mut_ptr(), into.len()) };
    }

    /// Bytes that another process may write meanwhile, as atomics.
    pub(crate) fn atomic_bytes(&self, range: Range<usize>) -> &[AtomicU8] {
        let start = self.check(&range);
        // SAFETY: inside the mapping; loads of single bytes are allowed on memory mapped for reading alone.
        unsafe { std::slice::from_raw_parts(start.as_ptr().cast(), range.len()) }
    }

    /// Checks that the bytes lie inside the mapping, and returns where they begin.
    fn check(&self, range: &Range<usize>) -> NonNull<u8> {
        let all = self.count * 8;
        assert!(
            range.start <= range.end && range.end <= all,
            "{range:?} of {all} bytes"
        );
        // SAFETY: not beyond the mapping's end by the check above.
        unsafe { self.memory.start().add(range.start) }
    }

    /// Waits until a word's low half is no longer `expected`, the writer wakes the waiters, or the span is over.
    pub(crate) fn wait(&self, place: usize, expected: u32, span: Duration) {
        let span = rustix::thread::futex::Timespec {
            tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: span.subsec_nanos().into(),
        };
        // The reason why it ended does not matter: the caller reads the word again.
        let _ = futex::wait(
            self.low_half(place),
            futex::Flags::empty(),
            expected,
            Some(&span),
        );
    }

    /// Wakes all threads that wait for a word.
    pub(crate) fn wake(&self, place: usize) {
        let _ = futex::wake(self.low_half(place), futex::Flags::empty(), i32::MAX as u32);
    }

    fn low_half(&self, place: usize) -> &AtomicU32 {
        let word: *const AtomicU64 = self.word(place);
        let half: *const AtomicU32 = word.cast();
        // SAFETY: one of the two halves of a word inside the mapping; only the kernel reads it at this width.
        unsafe { &*half.add(usize::from(cfg!(target_endian = "big"))) }
    }

    #[inline]
    fn word(&self, place: usize) -> &AtomicU64 {
        assert!(place < self.count, "word {place} of {}", self.count);
        // SAFETY: inside the mapping by the check above; loads of 64 bits are allowed on memory that is
        // mapped for reading alone.
        unsafe { self.memory.start().cast::<AtomicU64>().add(place).as_ref() }
    }
}
