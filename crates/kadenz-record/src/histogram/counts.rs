//! The counters: recording, adding, and iterating over the recorded values.

use std::ops::RangeInclusive;

use super::Layout;

/// How often each value was recorded, at the resolution of a [`Layout`].
///
/// Counters saturate instead of wrapping.
///
/// # Real-time safety
/// Recording costs a few nanoseconds and never allocates; the memory is taken once, 270 kB for the standard
/// layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    layout: Layout,
    counts: Vec<u64>,
    total: u64,
    /// The indices of the lowest and the highest non-zero counters; `first > last` when empty.
    first: usize,
    last: usize,
}

/// A range of values that share a counter, and how often one of them was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Lowest value of the range.
    pub low: u64,
    /// Highest value of the range.
    pub high: u64,
    /// How often a value of the range was recorded.
    pub count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram of the standard layout.
    #[must_use]
    pub fn new() -> Self {
        Self::with_layout(Layout::STANDARD)
    }

    /// An empty histogram of `layout`.
    #[must_use]
    pub fn with_layout(layout: Layout) -> Self {
        Self {
            layout,
            counts: vec![0; layout.len()],
            total: 0,
            first: usize::MAX,
            last: 0,
        }
    }

    /// The layout of the counters.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Records `value` once. A value above the layout's highest is recorded as the highest.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Records `value` as if it had come `n` times.
    #[inline]
    pub fn record_n(&mut self, value: u64, n: u64) {
        self.add_at(self.layout.index_of(value), n);
    }

    /// Adds to a counter. `index` must be below the layout's length.
    #[inline]
    pub(crate) fn add_at(&mut self, index: usize, n: u64) {
        if n == 0 {
            return;
        }
        self.counts[index] = self.counts[index].saturating_add(n);
        self.total = self.total.saturating_add(n);
        self.first = self.first.min(index);
        self.last = self.last.max(index);
    }

    /// Adds a count that was made at `index` of a histogram of layout `from`, by HdrHistogram's rule: where the
    /// layouts differ, the lowest value of the other's counter is recorded. Where the count is zero, `index` may be
    /// any.
    #[inline]
    pub(crate) fn add_from(&mut self, from: &Layout, index: usize, n: u64) {
        if n == 0 {
            return;
        }
        if self.layout.same_scale(from) && index < self.layout.len() {
            self.add_at(index, n);
        } else {
            self.add_at(self.layout.covered_index(from.lowest_at(index)), n);
        }
    }

    /// The counters to which the counts of a histogram of layout `from` at `first..=last`, with the sum `total`,
    /// can be added; `None` if indices do not mean the same values here.
    pub(crate) fn counts_to_add(
        &mut self,
        from: &Layout,
        first: usize,
        last: usize,
        total: u64,
    ) -> Option<&mut [u64]> {
        if !self.layout.same_scale(from) || last >= self.layout.len() {
            return None;
        }
        self.total = self.total.saturating_add(total);
        self.first = self.first.min(first);
        self.last = self.last.max(last);
        Some(&mut self.counts[..=last])
    }

    /// Adds everything that `other` recorded. Where the layouts differ, a value lands in the counter of the lowest
    /// value it could have been, as in HdrHistogram; so sum coarsely recorded values in their own layout, lest the
    /// sum look more precise than its parts.
    pub fn add(&mut self, other: &Self) {
        for index in other.used() {
            self.add_from(&other.layout, index, other.counts[index]);
        }
    }

    /// How many values were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Resets all counters. Costs as much as the range of values that was used.
    pub fn reset(&mut self) {
        let used = self.used();
        self.counts[used].fill(0);
        self.total = 0;
        self.first = usize::MAX;
        self.last = 0;
    }

    /// Becomes an empty histogram of `layout`; takes memory only if the layout is another one.
    pub(crate) fn reset_to(&mut self, layout: Layout) {
        if self.layout == layout {
            self.reset();
        } else {
            *self = Self::with_layout(layout);
        }
    }

    /// The ranges with a count above zero, from low to high values.
    pub fn buckets(&self) -> impl DoubleEndedIterator<Item = Bucket> + '_ {
        self.used()
            .filter(|&index| self.counts[index] > 0)
            .map(|index| self.bucket_at(index))
    }

    pub(crate) fn bucket_at(&self, index: usize) -> Bucket {
        let low = self.layout.lowest_at(index);
        Bucket {
            low,
            high: self.layout.highest_equivalent(low),
            count: self.counts[index],
        }
    }

    /// The indices between the first and the last counter in use; empty when nothing was recorded.
    pub(crate) fn used(&self) -> RangeInclusive<usize> {
        if self.total == 0 {
            RangeInclusive::new(1, 0)
        } else {
            self.first..=self.last
        }
    }

    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }
}
