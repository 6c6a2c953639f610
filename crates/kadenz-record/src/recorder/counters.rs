//! Counters that several threads see.

use crate::{
    histogram::Layout,
    sync::{AtomicU64, Ordering::Relaxed},
};

/// The layout of every recorder. Loom can follow only a few counters, and Miri is slow.
pub(super) const LAYOUT: Layout = if cfg!(loom) {
    small(3, 0)
} else if cfg!(miri) {
    small(Layout::STANDARD.highest(), 1)
} else {
    Layout::STANDARD
};

const fn small(highest: u64, digits: u8) -> Layout {
    match Layout::new(1, highest, digits) {
        Ok(layout) => layout,
        Err(_) => panic!("these are layouts"),
    }
}

/// What is beyond this magnitude is saturated.
pub(super) const HIGHEST: u64 = LAYOUT.highest();

/// One counter for each range of values, of either sign.
#[derive(Debug)]
pub(super) struct Counters {
    pub(super) late: Box<[AtomicU64]>,
    pub(super) early: Box<[AtomicU64]>,
}

impl Counters {
    /// Counters at zero, whose pages are all mapped, so that counting never faults one in.
    pub(super) fn new() -> Self {
        Self {
            late: touched(),
            early: touched(),
        }
    }

    /// The counter of `value`.
    #[inline]
    pub(super) fn of(&self, value: i64) -> &AtomicU64 {
        let counters = if value < 0 { &self.early } else { &self.late };
        &counters[index_of(value)]
    }
}

#[inline]
fn index_of(value: i64) -> usize {
    LAYOUT.index_of(value.unsigned_abs())
}

/// The indices of late and of early counters that values from `min` to `max` use.
pub(super) fn used(min: i64, max: i64) -> [std::ops::Range<usize>; 2] {
    let late = if max >= 0 {
        index_of(min.max(0))..index_of(max) + 1
    } else {
        0..0
    };
    let early = if min < 0 {
        index_of(max.min(-1))..index_of(min) + 1
    } else {
        0..0
    };
    [late, early]
}

/// Zeroed counters on pages that were written to once.
fn touched() -> Box<[AtomicU64]> {
    let counters: Box<[AtomicU64]> = (0..LAYOUT.len()).map(|_| AtomicU64::new(0)).collect();
    // Zeroed memory may be a promise of the kernel only; a write to each page redeems it.
    for counter in std::hint::black_box(&counters).iter().step_by(64) {
        counter.store(1, Relaxed);
        std::hint::black_box(counter).store(0, Relaxed);
    }
    counters
}
