//! One series of a run, as exports need it.

use kadenz_record::histogram::{Histogram, Layout, SignedHistogram};
use kadenz_record::hlog::reader::{Interval, LogOfRun, ReadLogError};
use kadenz_record::run::folder::{EARLY_TAG, OpenSeriesError, RunReader};
use kadenz_record::run::model::{Run, Series};
use kadenz_record::samples::reader::SamplesFile;

use super::ExportError;

/// One series of a run.
pub(super) struct SeriesReader<'a> {
    reader: &'a RunReader,
    series: &'a Series,
}

impl<'a> SeriesReader<'a> {
    /// All series of a run.
    pub(super) fn all(reader: &'a RunReader) -> Vec<Self> {
        reader
            .run()
            .series
            .iter()
            .map(|series| Self { reader, series })
            .collect()
    }

    /// The series of a name.
    pub(super) fn find(reader: &'a RunReader, name: &str) -> Result<Self, OpenSeriesError> {
        let all = Self::all(reader);
        let known = all.iter().map(|series| series.name().to_owned()).collect();
        let found = all.into_iter().find(|series| series.name() == name);
        found.ok_or_else(|| OpenSeriesError::NoSuchSeries {
            name: name.to_owned(),
            known,
        })
    }

    pub(super) fn name(&self) -> &'a str {
        &self.series.name
    }

    #[cfg(feature = "parquet")]
    pub(super) fn series(&self) -> &'a Series {
        self.series
    }

    pub(super) fn run(&self) -> &'a Run {
        self.reader.run()
    }

    pub(super) fn intervals(&self) -> Result<LogOfRun, ExportError> {
        Ok(self.reader.hlog(self.name())?)
    }

    /// Notes that the exported samples are incomplete, if they are.
    pub(super) fn note_cut(&self, samples: &SamplesFile, notes: &mut Vec<String>) {
        if samples.extent().truncated {
            notes.push(format!(
                "{}: its samples were cut off; the whole ones were exported",
                self.name()
            ));
        }
    }

    /// The samples, if they were kept.
    pub(super) fn samples(&self) -> Result<Option<SamplesFile>, ExportError> {
        if self.series.files.samples.is_none() {
            return Ok(None);
        }
        Ok(Some(self.reader.samples(self.name())?))
    }

    /// All recorded values, in the layout of the recording.
    pub(super) fn distribution(&self) -> Result<SignedHistogram, ExportError> {
        let mut sum = Sum::default();
        let mut scratch = Histogram::new();
        for interval in self.intervals()? {
            sum.add(&interval?, &mut scratch)?;
        }
        Ok(SignedHistogram {
            late: sum.late.unwrap_or_default(),
            early: sum.early.unwrap_or_default(),
        })
    }
}

/// Whether an interval of a series' own log holds magnitudes of values below zero.
pub(super) fn is_early(interval: &Interval) -> bool {
    interval.tag.as_deref() == Some(EARLY_TAG)
}

#[derive(Default)]
struct Sum {
    late: Option<Histogram>,
    early: Option<Histogram>,
}

impl Sum {
    fn add(&mut self, interval: &Interval, scratch: &mut Histogram) -> Result<(), ReadLogError> {
        interval.histogram.decode_into(scratch)?;
        let sum = if is_early(interval) {
            &mut self.early
        } else {
            &mut self.late
        };
        let sum = sum.get_or_insert_with(|| Histogram::with_layout(*scratch.layout()));
        let common = widest(*sum.layout(), *scratch.layout());
        if common != *sum.layout() {
            let mut wider = Histogram::with_layout(common);
            wider.add(sum);
            *sum = wider;
        }
        sum.add(scratch);
        Ok(())
    }
}

/// A layout that distinguishes whatever either of two does, as far as memory allows.
fn widest(a: Layout, b: Layout) -> Layout {
    if a == b {
        return a;
    }
    let (lowest, highest) = (a.lowest().min(b.lowest()), a.highest().max(b.highest()));
    Layout::new(lowest, highest, a.digits().max(b.digits())).unwrap_or(a)
}
