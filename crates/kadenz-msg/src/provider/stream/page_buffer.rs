//! Buffers of long messages at addresses from which the kernel copies fast.
//!
//! A socket's memory begins with a page, and a plain allocation of some 100 KiB or more at byte 16 of one. On
//! an AMD EPYC the kernel took nearly twice as long for 1 MiB behind a header of 25 bytes from byte 16 as
//! from byte 2048 (`cargo xtask bench socket-copy`, docs/benchmarks.md). The likely reason: it copies by `rep
//! movsb`, which is slow there if the destination is 1 to 63 bytes behind the source, both taken modulo 4
//! KiB.

use std::ops::{Deref, DerefMut};

const PAGE: usize = 4096;

/// Bytes whose first one is at a requested offset in a page.
#[derive(Debug)]
pub(in crate::provider) struct PageBuffer {
    bytes: Vec<u8>,
    start: usize,
    page_offset: usize,
}

impl PageBuffer {
    /// For payloads that are sent behind a header of up to half a page.
    pub(in crate::provider) const fn to_send() -> Self {
        Self::at(PAGE / 2)
    }

    /// For a stream that is received.
    pub(in crate::provider) const fn to_receive() -> Self {
        Self::at(0)
    }

    const fn at(page_offset: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            page_offset,
        }
    }

    /// Extends the buffer to that length if it is shorter; new bytes are zero.
    pub(in crate::provider) fn grow(&mut self, length: usize) {
        if self.len() >= length {
            return;
        }
        // The kernel gives zeroed memory as it is touched.
        let mut bytes = vec![0; length + PAGE];
        let start = (self.page_offset.wrapping_sub(bytes.as_ptr().addr())) % PAGE;
        bytes.truncate(start + length);
        bytes[start..start + self.len()].copy_from_slice(self);
        (self.bytes, self.start) = (bytes, start);
    }

    /// Returns the first bytes of a buffer that only grows.
    pub(in crate::provider) fn front(&mut self, length: usize) -> &mut [u8] {
        self.grow(length);
        &mut self[..length]
    }
}

impl Deref for PageBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

impl DerefMut for PageBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_at_its_place_of_a_page_and_keeps_what_is_in_it() {
        for (mut buffer, page_offset) in
            [(PageBuffer::to_send(), 2048), (PageBuffer::to_receive(), 0)]
        {
            assert!(buffer.is_empty());
            for length in [1, 200, 4096, 1 << 20] {
                let last = buffer.last().copied();
                let before = buffer.len();
                buffer.front(length)[length - 1] = 7;
                assert_eq!(buffer.as_ptr().addr() % PAGE, page_offset, "{length}");
                assert_eq!(buffer.len(), length);
                assert_eq!(before.checked_sub(1).map(|at| buffer[at]), last);
            }
            assert_eq!(buffer.front(10).len(), 10);
            assert_eq!(buffer.len(), 1 << 20);
        }
    }
}
