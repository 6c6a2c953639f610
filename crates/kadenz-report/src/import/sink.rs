//! The destination of an importer's data.

use std::io::BufRead;

use kadenz_record::histogram::{Histogram, SignedHistogram};
use kadenz_record::hlog::reader::Encoded;
use kadenz_record::recorder::Counts;
use kadenz_record::run::labels::{VALUE, labels};
use kadenz_record::run::model::{EndedBy, Run, Series, Warning};
use kadenz_record::samples::Sample;

use super::{ImportFormat, ReadError, StoreError};

/// The maximum number of series; no program writes more, so that a file with more is not such a file.
pub(super) const MAX_SERIES: usize = 900;

/// Takes an importer's data: a run folder in the making, or memory.
pub trait Sink {
    /// The run, for the importer to fill in: start, machine, parameters, warnings; once a series is
    /// open, also its description.
    fn run(&mut self) -> &mut Run;

    /// Opens a series and returns its index in `run().series`. Its name is made unique and valid as a file name; with
    /// `raw` its samples come one by one.
    ///
    /// # Errors
    /// Its files cannot be made, or there are too many.
    fn open(&mut self, series: Series, raw: bool) -> Result<usize, StoreError>;

    /// Takes one sample of a raw series. Times count from the start of the run.
    ///
    /// # Errors
    /// The sample cannot be written.
    fn sample(&mut self, series: usize, sample: Sample) -> Result<(), StoreError>;

    /// Takes the histogram of one interval of a series that is not raw, in order of time.
    ///
    /// # Errors
    /// The interval cannot be written.
    fn interval(
        &mut self,
        series: usize,
        start_s: f64,
        length_s: f64,
        histogram: &SignedHistogram,
    ) -> Result<(), StoreError>;

    /// As [`Sink::interval`], for encoded intervals of an interval log.
    ///
    /// # Errors
    /// A histogram is damaged, or cannot be written.
    fn encoded_intervals(&mut self, intervals: &[EncodedInterval]) -> Result<(), ReadError> {
        for interval in intervals {
            let mut histogram = SignedHistogram {
                late: interval.late.decode()?,
                early: Histogram::new(),
            };
            if let Some(early) = &interval.early {
                early.decode_into(&mut histogram.early)?;
            }
            let (start_s, length_s) = (interval.start_s, interval.length_s);
            self.interval(interval.series, start_s, length_s, &histogram)?;
        }
        Ok(())
    }
}

/// An encoded interval of an interval log.
#[derive(Clone, Debug)]
pub struct EncodedInterval {
    /// Index of its series.
    pub series: usize,
    /// When it began, in seconds since the start of the run.
    pub start_s: f64,
    /// How long it was, in seconds.
    pub length_s: f64,
    /// Values of zero and above.
    pub late: Encoded,
    /// Magnitudes of the values below zero, if there are any.
    pub early: Option<Encoded>,
}

impl dyn Sink + '_ {
    /// Adds a warning to the run.
    pub(super) fn warn(&mut self, id: &str, text: String, remedy: Option<&str>) {
        self.run().warnings.push(Warning::new(id, text, remedy));
    }

    /// Notes that the source ends too early: the readable part is imported, as an incomplete run.
    pub(super) fn cut_off(&mut self, text: &str) {
        let remedy = "measure again, or copy the whole file";
        self.warn("truncated", text.to_owned(), Some(remedy));
        let run = self.run();
        run.complete = false;
        run.ended_by = Some(EndedBy::Failed);
    }

    /// Sets a parameter of the run.
    pub(super) fn parameter(&mut self, name: &str, value: impl Into<serde_json::Value>) {
        self.run().parameters.insert(name.to_owned(), value.into());
    }

    /// Notes a count or a text of the source, which no setting determines.
    pub(super) fn found(&mut self, name: &str, value: impl Into<serde_json::Value>) {
        self.run().insert_found(name, value);
    }

    /// The counts of a series.
    pub(super) fn counts(&mut self, series: usize) -> &mut Counts {
        &mut self.run().series[series].counts
    }
}

/// A sink in memory, for tests, fuzzing and callers without a run folder: keeps one histogram per series and no
/// samples.
#[derive(Debug, Default)]
pub struct Collected {
    /// The importer's facts about the run; its series have no files.
    pub run: Run,
    /// The values of each series, by index.
    pub histograms: Vec<SignedHistogram>,
}

impl Collected {
    /// Reads a whole source as `format`, as [`import`](super::import) does but into memory.
    ///
    /// # Errors
    /// As [`Importer::read`](super::Importer::read).
    pub fn read(format: ImportFormat, source: &mut dyn BufRead) -> Result<Self, ReadError> {
        let mut sink = Self::default();
        format.importer().read(source, &mut sink)?;
        Ok(sink)
    }

    /// Names a series with counts that do not agree with its histogram; no input may cause one.
    #[must_use]
    pub fn inconsistency(&self) -> Option<String> {
        let mut pairs = self.run.series.iter().zip(&self.histograms);
        let wrong = pairs.find(|(series, histogram)| {
            let counts = &series.counts;
            counts.recorded != histogram.count()
                || counts.early != histogram.early.count()
                || counts.min_ns > counts.max_ns
                || series.unit != "ns"
        });
        if self.run.series.is_empty() {
            return Some("it has no series".to_owned());
        }
        wrong.map(|(series, _)| format!("{series:?}"))
    }
}

impl Sink for Collected {
    fn run(&mut self) -> &mut Run {
        &mut self.run
    }

    fn open(&mut self, mut series: Series, _raw: bool) -> Result<usize, StoreError> {
        describe(&self.run, &mut series)?;
        self.run.series.push(series);
        self.histograms.push(SignedHistogram::new());
        Ok(self.histograms.len() - 1)
    }

    fn sample(&mut self, series: usize, sample: Sample) -> Result<(), StoreError> {
        count_sample(&mut self.run.series[series].counts, sample.value_ns);
        self.histograms[series].record(sample.value_ns);
        Ok(())
    }

    fn interval(
        &mut self,
        series: usize,
        _start_s: f64,
        _length_s: f64,
        histogram: &SignedHistogram,
    ) -> Result<(), StoreError> {
        count_interval(&mut self.run.series[series].counts, histogram);
        self.histograms[series].add(histogram);
        Ok(())
    }
}

/// Counts one value, as a recorder would.
pub(super) fn count_sample(counts: &mut Counts, value_ns: i64) {
    counts.recorded += 1;
    counts.early += u64::from(value_ns < 0);
    let beyond = kadenz_record::histogram::Layout::STANDARD.highest();
    counts.saturated += u64::from(value_ns.unsigned_abs() > beyond);
    extend(counts, value_ns, value_ns);
}

/// Counts the values of an interval; the extremes are as exact as the histogram is.
pub(super) fn count_interval(counts: &mut Counts, histogram: &SignedHistogram) {
    if histogram.is_empty() {
        return;
    }
    counts.recorded = counts.recorded.saturating_add(histogram.count());
    counts.early = counts.early.saturating_add(histogram.early.count());
    extend(counts, histogram.min(), histogram.max());
}

pub(super) fn extend(counts: &mut Counts, min_ns: i64, max_ns: i64) {
    counts.min_ns = Some(counts.min_ns.unwrap_or(min_ns).min(min_ns));
    counts.max_ns = counts.max_ns.max(Some(max_ns));
}

/// Gives a series that is new in the run its name, unit and labels.
pub(super) fn describe(run: &Run, series: &mut Series) -> Result<(), StoreError> {
    series.name = free_name(run, &series.name)?;
    "ns".clone_into(&mut series.unit);
    series.labels = labels([(VALUE, &series.name)]);
    Ok(())
}

/// A name of valid characters that is not taken in the run yet.
fn free_name(run: &Run, wanted: &str) -> Result<String, StoreError> {
    if run.series.len() >= MAX_SERIES {
        return Err(StoreError::TooManySeries { limit: MAX_SERIES });
    }
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '-'
        }
    };
    let mut name: String = wanted.chars().take(80).map(plain).collect();
    if name.is_empty() || name.starts_with(['.', '-']) {
        name.insert(0, 's');
    }
    let taken = |name: &str| {
        run.series
            .iter()
            .any(|series| series.name.eq_ignore_ascii_case(name))
    };
    let mut free = name.clone();
    let mut number = 2;
    while taken(&free) {
        free = format!("{name}-{number}");
        number += 1;
    }
    Ok(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_fit_and_distinct() {
        let mut sink = Collected::default();
        for name in ["a b", "A/b", "..", "", "ünï", "a-b"] {
            let series = Series {
                name: name.to_owned(),
                ..Series::default()
            };
            sink.open(series, false).unwrap();
        }
        let names: Vec<&str> = sink
            .run
            .series
            .iter()
            .map(|series| series.name.as_str())
            .collect();
        assert_eq!(names, ["a-b", "A-b-2", "s..", "s", "s-n-", "a-b-3"]);
    }
}
