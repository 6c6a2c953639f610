//! One series: the measuring end, and the writing end.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::error::AddSeriesError;
use super::interval_file::{Drained, IntervalFile, SampleFile};
use super::journal::Journal;
use super::writer;
use crate::histogram::SignedHistogram;
use crate::hlog::writer::header;
use crate::recorder::{self, Counts, Falling, IntervalReader, SingleWriter};
use crate::run::disk::{AppendOnly, Disk};
use crate::run::labels::{VALUE, labels};
use crate::run::model::{Run, Series, SeriesFiles};
use crate::samples::writer::{SampleEncoder, WriteSamplesError};
use crate::samples::{MAX_CAPACITY, Sample, SampleConsumer, SampleProducer, SamplesHeader, ring};

/// The least capacity of a ring, in samples: more than a second at 10 kHz.
const MIN_RING: usize = 16_384;

/// The properties of a series to add.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesSpec {
    /// Its name, kind, expected interval and deadline. `unit`, `files` and `counts` are filled in.
    pub series: Series,
    /// Whether every sample is kept, in `<series>.samples.arrow`.
    pub raw: bool,
}

/// The end of a series that the measuring thread holds.
#[derive(Debug)]
pub struct SeriesRecorder {
    counter: SingleWriter,
    ring: Option<SampleProducer>,
}

impl SeriesRecorder {
    pub(super) fn new(counter: SingleWriter, ring: Option<SampleProducer>) -> Self {
        Self { counter, ring }
    }

    /// Records a sample: its value is always counted. The sample itself is kept if that is requested and the writer
    /// keeps up; if not, it counts as dropped.
    ///
    /// # Real-time safety
    /// Real-time safe: wait-free, no allocation, no lock, no system call.
    #[inline]
    pub fn record(&mut self, sample: Sample) {
        self.counter.record(sample.value_ns);
        if let Some(ring) = &mut self.ring {
            ring.push(sample);
        }
    }

    /// Records samples that were left out together: `count` samples from `first` to `last`, evenly apart and each
    /// later and less than the one before. Of more than 10,000 only the values are kept, and the samples count as
    /// dropped: the time this takes is bounded, however many they are.
    ///
    /// # Real-time safety
    /// Real-time safe: wait-free, no allocation, no lock, no system call.
    pub fn record_left_out(&mut self, first: Sample, last: Sample, count: u64) {
        let values = |first_ns, last_ns| Falling {
            first_ns,
            last_ns,
            count,
        };
        let late = values(first.value_ns, last.value_ns);
        if count <= MAX_LEFT_OUT_SAMPLES {
            // Intended times increase as values decrease.
            let intended = values(-first.intended_ns, -last.intended_ns);
            for place in 0..count {
                self.record(Sample {
                    sequence: (first.sequence + place).min(last.sequence),
                    intended_ns: -intended.at(place),
                    actual_ns: first.actual_ns,
                    value_ns: late.at(place),
                });
            }
            return;
        }
        self.counter.record_falling(&late);
        if let Some(ring) = &mut self.ring {
            ring.drop_more(count);
        }
    }
}

/// Of more samples than this that are left out together, only the values are kept.
const MAX_LEFT_OUT_SAMPLES: u64 = 10_000;

/// The capacity of a series' ring: two seconds of samples.
pub(super) fn ring_capacity(series: &Series) -> usize {
    let two_seconds = series
        .expected_interval_ns
        .map_or(0, |ns| 2_000_000_000 / ns.max(1));
    usize::try_from(two_seconds)
        .unwrap_or(MAX_CAPACITY)
        .clamp(MIN_RING, MAX_CAPACITY)
}

/// The end of a series that the writer thread holds.
pub(super) struct SeriesWriter {
    pub(super) name: String,
    pub(super) hlog_name: String,
    pub(super) samples_name: String,
    reader: IntervalReader,
    /// The last interval; kept so that its memory is taken once.
    pub(super) interval: SignedHistogram,
    /// When it began and when it was flipped, counted from the start of the run.
    pub(super) span: (Duration, Duration),
    intervals: IntervalFile,
    samples: Option<SampleFile>,
}

impl SeriesWriter {
    pub(super) fn new(
        series: &Series,
        reader: IntervalReader,
        intervals: IntervalFile,
        samples: Option<SampleFile>,
        start: Duration,
    ) -> Self {
        Self {
            name: series.name.clone(),
            hlog_name: series.files.hlog.clone().unwrap_or_default(),
            samples_name: series.files.samples.clone().unwrap_or_default(),
            reader,
            interval: SignedHistogram::new(),
            span: (start, start),
            intervals,
            samples,
        }
    }

    /// Whether there is a ring to empty.
    pub(super) fn keeps_samples(&self) -> bool {
        self.samples.is_some()
    }

    /// Writes the headers, so that the files can be read from the start.
    pub(super) fn write_headers(&mut self) -> [(&str, io::Result<()>); 2] {
        let samples = self.samples.as_mut().map_or(Ok(()), SampleFile::flush);
        [
            (&self.hlog_name, self.intervals.flush()),
            (&self.samples_name, samples),
        ]
    }

    /// Takes the values since the last flip; `now` is read after it, so that no value is later than the end of its
    /// interval.
    pub(super) fn flip(&mut self, now: impl FnOnce() -> Duration) {
        self.reader.flip_into(&mut self.interval);
        self.span = (self.span.1, now());
    }

    /// Writes the interval that was flipped last.
    pub(super) fn write_interval(&mut self) -> io::Result<()> {
        self.intervals
            .append(self.span.0, self.span.1, &self.interval)
    }

    /// Empties the ring, if there is one.
    pub(super) fn drain(&mut self) -> Option<Drained> {
        Some(self.samples.as_mut()?.drain())
    }

    /// Writes the samples taken so far.
    pub(super) fn write_samples(&mut self) -> Option<io::Result<()>> {
        Some(self.samples.as_mut()?.flush())
    }

    /// Ends the interval log, after the lines it still holds.
    pub(super) fn end_intervals(&mut self) -> io::Result<()> {
        self.intervals.end()
    }

    /// Ends the samples file, after the samples it still holds.
    pub(super) fn end_samples(&mut self) -> Option<io::Result<()>> {
        Some(self.samples.as_mut()?.end())
    }

    /// The counts up to the last flip; dropped samples up to now.
    pub(super) fn counts(&self) -> Counts {
        let dropped = self.samples.as_ref().map_or(0, SampleFile::dropped);
        Counts {
            dropped,
            ..self.reader.counts()
        }
    }

    /// Samples that wait to be written.
    pub(super) fn waiting(&self) -> u64 {
        self.samples.as_ref().map_or(0, SampleFile::waiting)
    }
}

impl std::fmt::Debug for SeriesWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SeriesWriter")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

// A series whose files exist and that no thread writes yet.

/// The disk and folder of the files.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) dir: &'a Path,
    pub(super) disk: &'a dyn Disk,
}

/// A series before the writer thread takes it over.
pub(super) struct Prepared {
    reader: IntervalReader,
    ring: Option<SampleConsumer>,
    hlog: Box<dyn AppendOnly>,
    samples: Option<Box<dyn AppendOnly>>,
}

impl Prepared {
    /// Makes the files of a series and adds it to the future `run.json`.
    pub(super) fn new(
        place: Place<'_>,
        run: &mut Run,
        spec: SeriesSpec,
    ) -> Result<(SeriesRecorder, Self), AddSeriesError> {
        let SeriesSpec { mut series, raw } = spec;
        writer::check_new(run, &series.name, &series.labels)?;
        if series.labels.is_empty() {
            series.labels = labels([(VALUE, &series.name)]);
        }
        series.files = SeriesFiles {
            hlog: Some(format!("{}.hlog", series.name)),
            samples: raw.then(|| format!("{}.samples.arrow", series.name)),
            ..SeriesFiles::default()
        };
        "ns".clone_into(&mut series.unit);
        series.counts = Counts::default();
        let create = |name: &String| {
            let path = place.dir.join(name);
            let created = place.disk.create(&path);
            created.map_err(|source| AddSeriesError::Create { path, source })
        };
        let hlog = create(series.files.hlog.get_or_insert_default())?;
        let samples = series.files.samples.as_ref().map(create).transpose()?;
        let (producer, consumer) = raw.then(|| ring(ring_capacity(&series))).unzip();
        let (counter, reader) = recorder::pair(series.deadline_ns);
        run.series.push(series);
        let prepared = Self {
            reader,
            ring: consumer,
            hlog,
            samples,
        };
        Ok((SeriesRecorder::new(counter, producer), prepared))
    }

    /// Turns it into a series that is written, from `started` on.
    pub(super) fn open(
        self,
        run: &Run,
        series: &Series,
        origin_wall: jiff::Timestamp,
        started: Duration,
    ) -> Result<SeriesWriter, WriteSamplesError> {
        let start_s = origin_wall.as_nanosecond() as f64 / 1e9;
        let comments = [format!("Series: {}", series.name), "Unit: ns".to_owned()];
        let header = header(start_s, &[&comments[0], &comments[1]]);
        let intervals = IntervalFile::new(Journal::new(self.hlog), header);
        let samples = match (self.samples, self.ring) {
            (Some(file), Some(ring)) => {
                let encoder = SampleEncoder::new(&SamplesHeader {
                    series: series.name.clone(),
                    unit: series.unit.clone(),
                    started_at: run.started_at.clone(),
                    start_monotonic_ns: run.start_monotonic_ns,
                })?;
                Some(SampleFile::new(Journal::new(file), encoder, ring))
            }
            _ => None,
        };
        let reader = self.reader;
        Ok(SeriesWriter::new(
            series, reader, intervals, samples, started,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_hold_two_seconds() {
        let capacity = |expected_interval_ns| {
            ring_capacity(&Series {
                expected_interval_ns,
                ..Series::default()
            })
        };
        assert_eq!(capacity(None), MIN_RING);
        assert_eq!(capacity(Some(1_000_000)), MIN_RING);
        assert_eq!(capacity(Some(10_000)), 200_000);
        assert_eq!(capacity(Some(0)), MAX_CAPACITY);
    }
}
