use std::path::{Path, PathBuf};
use std::time::Duration;

use kadenz_record::run::folder::{
    AddSeriesError, CreateRunError, FinishRunError, OpenRunError, OpenSeriesError, RunReader,
    RunWriter, RunningRun, SeriesRecorder, SeriesSpec, StartRunError,
};
use kadenz_record::run::model::{EndedBy, Kind, Series};
use kadenz_record::samples::Sample;
use kadenz_rt::clock::{self, MonotonicTime, OpenClockError};

use crate::machine;
use crate::recorded::Recorded;

/// How often recorded samples go to the disk: a killed program loses no more than this.
const INTERVAL: Duration = Duration::from_secs(1);

/// A run that is being recorded, into a folder that `kadenz show`, `kadenz::read` and other programs read.
///
/// A thread of ordinary priority writes it, once a second. Where the program is killed, the samples up to the last
/// second stay, and the run is marked as incomplete; so is one that is dropped without [`finish`](Self::finish).
///
/// [`Periodic::record`](crate::Periodic::record) fills a series with lateness. For spans of time, use
/// [`durations`](Self::durations); for other values, a recorder from [`series`](Self::series):
///
/// ```
/// # let parent = tempfile::tempdir()?;
/// # let folder = parent.path().join("run");
/// let run = kadenz::Recording::create(&folder)?;
/// let mut control = run.durations("control")?;
/// for step in 0..1_000 {
///     control.time(|| step * step); // the control law
/// }
/// assert_eq!(run.finish()?.run().series[0].counts.recorded, 1_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// No method is for a real-time loop: they allocate, lock and write files. A real-time loop records by
/// [`Ticks`](crate::Ticks), [`Durations`] and [`SeriesRecorder`].
#[derive(Debug)]
pub struct Recording {
    running: RunningRun,
    start: MonotonicTime,
    folder: PathBuf,
}

/// Why a run cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum CreateRecordingError {
    /// The folder cannot be made.
    #[error(transparent)]
    Folder(#[from] CreateRunError),
    /// The clock cannot be read.
    #[error(transparent)]
    Clock(#[from] OpenClockError),
    /// The thread that writes cannot be started.
    #[error(transparent)]
    Start(#[from] StartRunError),
}

/// Why a run is incomplete, or cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum FinishRecordingError {
    /// A part could not be written. The rest stays readable.
    #[error(transparent)]
    Write(#[from] FinishRunError),
    /// The written run cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenRunError),
    /// A written series cannot be read.
    #[error(transparent)]
    Series(#[from] OpenSeriesError),
}

impl Recording {
    /// Starts a run in a new or empty folder. It has this program's name, and describes the machine, the clock, and the
    /// conditions of this machine that spoil real time.
    ///
    /// Call it before the thread takes a CPU of its own: the writing thread inherits the CPUs.
    ///
    /// # Errors
    /// [`CreateRecordingError`] where the folder is not empty or cannot be written.
    pub fn create(folder: impl AsRef<Path>) -> Result<Self, CreateRecordingError> {
        let folder = folder.as_ref();
        let mut run = RunWriter::create(folder, machine::run()?)?;
        let start = clock::now();
        run.restart_time(start.as_ns());
        Ok(Self {
            running: run.start(INTERVAL)?,
            start,
            folder: folder.to_owned(),
        })
    }

    /// The start of the run on the clock that [`now`](clock::now) reads; times of samples count from here.
    #[must_use]
    pub fn start(&self) -> MonotonicTime {
        self.start
    }

    /// Adds a series of values of your own. Move its recorder to the thread that measures.
    ///
    /// # Errors
    /// [`AddSeriesError`] where the name is taken or not a file name, or a file cannot be made.
    pub fn series(&self, spec: SeriesSpec) -> Result<SeriesRecorder, AddSeriesError> {
        self.running.series(spec)
    }

    /// Adds a series of durations, in nanoseconds. Move its recorder to the thread that measures.
    ///
    /// # Errors
    /// [`AddSeriesError`] where the name is taken or not a file name, or a file cannot be made.
    pub fn durations(&self, name: &str) -> Result<Durations, AddSeriesError> {
        let series = Series {
            name: name.to_owned(),
            kind: Kind::Latency,
            ..Series::default()
        };
        Ok(Durations {
            recorder: self.series(SeriesSpec { series, raw: false })?,
            start: self.start,
            sequence: 0,
        })
    }

    /// The run, for other entries.
    pub(crate) fn running(&self) -> &RunningRun {
        &self.running
    }

    /// Ends the run, completes its folder, and returns its summary.
    ///
    /// # Errors
    /// [`FinishRecordingError`] where a part could not be written; the rest stays readable.
    pub fn finish(self) -> Result<Recorded, FinishRecordingError> {
        let run = self.running.finish(EndedBy::Finished)?;
        let reader = RunReader::open(&self.folder)?;
        let mut histograms = Vec::with_capacity(run.series.len());
        for series in &run.series {
            histograms.push(reader.histogram(&series.name)?);
        }
        Ok(Recorded::new(self.folder, run, &histograms))
    }
}

/// A series of durations, from [`Recording::durations`].
///
/// # Real-time safety
/// [`time`](Self::time) and [`record`](Self::record) neither allocate nor lock; `time` reads the clock twice,
/// by the vDSO.
#[derive(Debug)]
pub struct Durations {
    recorder: SeriesRecorder,
    start: MonotonicTime,
    sequence: u64,
}

impl Durations {
    /// Calls `law` and records how long it took.
    pub fn time<T>(&mut self, law: impl FnOnce() -> T) -> T {
        let begin = clock::now();
        let result = law();
        self.record(begin, clock::now());
        result
    }

    /// Records the span between two times of [`now`](clock::now), perhaps of different threads.
    pub fn record(&mut self, begin: MonotonicTime, end: MonotonicTime) {
        self.recorder.record(Sample {
            sequence: self.sequence,
            intended_ns: begin.since(self.start),
            actual_ns: end.since(self.start),
            value_ns: end.since(begin),
        });
        self.sequence += 1;
    }
}
