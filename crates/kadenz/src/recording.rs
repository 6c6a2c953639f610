use std::path::{Path, PathBuf};
use std::time::Duration;

use kadenz_record::run::folder::{
    AddSeriesError, CreateRunError, FinishRunError, OpenRunError, OpenSeriesError, RunReader,
    RunWriter, RunningRun, SeriesRecorder, SeriesSpec, StartRunError,
};
use kadenz_record::run::model::EndedBy;
use kadenz_rt::clock::{self, MonotonicTime, OpenClockError};

use crate::machine;
use crate::recorded::Recorded;

/// How often what was recorded goes to the disk: whatever kills the program, no more is lost.
const INTERVAL: Duration = Duration::from_secs(1);

/// A run that is being recorded: a folder that `kadenz show`, `kadenz::read` and other programs read.
///
/// A thread of ordinary priority writes it, once a second. Where the program is killed, what was recorded
/// up to the last second stays, and the run says that it is incomplete; so does one that is dropped
/// without [`finish`](Self::finish).
///
/// [`Periodic::record`](crate::Periodic::record) fills a series with lateness. For values of your own, take a
/// recorder from [`series`](Self::series):
///
/// ```
/// use kadenz::record::run::folder::SeriesSpec;
/// use kadenz::record::run::model::{Kind, Series};
/// use kadenz::record::samples::Sample;
/// use kadenz::{Recording, rt::clock::now};
///
/// # let parent = tempfile::tempdir()?;
/// # let folder = parent.path().join("run");
/// let run = Recording::create(&folder)?;
/// let series = Series { name: "control".into(), kind: Kind::Latency, ..Series::default() };
/// let mut durations = run.series(SeriesSpec { series, raw: false })?;
/// for sequence in 0..1_000 {
///     let start = now();
///     // ... the control law ...
///     let end = now();
///     durations.record(Sample {
///         sequence,
///         intended_ns: start.since(run.start()),
///         actual_ns: end.since(run.start()),
///         value_ns: end.since(start),
///     });
/// }
/// assert_eq!(run.finish()?.run().series[0].counts.recorded, 1_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// No method is for a real-time loop: they allocate, lock and write files. What records is
/// [`Ticks`](crate::Ticks) and [`SeriesRecorder`].
#[derive(Debug)]
pub struct Recording {
    running: RunningRun,
    start: MonotonicTime,
    folder: PathBuf,
}

/// Why a run cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum CreateRecordingError {
    /// The folder cannot be had.
    #[error(transparent)]
    Folder(#[from] CreateRunError),
    /// The clock cannot be read.
    #[error(transparent)]
    Clock(#[from] OpenClockError),
    /// The thread that writes cannot be started.
    #[error(transparent)]
    Start(#[from] StartRunError),
}

/// Why a run is not whole, or cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum FinishRecordingError {
    /// Something could not be written. What could stays readable.
    #[error(transparent)]
    Write(#[from] FinishRunError),
    /// The run is written and cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenRunError),
    /// A series is written and cannot be read.
    #[error(transparent)]
    Series(#[from] OpenSeriesError),
}

impl Recording {
    /// Starts a run in a new or empty folder. It is named after this program, and describes the machine,
    /// the clock, and what spoils real time here.
    ///
    /// Call it before the thread takes a CPU of its own: the thread that writes inherits the CPUs.
    ///
    /// # Errors
    /// [`CreateRecordingError`] where the folder holds anything or cannot be written.
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

    /// Adds a series of values of your own. Its recorder goes to the thread that measures.
    ///
    /// # Errors
    /// [`AddSeriesError`] where the name is taken or not a file name, or a file cannot be made.
    pub fn series(&self, spec: SeriesSpec) -> Result<SeriesRecorder, AddSeriesError> {
        self.running.series(spec)
    }

    /// The run, for what else it is to keep.
    pub(crate) fn running(&self) -> &RunningRun {
        &self.running
    }

    /// Ends the run, completes its folder, and says what it came to.
    ///
    /// # Errors
    /// [`FinishRecordingError`] where something could not be written; what could stays readable.
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
