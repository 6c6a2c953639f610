//! The interval log of a series: its total and a point an interval, each payload read once.

use std::io::BufRead;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle, available_parallelism};

use kadenz_record::histogram::{Bucket, Histogram, Layout, SignedHistogram};
use kadenz_record::hlog::reader::{Interval, IntervalLog, ReadLogError};
use kadenz_record::run::folder::EARLY_TAG;

use super::IntervalPoint;
use super::batches::{Batches, Line};
use crate::statistics::{Percent, SignedBucket, value_at_rank};

/// What an interval log holds.
#[derive(Debug, Default)]
pub(super) struct LogFacts {
    pub(super) total: SignedHistogram,
    pub(super) intervals: Vec<IntervalPoint>,
    /// How many lines could not be understood, and why the first could not.
    pub(super) damaged: Option<(u64, ReadLogError)>,
    /// Lines with a tag that is none of Kadenz's; they are left out.
    pub(super) foreign: u64,
    /// Whether the last line was cut off.
    pub(super) truncated: bool,
}

/// Reads a log to its end, with as many threads as there are CPUs. Lines that cannot be understood
/// are counted and passed over.
pub(super) fn read<R: BufRead>(mut log: IntervalLog<R>) -> LogFacts {
    let threads = available_parallelism().map_or(1, NonZero::get).min(16);
    let mut facts = LogFacts::default();
    let mut batches = Batches::of(&mut log);
    loop {
        let round: Vec<Vec<Line>> = batches.by_ref().take(threads).collect();
        if round.is_empty() {
            break;
        }
        for part in side_by_side(round) {
            facts.append(part);
        }
    }
    facts.truncated = log.truncated();
    facts
}

/// What each batch of a round holds, in their order. One is read by the calling thread.
fn side_by_side(round: Vec<Vec<Line>>) -> Vec<LogFacts> {
    thread::scope(|scope| {
        let mut batches = round.into_iter();
        let own = batches.next();
        let others: Vec<_> = batches
            .map(|batch| scope.spawn(|| read_batch(batch)))
            .collect();
        let own = own.map(read_batch);
        let joined = |other: ScopedJoinHandle<'_, LogFacts>| {
            other.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        own.into_iter()
            .chain(others.into_iter().map(joined))
            .collect()
    })
}

fn read_batch(batch: Vec<Line>) -> LogFacts {
    let mut facts = LogFacts::default();
    let mut buckets = Vec::new();
    let mut pending = Pending::default();
    for line in batch {
        let taken = line.and_then(|line| take(&mut facts, &mut pending, &mut buckets, &line));
        if let Err(error) = taken {
            let (number, _) = facts.damaged.get_or_insert((0, error));
            *number += 1;
        }
    }
    facts.intervals.extend(pending.point());
    facts
}

impl LogFacts {
    /// Takes in what a later part of the same log holds.
    fn append(&mut self, part: Self) {
        for (total, more) in [
            (&mut self.total.late, &part.total.late),
            (&mut self.total.early, &part.total.early),
        ] {
            if !more.is_empty() {
                make_room(total, more.layout());
                total.add(more);
            }
        }
        self.intervals.extend(part.intervals);
        self.foreign += part.foreign;
        if let Some((more, error)) = part.damaged {
            let (number, _) = self.damaged.get_or_insert((0, error));
            *number += more;
        }
    }
}

fn take(
    facts: &mut LogFacts,
    pending: &mut Pending,
    buckets: &mut Vec<Bucket>,
    interval: &Interval,
) -> Result<(), ReadLogError> {
    let early = match interval.tag.as_deref() {
        None => false,
        Some(EARLY_TAG) => true,
        Some(_) => {
            facts.foreign += 1;
            return Ok(());
        }
    };
    let layout = interval.histogram.buckets_into(buckets)?;
    if !pending.is_of(interval, early) {
        facts.intervals.extend(pending.point());
        pending.begin(interval);
    }
    let total = if early {
        &mut facts.total.early
    } else {
        &mut facts.total.late
    };
    make_room(total, &layout);
    buckets
        .iter()
        .for_each(|bucket| total.record_n(bucket.low, bucket.count));
    if early {
        pending.early = true;
        pending
            .cells
            .splice(0..0, buckets.iter().rev().map(mirrored));
    } else {
        pending.cells.extend(buckets.iter().map(upright));
    }
    Ok(())
}

fn upright(bucket: &Bucket) -> SignedBucket {
    SignedBucket {
        low_ns: bucket.low as i64,
        high_ns: bucket.high as i64,
        count: bucket.count,
    }
}

fn mirrored(bucket: &Bucket) -> SignedBucket {
    let SignedBucket {
        low_ns,
        high_ns,
        count,
    } = upright(bucket);
    SignedBucket {
        low_ns: -high_ns,
        high_ns: -low_ns,
        count,
    }
}

/// Lets `total` hold what was recorded in `layout`: an empty one takes its digits, so that a coarse
/// log stays coarse and no value is told lower than it may have been; a full one grows.
pub(crate) fn make_room(total: &mut Histogram, layout: &Layout) {
    let own = *total.layout();
    let (lowest, digits) = if total.is_empty() {
        (layout.lowest(), layout.digits())
    } else {
        (own.lowest(), own.digits())
    };
    let highest = own.highest().max(layout.highest());
    if (lowest, highest, digits) == (own.lowest(), own.highest(), own.digits()) {
        return;
    }
    if let Ok(wider) = Layout::new(lowest, highest, digits) {
        let narrow = std::mem::replace(total, Histogram::with_layout(wider));
        total.add(&narrow);
    }
}

/// The interval whose lines are being read: the late values, and the early ones if there are any.
#[derive(Debug, Default)]
struct Pending {
    /// Start and length; absent before the first line.
    time: Option<(f64, f64)>,
    early: bool,
    /// Ascending.
    cells: Vec<SignedBucket>,
}

impl Pending {
    /// Whether a line belongs to the interval: an early one at the same time does.
    fn is_of(&self, interval: &Interval, early: bool) -> bool {
        early && !self.early && self.time == Some((interval.relative_s, interval.length_s))
    }

    fn begin(&mut self, interval: &Interval) {
        self.time = Some((interval.relative_s, interval.length_s));
        self.early = false;
        self.cells.clear();
    }

    fn point(&self) -> Option<IntervalPoint> {
        let (start_s, length_s) = self.time?;
        let (min_ns, max_ns) = match (self.cells.first(), self.cells.last()) {
            (Some(first), Some(last)) => (first.low_ns, last.high_ns),
            _ => (0, 0),
        };
        let count = crate::statistics::count(&self.cells);
        let percentile = |percent: Percent| {
            let carried = percent.is_carried_by(count);
            carried
                .then(|| value_at_rank(&self.cells, percent.rank(count)))
                .flatten()
        };
        Some(IntervalPoint {
            start_s,
            length_s,
            count,
            min_ns,
            max_ns,
            p50_ns: percentile(Percent::P50),
            p99_ns: percentile(Percent::P99),
        })
    }
}
