//! Files mapped into memory as words of 64 bits: mmap(2).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file's words in memory, shared with whoever maps it too.
#[derive(Debug)]
pub(crate) struct Mapping {
    words: NonNull<AtomicU64>,
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
        // SAFETY: a new mapping anywhere of an open file.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                count * 8,
                rights,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                file.as_raw_fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let words = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { words, count })
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
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.count) }
    }

    #[inline]
    fn word(&self, place: usize) -> &AtomicU64 {
        assert!(place < self.count, "word {place} of {}", self.count);
        // SAFETY: inside the mapping by the check above; loads of 64 bits are allowed on memory that is
        // mapped for reading alone.
        unsafe { self.words.add(place).as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, of this size, and nothing refers to it any more.
        unsafe { libc::munmap(self.words.as_ptr().cast(), self.count * 8) };
    }
}
