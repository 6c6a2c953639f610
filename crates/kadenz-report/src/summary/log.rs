//! The interval log of a series: its total and one point per interval, each payload read once.

use std::io::BufRead;
use std::iter::Peekable;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{self, available_parallelism};

use kadenz_record::histogram::{Histogram, Layout, SignedHistogram, SparseHistogram};
use kadenz_record::hlog::reader::{Interval, IntervalLog, ReadLogError};
use kadenz_record::run::folder::EARLY_TAG;
use kadenz_record::run::model::Series;

use super::IntervalPoint;
use crate::statistics::{Percent, SampleMeter};
use crate::verdict::Block;

/// Content of an interval log.
#[derive(Debug, Default)]
pub(super) struct LogFacts {
    pub(super) total: SignedHistogram,
    pub(super) intervals: Vec<IntervalPoint>,
    /// Number of invalid lines, and the error of the first.
    pub(super) damaged: Option<(u64, ReadLogError)>,
    /// Lines with a tag that Kadenz does not use; they are left out.
    pub(super) foreign: u64,
    /// Whether the last line was cut off.
    pub(super) truncated: bool,
}

/// The parts of a run that show how its misses are grouped.
pub(super) fn blocks(intervals: &[IntervalPoint]) -> Vec<Block> {
    let block = |it: &IntervalPoint| Block {
        count: it.count,
        misses: it.misses,
    };
    intervals.iter().map(block).collect()
}

/// Counts misses where the recorder's count does not apply: of another deadline, or of fewer values. The histogram does
/// not decide alone: the recorder's maximum is exact, and values beyond the histogram of an import are only counted.
pub(super) fn recount_misses(
    series: &mut Series,
    histogram: &SignedHistogram,
    meter: Option<&SampleMeter>,
) {
    let limit = series
        .deadline_ns
        .map_or(i64::MAX, |ns| i64::try_from(ns).unwrap_or(i64::MAX));
    let counts = &mut series.counts;
    let is_missed = counts.max_ns.is_some_and(|max_ns| max_ns > limit);
    let whole = meter.filter(|meter| meter.count() == histogram.count());
    let (misses, longest_miss_run) = match whole {
        Some(meter) => meter.misses(),
        None if is_missed => (histogram.count_above(limit).max(counts.saturated), 0),
        None => (histogram.count_above(limit), 0),
    };
    let misses = misses.max(u64::from(is_missed));
    counts.misses = misses.min(histogram.count());
    counts.longest_miss_run = longest_miss_run;
}

/// The mean time between two values, in nanoseconds, from the intervals that lie within the series: a loop that paces
/// itself by the end of its work keeps a longer one than it was given. Absent where there are no such intervals.
pub(super) fn kept_interval_ns(intervals: &[IntervalPoint]) -> Option<f64> {
    let has_values = |it: &IntervalPoint| it.count > 0;
    let first = intervals.iter().position(has_values)?;
    let last = intervals.iter().rposition(has_values)?;
    let within = intervals.get(first + 1..last)?;
    let length_s: f64 = within.iter().map(|it| it.length_s).sum();
    let count: u64 = within.iter().map(|it| it.count).sum();
    (count > 0).then(|| 1e9 * length_s / count as f64)
}

/// End of the last interval, in nanoseconds since the run's start.
pub(super) fn end_of(intervals: &[IntervalPoint]) -> u64 {
    let end_s = intervals
        .iter()
        .map(|point| point.start_s + point.length_s)
        .fold(0.0, f64::max);
    (end_s * 1e9) as u64
}

/// Reads a log to its end, with as many threads as there are CPUs. Invalid lines are counted and skipped. Values above
/// `deadline_ns` are misses.
pub(super) fn read<R: BufRead>(mut log: IntervalLog<R>, deadline_ns: Option<u64>) -> LogFacts {
    let threads = available_parallelism().map_or(1, NonZero::get).min(16);
    let mut facts = LogFacts::default();
    let mut batches = Batches::of(&mut log);
    let mut next_round = || -> Vec<Vec<Line>> { batches.by_ref().take(threads).collect() };
    let mut round = next_round();
    while !round.is_empty() {
        let (parts, next) = while_reading(round, deadline_ns, &mut next_round);
        parts.into_iter().for_each(|part| facts.append(part));
        round = next;
    }
    facts.truncated = log.truncated();
    facts
}

/// The results of each batch of a round, in their order, read in parallel; and that of `meanwhile`, which the calling
/// thread runs in the same time.
fn while_reading<T>(
    round: Vec<Vec<Line>>,
    deadline_ns: Option<u64>,
    meanwhile: impl FnOnce() -> T,
) -> (Vec<LogFacts>, T) {
    thread::scope(|scope| {
        let reading: Vec<_> = round
            .into_iter()
            .map(|batch| scope.spawn(move || read_batch(batch, deadline_ns)))
            .collect();
        let meanwhile = meanwhile();
        let parts = reading.into_iter().map(|batch| {
            let part = batch.join();
            part.unwrap_or_else(|panic| resume_unwind(panic))
        });
        (parts.collect(), meanwhile)
    })
}

fn read_batch(batch: Vec<Line>, deadline_ns: Option<u64>) -> LogFacts {
    let mut facts = LogFacts::default();
    let mut scratch = SparseHistogram::default();
    let mut pending = Pending {
        deadline_ns,
        ..Pending::default()
    };
    for line in batch {
        let taken = line.and_then(|line| take(&mut facts, &mut pending, &mut scratch, &line));
        if let Err(error) = taken {
            let (number, _) = facts.damaged.get_or_insert((0, error));
            *number += 1;
        }
    }
    facts.intervals.extend(pending.point());
    facts
}

impl LogFacts {
    /// Whether values of the series are missing: lines are damaged, or the recorder counted more.
    pub(super) fn lacks(&self, series: &Series) -> bool {
        self.damaged.is_some() || self.total.count() < series.counts.recorded
    }

    /// Adds the content of a later part of the same log.
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
    scratch: &mut SparseHistogram,
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
    interval.histogram.sparse_into(scratch)?;
    if !pending.is_of(interval, early) {
        facts.intervals.extend(pending.point());
        pending.begin(interval);
    }
    let (total, values) = if early {
        (&mut facts.total.early, &mut pending.early)
    } else {
        (&mut facts.total.late, &mut pending.late)
    };
    make_room(total, scratch.layout());
    scratch.add_to(total);
    std::mem::swap(values, scratch);
    pending.has_early = early;
    Ok(())
}

/// Makes `total` able to hold the values of `layout`: it becomes as wide, and as coarse, so that no value is reported
/// lower than it may have been.
pub(crate) fn make_room(total: &mut Histogram, layout: &Layout) {
    let own = *total.layout();
    let (lowest, digits) = if total.is_empty() {
        (layout.lowest(), layout.digits())
    } else {
        (
            own.lowest().max(layout.lowest()),
            own.digits().min(layout.digits()),
        )
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

/// The interval whose lines are being read.
#[derive(Debug, Default)]
struct Pending {
    /// Start and length; absent before the first line.
    time: Option<(f64, f64)>,
    /// Whether its line with early values was read.
    has_early: bool,
    deadline_ns: Option<u64>,
    late: SparseHistogram,
    /// Magnitudes of the early values.
    early: SparseHistogram,
}

impl Pending {
    /// Whether a line belongs to the interval: a line of early values at the same time does.
    fn is_of(&self, interval: &Interval, early: bool) -> bool {
        early && !self.has_early && self.time == Some((interval.relative_s, interval.length_s))
    }

    fn begin(&mut self, interval: &Interval) {
        self.time = Some((interval.relative_s, interval.length_s));
        self.has_early = false;
        self.late.clear();
        self.early.clear();
    }

    fn point(&self) -> Option<IntervalPoint> {
        let (start_s, length_s) = self.time?;
        let count = self.late.count().saturating_add(self.early.count());
        let percentile = |percent: Percent| {
            let carried = percent.is_carried_by(count);
            carried.then(|| self.at_rank(percent.rank(count))).flatten()
        };
        let least = if self.early.is_empty() {
            self.late.min() as i64
        } else {
            -(self.early.max() as i64)
        };
        let largest = if self.late.is_empty() {
            -(self.early.min() as i64)
        } else {
            self.late.max() as i64
        };
        Some(IntervalPoint {
            start_s,
            length_s,
            count,
            misses: self.misses(),
            min_ns: least,
            max_ns: largest,
            p50_ns: percentile(Percent::P50),
            p99_ns: percentile(Percent::P99),
        })
    }

    fn misses(&self) -> u64 {
        let Some(deadline_ns) = self.deadline_ns.filter(|&ns| ns < self.late.max()) else {
            return 0;
        };
        let above = self.late.buckets().rev();
        let above = above.take_while(|bucket| bucket.low > deadline_ns);
        above.map(|bucket| bucket.count).sum()
    }

    /// The highest value of the range in which the value of `rank` lies, early ones first.
    fn at_rank(&self, rank: u64) -> Option<i64> {
        let early = self.early.count();
        if rank <= early {
            // The earliest value has the largest magnitude.
            let bucket = self.early.bucket_at_rank(early - rank + 1)?;
            return Some(-(bucket.low as i64));
        }
        let bucket = self.late.bucket_at_rank(rank - early)?;
        Some(bucket.high as i64)
    }
}

/// A line of the log, or its error.
pub(super) type Line = Result<Interval, ReadLogError>;

/// Bytes of a full batch: some thousand intervals of an idle machine.
const FULL: usize = 2 << 20;

/// Approximate memory of a line besides the text of its histogram.
const LINE: usize = 256;

/// A log as batches of lines, each little larger than [`FULL`] or its largest line. The lines of an
/// interval, the late values and the early ones, stay together.
pub(super) struct Batches<'a, R: BufRead> {
    lines: Peekable<&'a mut IntervalLog<R>>,
    full: usize,
}

impl<'a, R: BufRead> Batches<'a, R> {
    pub(super) fn of(log: &'a mut IntervalLog<R>) -> Self {
        Self {
            lines: log.peekable(),
            full: FULL,
        }
    }
}

impl<R: BufRead> Iterator for Batches<'_, R> {
    type Item = Vec<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some(next) = self.lines.peek() {
            if bytes >= self.full && !continues(&batch, next) {
                break;
            }
            bytes += LINE + next.as_ref().map_or(0, |it| it.histogram.encoded_len());
            batch.extend(self.lines.next());
        }
        (!batch.is_empty()).then_some(batch)
    }
}

/// Whether a line may be the other half of the batch's last: the first one with early values is.
fn continues(batch: &[Line], next: &Line) -> bool {
    let early =
        |line: &Line| matches!(line, Ok(interval) if interval.tag.as_deref() == Some(EARLY_TAG));
    early(next) && !batch.last().is_some_and(early)
}

#[cfg(test)]
mod tests {
    use kadenz_record::histogram::Histogram;
    use kadenz_record::hlog::writer::IntervalLogWriter;

    use super::*;

    #[test]
    fn an_interval_stays_whole_and_a_batch_stays_small() {
        let mut writer = IntervalLogWriter::new(Vec::new(), 0.0).unwrap();
        let mut values = Histogram::new();
        values.record(7);
        let tags = [
            None,
            None,
            Some(EARLY_TAG),
            Some(EARLY_TAG),
            Some("x"),
            None,
        ];
        for tag in tags {
            writer.append(tag, 0.0, 1.0, &values).unwrap();
        }
        let mut text = writer.into_inner();
        text.extend(b"no line of a log\n");

        let mut log = IntervalLog::from_reader(&text[..]);
        let mut batches = Batches::of(&mut log);
        batches.full = 1;
        let lengths: Vec<usize> = batches.map(|batch| batch.len()).collect();
        assert_eq!(lengths, [1, 2, 1, 1, 1, 1]);
    }
}
