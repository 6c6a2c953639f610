//! cyclictest of rt-tests.
//!
//! Sources: recordings of cyclictest 2.4 (Debian 12) in `conformance/import`, its
//! `--help`, and `print_hist` and `timerthread` of rt-tests 0.84 (`src/cyclictest/cyclictest.c`),
//! which newer versions print alike. A value is wake-up time less intended time; whole microseconds,
//! the rest cut off, or nanoseconds with `-N`. Values at or above the limit of `-h` are in no bin
//! but counted: as `# Histogram Overflows:` in text, by `cycles` alone in JSON. After a value longer
//! than the interval the next intended times up to now are passed over.
//!
//! In the output of `cyclictest -h` and of `--histfile` a row is the bin and one count per thread,
//! `000059 000092\t000032`; with `-H` and several threads the last column is the sum of the others. Summary lines begin
//! with `#` and have one number per thread; those of the maximum and the overflows have the sum's column too. Without
//! `-q` status lines (`T: 0 (1234) P:80 I:1000 C: ...`) stand before, with cursor movements. Only they show the unit: the
//! value behind `Act:` has eight columns with `-N`, five without
//! (`print_stat`).

mod json;

use std::io::BufRead;

use kadenz_record::run::model::Kind;

use super::bins::{Bins, Overflow, scaled, warn_of_bins};
use super::source::{Lines, number_after, quoted, series};
use super::{Importer, MAYBE_LOST, ReadError, Sink};

pub(super) use json::Json;

/// The program keeps no more bins than this, whatever `-h` says (`HIST_MAX` of rt-tests).
const MAX_BINS: i64 = 1_000_000;

const NO_HISTOGRAM: ReadError = ReadError::Lacks {
    what: "histogram",
    remedy: "cyclictest keeps one with -h: measure again with -h 1000 (microseconds)",
};

/// Warnings for every import of cyclictest.
fn warn(sink: &mut dyn Sink, width_ns: i64) {
    if width_ns > 1 {
        warn_of_bins(
            sink,
            "microsecond",
            "the whole microseconds that cyclictest prints, its lower end",
        );
    }
    let text = "cyclictest passes over the wake-ups that it misses while it is late: a long stall \
                counts as one late wake-up (coordinated omission)";
    sink.warn(
        "coordinated_omission",
        text.to_owned(),
        Some("measure with kadenz timer cyclic"),
    );
}

/// Columns are threads; no machine has more CPUs.
const MAX_COLUMNS: usize = 1024;
/// If even the earliest wake-up was this late, the numbers are hardly microseconds.
const HARDLY_US: u64 = 1000;

/// The importer of the output of `cyclictest -h`.
pub(super) enum CyclictestText {
    /// In the unit of its status lines.
    Reported,
    /// In the unit that the user states.
    Stated(CyclictestUnit),
}

/// The unit of the numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CyclictestUnit {
    Microseconds,
    Nanoseconds,
}

impl CyclictestUnit {
    fn width_ns(self) -> i64 {
        match self {
            Self::Microseconds => 1000,
            Self::Nanoseconds => 1,
        }
    }

    /// The unit of a status line, from the columns of the value after `Act:`.
    fn of_status(line: &str) -> Option<Self> {
        let (_, rest) = line.split_once(" Act:")?;
        match rest.find(" Avg:")? {
            5..=7 => Some(Self::Microseconds),
            8 => Some(Self::Nanoseconds),
            _ => None,
        }
    }
}

/// The columns of a histogram, one per thread, and the facts of the lines around them.
#[derive(Default)]
struct HistogramTable {
    unit: Option<CyclictestUnit>,
    columns: Vec<Bins>,
    /// Bins up to here have a row.
    limit: i64,
    min: Vec<u64>,
    max: Vec<u64>,
    overflows: Vec<u64>,
    interval_us: Option<u64>,
}

impl Importer for CyclictestText {
    fn recognises(&self, head: &str) -> bool {
        if let Self::Stated(_) = self {
            return false;
        }
        let summary = [
            "# Min Latencies:",
            "# Histogram Overflows:",
            "# /dev/cpu_dma_latency set",
        ];
        head.lines().any(|line| {
            let line = line.trim_end();
            line == "# Histogram"
                || summary.iter().any(|start| line.starts_with(start))
                || (line.starts_with("T:") && line.contains(" Act:"))
        })
    }

    fn read(&self, source: &mut dyn BufRead, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let mut table = HistogramTable::default();
        if let Self::Stated(unit) = self {
            table.unit = Some(*unit);
        }
        let mut lines = Lines::new(source);
        while let Some((number, line)) = lines.next()? {
            table
                .take(line)
                .map_err(|cause| ReadError::line(number, cause))?;
        }
        table.store(sink)
    }
}

impl HistogramTable {
    fn take(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim();
        let summary = [
            ("# Min Latencies:", &mut self.min),
            ("# Max Latencies:", &mut self.max),
            ("# Histogram Overflows:", &mut self.overflows),
        ];
        for (start, numbers) in summary {
            if let Some(rest) = line.strip_prefix(start) {
                *numbers = rest
                    .split_whitespace()
                    .map(number)
                    .collect::<Result<_, _>>()?;
                return Ok(());
            }
        }
        if line.contains(" Act:") {
            self.interval_us = number_after(line, " I:").or(self.interval_us);
            self.unit = self.unit.or_else(|| CyclictestUnit::of_status(line));
        } else if line.starts_with(|c: char| c.is_ascii_digit()) {
            self.row(line)?;
        }
        Ok(())
    }

    fn row(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split_whitespace();
        let bin = i64::try_from(number(words.next().unwrap_or(""))?).map_err(|e| e.to_string())?;
        let value_ns = scaled(bin, self.width_ns())?;
        let first = self.columns.is_empty();
        let mut column = 0;
        for word in words {
            let count = number(word)?;
            if first && column < MAX_COLUMNS {
                self.columns.push(Bins::new());
            }
            let bins = self
                .columns
                .get_mut(column)
                .ok_or_else(|| too_many(column + 1))?;
            bins.add(value_ns, count);
            column += 1;
        }
        if column == 0 || column < self.columns.len() {
            return Err(format!(
                "{column} counts in a row, {} in the first: a row is a bin and a count a thread",
                self.columns.len()
            ));
        }
        self.limit = self.limit.max(bin.saturating_add(1));
        Ok(())
    }

    fn width_ns(&self) -> i64 {
        self.unit.unwrap_or(CyclictestUnit::Microseconds).width_ns()
    }

    /// Refuses to guess a unit, and warns where it was assumed.
    fn check_unit(&self, sink: &mut dyn Sink) -> Result<(), ReadError> {
        if self.unit.is_some() {
            return Ok(());
        }
        if self.min.iter().min().is_some_and(|&min| min >= HARDLY_US) {
            let cause = "even the earliest wake-up was 1000 late, so these may be nanoseconds (-N); the \
                         file states no unit; pass --format cyclictest-ns or cyclictest-us";
            return Err(ReadError::field("unit", cause.to_owned()));
        }
        sink.warn(
            "unit_assumed",
            "the file states no unit; microseconds assumed; nanoseconds with -N \
             would be 1000 times smaller"
                .to_owned(),
            Some("import what cyclictest -N -q wrote with --format cyclictest-ns"),
        );
        Ok(())
    }

    fn store(mut self, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let summed = !self.min.is_empty() && self.columns.len() == self.min.len() + 1;
        if summed {
            self.columns.pop();
        }
        let has_overflows = self
            .overflows
            .iter()
            .take(self.columns.len())
            .any(|&count| count > 0);
        if !has_overflows && self.columns.iter().all(|bins| bins.count() == 0) {
            return Err(NO_HISTOGRAM);
        }
        self.check_unit(sink)?;
        let width_ns = self.width_ns();
        warn(sink, width_ns);
        sink.parameter("source_program", "cyclictest");
        if self.overflows.is_empty() {
            sink.cut_off(
                "the source ends before its summary: how many values were beyond the histogram is not \
                 known",
            );
        }
        if self.overflows.is_empty() && self.max.is_empty() {
            let text = "the source has no summary: rows of its largest values may be missing";
            sink.warn(MAYBE_LOST, text.to_owned(), None);
        }
        let limit_ns = scaled(self.limit, width_ns).map_err(|e| ReadError::field("bins", e))?;
        for (thread, bins) in self.columns.into_iter().enumerate() {
            let max = self
                .max
                .get(thread)
                .and_then(|&max| i64::try_from(max).ok());
            let max_ns = max.and_then(|max| max.checked_mul(width_ns));
            let count = self.overflows.get(thread).copied().unwrap_or(0);
            let overflow = Overflow {
                count,
                limit_ns,
                max_ns,
            };
            let description = format!("lateness of thread {thread} of cyclictest");
            let mut series = series(format!("thread{thread}"), description, Kind::Lateness);
            series.expected_interval_ns = self.interval_us.map(|us| us.saturating_mul(1000));
            bins.store(sink, series, 0.0, Some(overflow))?;
        }
        Ok(())
    }
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| {
        let shown = quoted(word);
        format!("{shown} is not a count: a row is a bin and a count a thread")
    })
}

fn too_many(column: usize) -> String {
    if column > MAX_COLUMNS {
        return format!(
            "more than {MAX_COLUMNS} counts in a row: this is not an output of cyclictest"
        );
    }
    format!("{column} counts or more in a row, fewer in the first: a row has a count a thread")
}
