//! A series whose files exist and that nobody writes yet.

use std::path::Path;
use std::time::Duration;

use super::claim;
use super::error::AddSeriesError;
use super::interval_file::IntervalFile;
use super::journal::Journal;
use super::sample_file::SampleFile;
use super::series::{SeriesRecorder, SeriesSpec, SeriesWriter, ring_capacity};
use crate::hlog::writer::header;
use crate::recorder::{self, IntervalReader};
use crate::run::disk::{AppendOnly, Disk};
use crate::run::model::{Counts, Run, Series, SeriesFiles};
use crate::samples::writer::{SampleEncoder, WriteSamplesError};
use crate::samples::{SampleConsumer, SamplesHeader, ring};

/// Where files are made.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) dir: &'a Path,
    pub(super) disk: &'a dyn Disk,
}

/// A series before it is written.
pub(super) struct Prepared {
    reader: IntervalReader,
    ring: Option<SampleConsumer>,
    hlog: Box<dyn AppendOnly>,
    samples: Option<Box<dyn AppendOnly>>,
}

impl Prepared {
    /// Makes the files of a series and adds it to what `run.json` will say.
    pub(super) fn new(
        place: Place<'_>,
        run: &mut Run,
        spec: SeriesSpec,
    ) -> Result<(SeriesRecorder, Self), AddSeriesError> {
        let SeriesSpec { mut series, raw } = spec;
        claim::check_new(run, &series.name, &series.labels)?;
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

    /// Turns it into one that is written, from `started` on.
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
