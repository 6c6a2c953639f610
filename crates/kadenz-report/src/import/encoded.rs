//! Takes over the intervals of an interval log without decoding them for good.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{self, available_parallelism};

use kadenz_record::histogram::SparseHistogram;
use kadenz_record::hlog::reader::{Encoded, ReadLogError};
use kadenz_record::recorder::Counts;

use super::sink::{EncodedInterval, extend};

/// What an interval holds.
pub(super) struct Contents {
    pub(super) late: Values,
    pub(super) early: Option<Values>,
}

/// What a histogram holds; magnitudes where it is one of early values.
#[derive(Clone, Copy, Default)]
pub(super) struct Values {
    pub(super) count: u64,
    pub(super) min: u64,
    pub(super) max: u64,
}

/// What each interval holds, in their order, looked at by as many threads as there are CPUs.
pub(super) fn contents(intervals: &[EncodedInterval]) -> Vec<Result<Contents, ReadLogError>> {
    let threads = available_parallelism().map_or(1, NonZero::get);
    let share = intervals.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let looking: Vec<_> = intervals
            .chunks(share)
            .map(|share| scope.spawn(|| look_at_all(share)))
            .collect();
        let seen = looking
            .into_iter()
            .map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic)));
        seen.flatten().collect()
    })
}

fn look_at_all(intervals: &[EncodedInterval]) -> Vec<Result<Contents, ReadLogError>> {
    let mut scratch = SparseHistogram::default();
    let mut look = |encoded: &Encoded| -> Result<Values, ReadLogError> {
        encoded.sparse_into(&mut scratch)?;
        Ok(Values {
            count: scratch.count(),
            min: scratch.min(),
            max: scratch.max(),
        })
    };
    intervals
        .iter()
        .map(|interval| {
            let late = look(&interval.late)?;
            let early = interval.early.as_ref().map(&mut look).transpose()?;
            Ok(Contents { late, early })
        })
        .collect()
}

impl Contents {
    /// Counts the values as a recorder would; the extremes are as exact as the histograms are.
    pub(super) fn count_in(&self, counts: &mut Counts) {
        // Layouts end below 2^63, so nothing is cut off.
        if self.late.count > 0 {
            counts.recorded = counts.recorded.saturating_add(self.late.count);
            extend(counts, self.late.min as i64, self.late.max as i64);
        }
        if let Some(early) = self.early.filter(|early| early.count > 0) {
            counts.recorded = counts.recorded.saturating_add(early.count);
            counts.early = counts.early.saturating_add(early.count);
            extend(counts, -(early.max as i64), -(early.min as i64));
        }
    }
}
