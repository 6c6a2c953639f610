//! HdrHistogram interval logs, V0 to V2.
//!
//! Sources: `HistogramLogReader` and `HistogramLogWriter` of HdrHistogram 2.2.2,
//! jHiccup's logs among that project's test resources, and `kadenz_record::hlog`, which reads them.
//! Values are taken to be nanoseconds, as jHiccup's are; the format does not say. Each tag becomes a
//! series. In logs of Kadenz a tag `early`, or one that ends in `.early`, holds the magnitudes of the
//! values below zero of the series beside it. A last line that was cut off is left out.

use std::io::BufRead;

use jiff::Timestamp;
use kadenz_record::hlog::reader::{Encoded, Interval, IntervalLog};
use kadenz_record::run::folder::EARLY_TAG;
use kadenz_record::run::model::Kind;

use super::source::{series, set_start};
use super::{EncodedInterval, Importer, ReadError, Sink, StoreError};

/// Reads interval logs.
pub(super) struct Hlog;

/// Start times before 2000 are not wall time but some clock's.
const WALL_S: f64 = 946_684_800.0;

impl Importer for Hlog {
    fn recognises(&self, head: &str) -> bool {
        let mut lines = head.lines().map(str::trim_start);
        lines.any(|line| {
            [
                "#[Histogram log format",
                "#[Logged with",
                "#[StartTime:",
                "#[BaseTime:",
                "\"StartTimestamp\"",
            ]
            .iter()
            .any(|start| line.starts_with(start))
                || line.contains(",HIST")
        })
    }

    fn read(&self, source: &mut dyn BufRead, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let mut log = IntervalLog::from_reader(source);
        let mut writer = Writer::default();
        while let Some(interval) = log.next() {
            let interval = interval?;
            if writer.origin.is_none() {
                writer.begin(sink, &log, &interval);
            }
            writer.take(sink, interval)?;
        }
        writer.close();
        writer.flush(sink)?;
        if writer.open.is_empty() {
            return Err(ReadError::Lacks {
                what: "interval",
                remedy: "the log ended before its first",
            });
        }
        if log.truncated() {
            sink.cut_off("the last line of the log was cut off and is left out");
        }
        Ok(())
    }
}

/// The destination of the intervals: one series per tag.
#[derive(Default)]
struct Writer {
    /// The program that wrote the log, which determines its values and tags.
    origin: Option<Origin>,
    /// Subtracted from every relative time, so that none is negative.
    shift_s: f64,
    open: Vec<(Option<String>, usize)>,
    /// An interval that may still get its early values, and its tag.
    pending: Option<(Option<String>, EncodedInterval)>,
    /// Intervals that are complete.
    complete: Vec<EncodedInterval>,
    /// Their approximate memory.
    bytes: usize,
}

/// How many bytes of complete intervals go to the sink together.
const BATCH: usize = 4 << 20;
/// Approximate memory of an interval besides the text of its histograms.
const INTERVAL: usize = 256;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Kadenz,
    JHiccup,
    Other,
}

impl Writer {
    fn begin<R: BufRead>(&mut self, sink: &mut dyn Sink, log: &IntervalLog<R>, first: &Interval) {
        let says = |name: &str| log.comments().iter().any(|comment| comment.contains(name));
        let origin = if says("Kadenz") {
            Origin::Kadenz
        } else if says("jHiccup") {
            Origin::JHiccup
        } else {
            let text = "the log states no unit; nanoseconds assumed";
            sink.warn("unit", text.to_owned(), None);
            Origin::Other
        };
        self.origin = Some(origin);
        self.shift_s = first.relative_s.min(0.0);
        let start_s = first.start_s - first.relative_s + self.shift_s;
        if start_s >= WALL_S
            && let Ok(start) = Timestamp::from_millisecond((start_s * 1e3).round() as i64)
        {
            set_start(sink.run(), start);
        }
        let comments: Vec<&str> = log.comments().iter().take(20).map(String::as_str).collect();
        sink.found("source_comments", comments);
    }

    fn take(&mut self, sink: &mut dyn Sink, interval: Interval) -> Result<(), ReadError> {
        let start_s = interval.relative_s - self.shift_s;
        if self.is_early(&interval, start_s) {
            if let Some((_, pending)) = &mut self.pending {
                pending.early = Some(interval.histogram);
            }
            self.close();
            return Ok(());
        }
        self.close();
        if self.bytes >= BATCH {
            self.flush(sink)?;
        }
        let encoded = EncodedInterval {
            series: self.series(sink, interval.tag.as_deref())?,
            start_s,
            length_s: interval.length_s,
            late: interval.histogram,
            early: None,
        };
        self.pending = Some((interval.tag, encoded));
        Ok(())
    }

    /// Whether an interval holds the early values of the one before it.
    fn is_early(&self, interval: &Interval, start_s: f64) -> bool {
        let (Some(Origin::Kadenz), Some((pending_tag, pending)), Some(tag)) =
            (self.origin, &self.pending, interval.tag.as_deref())
        else {
            return false;
        };
        let of = match tag.strip_suffix(EARLY_TAG) {
            Some("") => None,
            Some(of) => of.strip_suffix('.'),
            None => return false,
        };
        pending_tag.as_deref() == of && pending.start_s == start_s
    }

    fn series(&mut self, sink: &mut dyn Sink, tag: Option<&str>) -> Result<usize, StoreError> {
        if let Some((_, index)) = self.open.iter().find(|(known, _)| known.as_deref() == tag) {
            return Ok(*index);
        }
        let kind = match self.origin {
            Some(Origin::JHiccup) => Kind::Hiccup,
            Some(Origin::Kadenz) => Kind::Lateness,
            _ => Kind::Latency,
        };
        let untagged = if kind == Kind::Hiccup {
            "hiccup"
        } else {
            "values"
        };
        let description = match tag {
            Some(tag) => format!("values of the log with tag {tag:?}"),
            None => "values of the log without a tag".to_owned(),
        };
        let index = sink.open(series(tag.unwrap_or(untagged), description, kind), false)?;
        self.open.push((tag.map(str::to_owned), index));
        Ok(index)
    }

    /// Completes the pending interval.
    fn close(&mut self) {
        if let Some((_, interval)) = self.pending.take() {
            let early = interval.early.as_ref().map_or(0, Encoded::encoded_len);
            self.bytes += INTERVAL + interval.late.encoded_len() + early;
            self.complete.push(interval);
        }
    }

    fn flush(&mut self, sink: &mut dyn Sink) -> Result<(), ReadError> {
        sink.encoded_intervals(&self.complete)?;
        self.complete.clear();
        self.bytes = 0;
        Ok(())
    }
}
