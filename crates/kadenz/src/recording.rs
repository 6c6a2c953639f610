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
/// second stay, and the run is marked as incomplete; so is one that is dropped without [`finish`](Self::finish). One
/// that is dropped before it has a series leaves nothing.
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
    /// After the run, so that it is dropped after it.
    place: RunPlace,
    keeps_samples: bool,
}

/// The folder of a run. Dropping it removes a run that was not finished and has no series: the program failed before it
/// measured, and its next start needs the folder.
#[derive(Debug)]
struct RunPlace {
    folder: PathBuf,
    /// For the end, when the program may be in another folder.
    absolute: PathBuf,
    /// Whether the folder was there before.
    existed: bool,
}

impl Drop for RunPlace {
    fn drop(&mut self) {
        let folder = &self.absolute;
        let is_alone = std::fs::read_dir(folder).is_ok_and(|files| files.count() == 1);
        if is_alone && RunReader::open(folder).is_ok_and(|run| !run.complete()) {
            // Where something cannot be removed, the next start says what stands in its way.
            let _ = std::fs::remove_file(folder.join("run.json"));
            if !self.existed {
                let _ = std::fs::remove_dir(folder);
            }
        }
    }
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
        let existed = folder.exists();
        let mut run = RunWriter::create(folder, machine::run()?)?;
        let start = clock::now();
        run.restart_time(start.as_ns());
        Ok(Self {
            running: run.start(INTERVAL)?,
            start,
            place: RunPlace {
                folder: folder.to_owned(),
                absolute: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
                existed,
            },
            keeps_samples: false,
        })
    }

    /// Keeps each sample of the series that are added afterwards, with its time: 32 bytes a sample in memory until it is
    /// on disk. `kadenz export`, `kadenz modes` and the chart of a report over time need them; percentiles and misses
    /// do not. Samples for which there is no room are counted as dropped, as of a series that begins with more than
    /// 16,000 in its first second.
    ///
    /// ```
    /// # let parent = tempfile::tempdir()?;
    /// # let folder = parent.path().join("run");
    /// let run = kadenz::Recording::create(&folder)?.keep_samples();
    /// run.durations("control")?.time(|| ());
    /// assert_eq!(run.finish()?.run().series[0].counts.dropped, 0);
    /// assert!(folder.join("control.samples.arrow").exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn keep_samples(mut self) -> Self {
        self.keeps_samples = true;
        self
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
        self.add_durations(name, None)
    }

    /// As [`durations`](Self::durations), with a deadline: a longer duration counts as missed.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # let parent = tempfile::tempdir()?;
    /// # let run = kadenz::Recording::create(parent.path().join("run"))?;
    /// let mut control = run.durations_within("control", Duration::from_micros(200))?;
    /// control.record_duration(Duration::from_micros(250)); // measured elsewhere
    /// assert!(!run.finish()?.kept());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`durations`](Self::durations).
    pub fn durations_within(
        &self,
        name: &str,
        deadline: Duration,
    ) -> Result<Durations, AddSeriesError> {
        self.add_durations(name, Some(nanoseconds(deadline)))
    }

    fn add_durations(
        &self,
        name: &str,
        deadline_ns: Option<u64>,
    ) -> Result<Durations, AddSeriesError> {
        let series = Series {
            name: name.to_owned(),
            kind: Kind::Latency,
            deadline_ns,
            ..Series::default()
        };
        Ok(Durations {
            recorder: self.series(self.spec(series))?,
            start: self.start,
            sequence: 0,
        })
    }

    pub(crate) fn keeps_samples(&self) -> bool {
        self.keeps_samples
    }

    /// What to record of a series.
    pub(crate) fn spec(&self, series: Series) -> SeriesSpec {
        SeriesSpec {
            series,
            raw: self.keeps_samples,
        }
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
        let reader = RunReader::open(&self.place.folder)?;
        let mut histograms = Vec::with_capacity(run.series.len());
        for series in &run.series {
            histograms.push(reader.histogram(&series.name)?);
        }
        Ok(Recorded::new(self.place.folder.clone(), run, &histograms))
    }
}

/// The nanoseconds of a duration, at most those of 584 years.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A series of durations, from [`Recording::durations`].
///
/// # Real-time safety
/// [`time`](Self::time), [`record`](Self::record) and [`record_duration`](Self::record_duration) neither allocate nor
/// lock; they read the clock by the vDSO, `time` twice, `record` not at all.
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

    /// Records a duration that ends now.
    pub fn record_duration(&mut self, duration: Duration) {
        let value_ns = i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        let actual_ns = clock::now().since(self.start);
        self.push(actual_ns.saturating_sub(value_ns), actual_ns, value_ns);
    }

    /// Records the span between two times of [`now`](clock::now), perhaps of different threads.
    pub fn record(&mut self, begin: MonotonicTime, end: MonotonicTime) {
        let [begin_ns, end_ns] = [begin, end].map(|it| it.since(self.start));
        self.push(begin_ns, end_ns, end.since(begin));
    }

    fn push(&mut self, intended_ns: i64, actual_ns: i64, value_ns: i64) {
        self.recorder.record(Sample {
            sequence: self.sequence,
            intended_ns,
            actual_ns,
            value_ns,
        });
        self.sequence += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_before_it_measures_leaves_its_folder_free() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        drop(Recording::create(&folder).unwrap());
        assert!(!folder.exists());
        std::fs::create_dir(&folder).unwrap();
        drop(Recording::create(&folder).unwrap());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        let run = Recording::create(&folder).unwrap();
        run.durations("control").unwrap().time(|| ());
        drop(run);
        assert!(folder.join("control.hlog").exists());
        assert!(folder.join("run.json").exists());
        let refused = Recording::create(&folder).unwrap_err();
        assert!(
            refused.to_string().contains("name another folder"),
            "{refused}"
        );
    }

    #[test]
    fn a_run_without_series_that_was_finished_stays() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        Recording::create(&folder).unwrap().finish().unwrap();
        assert!(folder.join("run.json").exists());
    }
}
