//! Memory shared with the kernel: slots of one frame each, in a ring. A slot belongs to the kernel or
//! to the process; the first word of it says to whom.

use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a slot: the kernel's header and a frame of Ethernet's usual size.
const SLOT: usize = 2048;
/// Slots of a block, which the kernel takes as one piece of memory.
const SLOTS_OF_BLOCK: usize = 32;

/// The ring of received frames.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: NonNull<u8>,
    slots: usize,
    next: usize,
}

// SAFETY: the memory is mapped until the ring is dropped, by whichever thread, and the one owner of the
// ring reads it.
unsafe impl Send for Ring {}

impl Ring {
    /// Asks the kernel for a ring of at least so many frames and maps it. The pages are in memory from
    /// then on: the kernel has allocated them.
    pub(super) fn map(descriptor: &OwnedFd, frames: usize) -> io::Result<Self> {
        let blocks = frames.max(1).div_ceil(SLOTS_OF_BLOCK);
        let slots = blocks * SLOTS_OF_BLOCK;
        let number =
            |it: usize| u32::try_from(it).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL));
        let request = libc::tpacket_req {
            tp_block_size: number(SLOT * SLOTS_OF_BLOCK)?,
            tp_block_nr: number(blocks)?,
            tp_frame_size: number(SLOT)?,
            tp_frame_nr: number(slots)?,
        };
        super::set(descriptor, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping anywhere, of the size that the kernel has just agreed to.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                slots * SLOT,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                descriptor.as_raw_fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            memory,
            slots,
            next: 0,
        })
    }

    /// Whether there is a frame.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// The word of the next slot that says whose it is.
    #[inline]
    fn status(&self) -> &AtomicU32 {
        let at = self.next * SLOT + offset_of!(libc::tpacket2_hdr, tp_status);
        // SAFETY: `next` is below `slots`, so the word is inside the mapping, which lives as long as the
        // ring; it is four bytes, aligned as the slot is, and is accessed by both sides as one.
        unsafe { AtomicU32::from_ptr(self.memory.add(at).cast().as_ptr()) }
    }

    /// Copies the next frame and gives its slot back; `None` when there is none. What does not fit into
    /// `frame` is cut. Besides the length, the kernel's stamp of the wall clock in ns.
    #[inline]
    pub(crate) fn take(&mut self, frame: &mut [u8]) -> Option<(usize, u64)> {
        if !self.is_ready() {
            return None;
        }
        // SAFETY: `next` is below `slots`, so the slot is inside the mapping.
        let slot = unsafe { self.memory.add(self.next * SLOT) };
        // SAFETY: the kernel has given the slot to us, with its header filled in; it does not write there
        // until the status says otherwise.
        let header = unsafe { slot.cast::<libc::tpacket2_hdr>().read() };
        let start = usize::from(header.tp_mac);
        let there = (header.tp_snaplen as usize).min(SLOT.saturating_sub(start));
        let length = there.min(frame.len());
        debug_assert!(start >= size_of::<libc::tpacket2_hdr>());
        // SAFETY: `start + length` is inside the slot by the bounds above, the slot is ours, and `frame` is
        // memory of the caller's alone, at least `length` long.
        unsafe {
            std::ptr::copy_nonoverlapping(slot.add(start).as_ptr(), frame.as_mut_ptr(), length);
        }
        self.status()
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
        let stamp = u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec);
        Some((length, stamp))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is the ring's own, of this size, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.slots * SLOT) };
    }
}
