//! Cuts an interval log into pieces that can be understood side by side.

use std::io::BufRead;
use std::iter::Peekable;

use kadenz_record::hlog::reader::{Interval, IntervalLog, ReadLogError};
use kadenz_record::run::folder::EARLY_TAG;

/// A line of the log, or why it cannot be understood.
pub(super) type Line = Result<Interval, ReadLogError>;

/// How many bytes make a batch full: some thousand intervals of an idle machine.
const FULL: usize = 2 << 20;

/// What a line takes besides the text of its histogram, about.
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
