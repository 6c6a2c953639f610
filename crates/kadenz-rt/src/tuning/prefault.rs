//! Memory touched before it is needed: a page that is first touched costs a real-time loop a page fault, tens of
//! microseconds at best.

#[cfg(target_os = "linux")]
use crate::os::linux::memory::stack_left;

/// Bytes of stack that are touched: a quarter of the 2 MiB a thread of the standard library has.
pub(super) const STACK_PREFAULT: usize = 512 * 1024;

/// Bytes of heap that are touched.
const HEAP_PREFAULT: usize = 8 * 1024 * 1024;

/// Touches the stack and the heap that the calling thread will use.
pub(super) fn touch() {
    touch_stack_ahead();
    touch_heap(HEAP_PREFAULT);
}

/// Touches the next [`STACK_PREFAULT`] bytes of the calling thread's stack, so that the loop does not fault on
/// them; less where the stack has less left, or where the system does not report it (outside Linux).
fn touch_stack_ahead() {
    let usable = stack_left().map_or(0, |left| left.saturating_sub(STACK_RESERVE));
    touch_frames(usable.min(STACK_PREFAULT));
}

/// Bytes of stack that are not touched: this function itself and a signal handler need them.
const STACK_RESERVE: usize = 64 * 1024;

/// Bytes of stack that one call touches, a little more with its frame.
const STACK_CHUNK: usize = 16 * 1024;

#[inline(never)]
fn touch_frames(bytes: usize) {
    let mut chunk = [0_u8; STACK_CHUNK];
    // The compiler may not leave out writes whose use it cannot see, nor end the frame before the deeper ones.
    std::hint::black_box(&mut chunk);
    if let Some(rest) = bytes.checked_sub(STACK_CHUNK) {
        touch_frames(rest);
    }
    std::hint::black_box(&mut chunk);
}

/// Takes `bytes` from the heap, touches them and frees them, so that later allocations of that many bytes in all
/// need no new pages.
///
/// That holds for glibc with memory locked, which keeps freed memory; other allocators may return it to the
/// kernel. A loop should not allocate at all; this is for the code that it calls.
fn touch_heap(bytes: usize) {
    let mut pages = vec![0_u8; bytes];
    // Zeroed memory comes untouched from the kernel: write to every page.
    for page in pages.chunks_mut(4096) {
        page[0] = 1;
    }
    std::hint::black_box(&mut pages);
}

#[cfg(not(target_os = "linux"))]
const fn stack_left() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_stack_is_touched_no_further_than_it_reaches() {
        for kilobytes in [64, 128, 256, 1024, 4096] {
            let small = std::thread::Builder::new().stack_size(kilobytes * 1024);
            small.spawn(touch_stack_ahead).unwrap().join().unwrap();
        }
    }

    #[test]
    fn heap_of_any_size_can_be_touched() {
        for bytes in [0, 1, 4096, 4097, 1 << 20] {
            touch_heap(bytes);
        }
    }
}
