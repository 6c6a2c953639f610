//! Histograms without their zero counters.

use super::{Bucket, Histogram, Layout};

/// The counts of an interval, in memory for the used counters only: for reading logs interval by interval, as most
/// counters of each are zero. It is read-only.
///
/// ```
/// use kadenz_record::histogram::SparseHistogram;
/// use kadenz_record::hlog::reader::IntervalLog;
///
/// let log = "\
/// #[StartTime: 1441812279.474 (seconds since epoch), Wed Sep 09 08:24:39 PDT 2015]
/// 0.127,1.007,2.769,HISTFAAAAEV42pNpmSzMwMCgyAABTBDKT4GBgdnNYMcCBvsPEBEJISEuATEZMQ4uASkhIR4nrxg9v2lMaxhvMekILGZkKmcCAEf2CsI=
/// ";
/// let mut values = SparseHistogram::default();
/// for interval in IntervalLog::from_reader(log.as_bytes()) {
///     interval?.histogram.sparse_into(&mut values)?;
///     assert_eq!((values.count(), values.max()), (741, 2_768_895));
///     assert_eq!(values.bucket_at_rank(371).map(|bucket| bucket.high), Some(344_063));
/// }
/// # Ok::<(), kadenz_record::hlog::reader::ReadLogError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparseHistogram {
    layout: Layout,
    /// Counters above zero, ascending by index.
    cells: Vec<Cell>,
    total: u64,
}

/// A counter above zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) index: usize,
    pub(crate) count: u64,
}

impl Default for SparseHistogram {
    fn default() -> Self {
        Self {
            layout: Layout::STANDARD,
            cells: Vec::new(),
            total: 0,
        }
    }
}

impl SparseHistogram {
    /// The layout the values were recorded in.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How many values were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// As [`Histogram::min`].
    #[must_use]
    pub fn min(&self) -> u64 {
        self.cells.first().map_or(0, |cell| self.bucket(*cell).low)
    }

    /// As [`Histogram::max`].
    #[must_use]
    pub fn max(&self) -> u64 {
        self.cells.last().map_or(0, |cell| self.bucket(*cell).high)
    }

    /// As [`Histogram::buckets`].
    pub fn buckets(&self) -> impl DoubleEndedIterator<Item = Bucket> + '_ {
        self.cells.iter().map(|cell| self.bucket(*cell))
    }

    /// The range in which the value of `rank` lies, from 1 for the smallest; absent where there are
    /// fewer values.
    #[must_use]
    pub fn bucket_at_rank(&self, rank: u64) -> Option<Bucket> {
        let mut seen = 0_u64;
        let cell = self.cells.iter().find(|cell| {
            seen = seen.saturating_add(cell.count);
            seen >= rank
        });
        cell.map(|cell| self.bucket(*cell))
    }

    /// Adds everything to `sum`, by the rule of [`Histogram::add`].
    pub fn add_to(&self, sum: &mut Histogram) {
        let (Some(first), Some(last)) = (self.cells.first(), self.cells.last()) else {
            return;
        };
        let counters = sum.counts_to_add(&self.layout, first.index, last.index, self.total);
        if let Some(counters) = counters {
            for cell in &self.cells {
                counters[cell.index] = counters[cell.index].saturating_add(cell.count);
            }
        } else {
            for cell in &self.cells {
                sum.add_from(&self.layout, cell.index, cell.count);
            }
        }
    }

    /// Removes all recorded values, and keeps the memory.
    pub fn clear(&mut self) {
        self.cells.clear();
        self.total = 0;
    }

    /// Makes room for `most` counters of `layout`, to be filled from the front; [`SparseHistogram::keep`] then sets
    /// how many were.
    pub(crate) fn room(&mut self, layout: Layout, most: usize) -> &mut [Cell] {
        self.layout = layout;
        self.total = 0;
        self.cells.resize(most, Cell::default());
        &mut self.cells
    }

    /// Keeps the first `found` counters, which add up to `total`.
    pub(crate) fn keep(&mut self, found: usize, total: u64) {
        self.cells.truncate(found);
        self.total = total;
    }

    fn bucket(&self, cell: Cell) -> Bucket {
        let low = self.layout.lowest_at(cell.index);
        Bucket {
            low,
            high: self.layout.highest_equivalent(low),
            count: cell.count,
        }
    }
}
