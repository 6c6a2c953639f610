//! Samples as text.
//!
//! The format is Kadenz's own: a header that names the columns, `time_ns,value_ns`, then one row per sample, both in
//! whole nanoseconds. The time may be any clock's; a clock that counts from 1970 also gives the start of the run. The
//! output of `kadenz export --format csv` is read too: `sequence`, `intended_ns` and `actual_ns`, which count from the
//! start of the run. Columns may stand in any order; lines that begin with `#` are comments. The file is read as a
//! stream.

use std::io::BufRead;

use jiff::Timestamp;
use kadenz_record::run::model::Kind;
use kadenz_record::samples::Sample;

use super::source::{Lines, quoted, series, set_start};
use super::{Importer, ReadError, Sink};

/// Reads samples as text.
pub(super) struct Csv;

/// Times in this range, the years 2000 to 2100, are taken to count from 1970.
const WALL_NS: std::ops::Range<i64> = 946_684_800_000_000_000..4_102_444_800_000_000_000;
const HEADER: &str = "the first line must name the columns: time_ns,value_ns";

impl Importer for Csv {
    fn recognises(&self, head: &str) -> bool {
        let header = head.lines().find(|line| !passed_over(line));
        header.is_some_and(|line| Columns::parse(line).is_ok())
    }

    fn read(&self, source: &mut dyn BufRead, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let mut lines = Lines::new(source);
        let mut rows: Option<CsvRows> = None;
        while let Some((number, line)) = lines.next()? {
            if passed_over(line) {
                continue;
            }
            let taken = match &mut rows {
                Some(rows) => rows.columns.sample(line, rows.read),
                None => {
                    let columns =
                        Columns::parse(line).map_err(|cause| ReadError::line(number, cause))?;
                    rows = Some(CsvRows {
                        columns,
                        series: None,
                        start_ns: 0,
                        read: 0,
                    });
                    continue;
                }
            };
            let sample = taken.map_err(|cause| ReadError::line(number, cause));
            if !lines.ended() {
                sink.cut_off(
                    "the last row has no line break, so it may be cut off and is left out",
                );
                break;
            }
            let sample = sample?;
            if let Some(rows) = &mut rows {
                rows.take(sink, sample)?;
            }
        }
        match rows {
            Some(CsvRows { read: 1.., .. }) => Ok(()),
            Some(_) => Err(ReadError::Lacks {
                what: "row after its header",
                remedy: "add samples",
            }),
            None => Err(ReadError::Lacks {
                what: "header",
                remedy: HEADER,
            }),
        }
    }
}

fn passed_over(line: &str) -> bool {
    line.starts_with('#') || line.trim().is_empty()
}

/// State of the rows read so far.
struct CsvRows {
    columns: Columns,
    series: Option<usize>,
    /// Subtracted from every time.
    start_ns: i64,
    read: u64,
}

impl CsvRows {
    fn take(&mut self, sink: &mut dyn Sink, mut sample: Sample) -> Result<(), ReadError> {
        self.read += 1;
        let index = match self.series {
            Some(index) => index,
            None => {
                self.start(sink, sample.intended_ns);
                let kind = if self.columns.absolute() {
                    Kind::Latency
                } else {
                    Kind::Lateness
                };
                sink.open(series("values", "values of the source", kind), true)?
            }
        };
        self.series = Some(index);
        sample.intended_ns = sample.intended_ns.saturating_sub(self.start_ns);
        sample.actual_ns = sample.actual_ns.saturating_sub(self.start_ns);
        Ok(sink.sample(index, sample)?)
    }

    fn start(&mut self, sink: &mut dyn Sink, first_ns: i64) {
        if !self.columns.absolute() {
            return;
        }
        self.start_ns = first_ns;
        if WALL_NS.contains(&first_ns)
            && let Ok(start) = Timestamp::from_nanosecond(first_ns.into())
        {
            set_start(sink.run(), start);
        }
    }
}

/// The content of each column.
struct Columns {
    names: Vec<CsvColumn>,
}

/// The content of a column of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CsvColumn {
    Time,
    Value,
    Sequence,
    Intended,
    Actual,
}

impl CsvColumn {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Time, "time_ns"),
        (Self::Value, "value_ns"),
        (Self::Sequence, "sequence"),
        (Self::Intended, "intended_ns"),
        (Self::Actual, "actual_ns"),
    ];
}

impl Columns {
    fn parse(header: &str) -> Result<Self, String> {
        let header = header.trim_start_matches('\u{feff}');
        let mut names = Vec::new();
        for word in header.split(',').map(plain) {
            let known = CsvColumn::ALL.into_iter().find(|(_, name)| *name == word);
            let Some((column, name)) = known else {
                return Err(format!("{} is not a known column; {HEADER}", quoted(word)));
            };
            if names.contains(&column) {
                return Err(format!("column {name} stands there twice"));
            }
            names.push(column);
        }
        let columns = Self { names };
        let has = |column| columns.names.contains(&column);
        if !has(CsvColumn::Value)
            || !(has(CsvColumn::Time) || has(CsvColumn::Intended) || has(CsvColumn::Actual))
        {
            return Err(format!(
                "a column of times or of values is missing; {HEADER}"
            ));
        }
        Ok(columns)
    }

    /// Whether times are of any clock, not since the start of a run.
    fn absolute(&self) -> bool {
        self.names.contains(&CsvColumn::Time)
    }

    /// The sample of a row; `number` is its sequence number if the row has none.
    fn sample(&self, line: &str, number: u64) -> Result<Sample, String> {
        let mut sample = Sample {
            sequence: number,
            ..Sample::default()
        };
        let (mut intended, mut actual) = (None, None);
        let mut fields = line.split(',').map(plain);
        for &column in &self.names {
            let Some(field) = fields.next() else {
                return Err(format!("{} is missing", column.name()));
            };
            let no_number = || column.no_number(field);
            match column {
                CsvColumn::Sequence => sample.sequence = field.parse().map_err(|_| no_number())?,
                CsvColumn::Value => sample.value_ns = field.parse().map_err(|_| no_number())?,
                CsvColumn::Actual => actual = Some(field.parse().map_err(|_| no_number())?),
                CsvColumn::Time | CsvColumn::Intended => {
                    intended = Some(field.parse().map_err(|_| no_number())?);
                }
            }
        }
        if fields.next().is_some() {
            return Err(format!(
                "it has more than the {} fields of the header",
                self.names.len()
            ));
        }
        sample.intended_ns = intended.or(actual).unwrap_or(0);
        sample.actual_ns = actual.or(intended).unwrap_or(0);
        Ok(sample)
    }
}

impl CsvColumn {
    fn name(self) -> &'static str {
        let named = Self::ALL.into_iter().find(|(column, _)| *column == self);
        named.map_or("", |(_, name)| name)
    }

    fn no_number(self, field: &str) -> String {
        format!(
            "{} {} is not a whole number of nanoseconds within 64 bits",
            self.name(),
            quoted(field)
        )
    }
}

/// A field without blanks and quotes.
fn plain(field: &str) -> &str {
    field.trim().trim_matches('"')
}
