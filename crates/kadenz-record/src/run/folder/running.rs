//! A run that is being measured.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::RUN_JSON;
use super::error::{AddSeriesError, FinishRunError};
use super::series::{Place, Prepared, SeriesRecorder, SeriesSpec, SeriesWriter};
use super::trouble::{Troubles, WriteTrouble};
use crate::recorder::Counts;
use crate::run::disk::Disk;
use crate::run::model::{EndedBy, Run, TuningMeasure, Warning};

/// A run that is being measured. Its writer thread works until [`RunningRun::finish`]; if it is dropped without,
/// its data are flushed and the run stays incomplete.
///
/// None of its methods may be called on a measuring thread: they take locks.
#[derive(Debug)]
pub struct RunningRun {
    shared: Arc<RunContext>,
    stop: Option<SyncSender<()>>,
    writer: Option<JoinHandle<Vec<SeriesWriter>>>,
    started: Duration,
}

impl RunningRun {
    pub(super) fn new(
        shared: Arc<RunContext>,
        stop: SyncSender<()>,
        writer: JoinHandle<Vec<SeriesWriter>>,
        started: Duration,
    ) -> Self {
        Self {
            shared,
            stop: Some(stop),
            writer: Some(writer),
            started,
        }
    }

    /// The progress of the run.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let series = self.shared.lock().series.clone();
        Progress {
            elapsed: self.shared.now(),
            series,
        }
    }

    /// Adds a series while the run is being measured, if it turns out only now that it is needed, as for a new
    /// device. It is written from the next interval on; a kill before that loses the values recorded until then.
    ///
    /// # Errors
    /// [`AddSeriesError`] if the name is invalid or taken, or a file cannot be created; the run continues without
    /// the series.
    pub fn series(&self, spec: SeriesSpec) -> Result<SeriesRecorder, AddSeriesError> {
        let place = Place {
            dir: &self.shared.dir,
            disk: &*self.shared.disk,
        };
        // The files are made without a lock that the writer thread needs.
        let mut run = self.shared.lock().run.clone();
        let (recorder, prepared) = Prepared::new(place, &mut run, spec)?;
        let now = self.shared.now();
        let added = run.series.last().cloned().unwrap_or_default();
        let writer = prepared.open(&run, &added, self.shared.origin_wall, now)?;
        let mut state = self.shared.lock();
        state.run.series.push(added);
        state.changed = true;
        state.newcomers.push(writer);
        Ok(recorder)
    }

    /// Adds a warning; it replaces an earlier one of the same id.
    pub fn add_warning(&self, warning: Warning) {
        self.shared.warn(warning);
    }

    /// Adds warnings, as [`RunningRun::add_warning`] does.
    pub fn add_warnings(&self, warnings: impl IntoIterator<Item = Warning>) {
        warnings.into_iter().for_each(|it| self.add_warning(it));
    }

    /// Adds the tuning of the thread that measures a series; false if there is no such series.
    pub fn add_series_tuning(&self, name: &str, measures: Vec<TuningMeasure>) -> bool {
        let mut found = false;
        self.update(|run| {
            if let Some(series) = run.series.iter_mut().find(|series| series.name == name) {
                series.tuning.extend(measures);
                found = true;
            }
        });
        found
    }

    /// Changes other content of `run.json`: parameters, the cost of a record, ... The names and files of the series
    /// must stay.
    pub fn update(&self, change: impl FnOnce(&mut Run)) {
        let mut state = self.shared.lock();
        change(&mut state.run);
        state.changed = true;
    }

    /// The files that could not be written so far, and whether that lasts. It does not stop the measurement: data
    /// that cannot be written are held and tried again every interval.
    #[must_use]
    pub fn write_errors(&self) -> Vec<WriteTrouble> {
        self.shared.troubles()
    }

    /// Ends the run: takes the last interval, ends the files, completes `run.json`, and waits for the disk. The
    /// measuring threads should have ended before: values that they record after the last flip are not in the run.
    ///
    /// # Errors
    /// [`FinishRunError`] if something could not be written; the run is then incomplete on the disk, and the error
    /// holds the counts.
    pub fn finish(mut self, ended_by: EndedBy) -> Result<Run, FinishRunError> {
        let mut series = self.join().ok_or(FinishRunError::Panicked)?;
        let ended = self.shared.now();
        for series in &mut series {
            let intervals = series.end_intervals();
            self.shared.note(&series.hlog_name, &intervals);
            if let Some(samples) = series.end_samples() {
                self.shared.note(&series.samples_name, &samples);
            }
        }
        let duration = ended.saturating_sub(self.started);
        complete(&self.shared, &series, ended_by, duration)
    }

    /// Stops the writer thread and takes the series from it; `None` if it panicked.
    fn join(&mut self) -> Option<Vec<SeriesWriter>> {
        drop(self.stop.take());
        self.writer.take()?.join().ok()
    }
}

impl Drop for RunningRun {
    fn drop(&mut self) {
        // After `finish` there is nothing left to join; otherwise the writer flushes its data.
        self.join();
    }
}

/// Writes the last `run.json`.
fn complete(
    shared: &RunContext,
    series: &[SeriesWriter],
    ended_by: EndedBy,
    duration: Duration,
) -> Result<Run, FinishRunError> {
    let mut run = shared.lock().run.clone();
    for (written, model) in series.iter().zip(&mut run.series) {
        model.counts = written.counts();
        model.counts.dropped += written.waiting();
    }
    let troubles = shared.lasting_and_past();
    run.warnings
        .extend(troubles.iter().map(WriteTrouble::warning));
    let lasting = || troubles.iter().filter(|trouble| trouble.until.is_none());
    let cause = lasting().next_back().map(|trouble| trouble.cause.clone());
    run.duration_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    run.ended_by = Some(ended_by);
    run.complete = cause.is_none();
    let path = shared.dir.join(RUN_JSON);
    let written = super::write(&*shared.disk, &path, &run, true);
    match (cause, written) {
        (None, Ok(())) => Ok(run),
        (None, Err(source)) => Err(FinishRunError::RunJson {
            path,
            source,
            run: Box::new(run),
        }),
        (Some(cause), _) => Err(FinishRunError::NotWritten {
            path: shared.dir.clone(),
            files: lasting().map(|trouble| trouble.file.clone()).collect(),
            cause,
            run: Box::new(run),
        }),
    }
}

/// The progress of a run, for a live display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Time since the start of the run.
    pub elapsed: Duration,
    /// Each series, in the order of the run.
    pub series: Vec<SeriesProgress>,
}

/// The progress of a series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesProgress {
    /// The name of the series in `run.json`, for example `lateness`.
    pub name: String,
    /// The counts up to the end of the last interval; dropped samples up to some milliseconds ago.
    pub counts: Counts,
    /// When the last interval began, counted from the start of the run.
    pub interval_start: Duration,
    /// The measured length of the last interval, which can differ from the planned one.
    pub interval_length: Duration,
    /// Values recorded in it.
    pub interval_count: u64,
    /// The largest of them, within the resolution of the histogram; 0 if there were none.
    pub interval_max_ns: i64,
}

impl SeriesProgress {
    pub(super) fn of(series: &SeriesWriter) -> Self {
        let (start, end) = series.span;
        Self {
            name: series.name.clone(),
            counts: series.counts(),
            interval_start: start,
            interval_length: end.saturating_sub(start),
            interval_count: series.interval.count(),
            interval_max_ns: series.interval.max(),
        }
    }
}

/// The state that the writer thread and the owner of the run share. The measuring threads never use it.
pub(super) struct RunContext {
    pub(super) dir: PathBuf,
    pub(super) disk: Arc<dyn Disk>,
    /// The start of the run.
    pub(super) origin: Instant,
    /// The same on the wall clock.
    pub(super) origin_wall: jiff::Timestamp,
    state: Mutex<State>,
}

/// The state under the lock.
pub(super) struct State {
    pub(super) run: Run,
    /// Whether `run.json` lags behind `run`.
    pub(super) changed: bool,
    pub(super) series: Vec<SeriesProgress>,
    /// Series that were added while the run is measured, until the writer thread takes them over.
    pub(super) newcomers: Vec<SeriesWriter>,
    troubles: Troubles,
}

impl RunContext {
    pub(super) fn new(
        dir: PathBuf,
        disk: Arc<dyn Disk>,
        (origin, origin_wall): (Instant, jiff::Timestamp),
        run: Run,
    ) -> Self {
        let state = State {
            run,
            changed: false,
            series: Vec::new(),
            newcomers: Vec::new(),
            troubles: Troubles::default(),
        };
        Self {
            dir,
            disk,
            origin,
            origin_wall,
            state: Mutex::new(state),
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    /// The state; a thread that panicked while it held the lock left nothing inconsistent in it.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the result of writing a file.
    pub(super) fn note(&self, file: &str, attempt: &io::Result<()>) {
        let now = self.now();
        self.lock().troubles.note(file, now, attempt);
    }

    /// Records that samples for `file` were dropped.
    pub(super) fn note_dropped(&self, file: &str, samples: u64) {
        self.lock().troubles.note_dropped(file, samples);
    }

    /// The failures to write, in the order in which they began.
    pub(super) fn troubles(&self) -> Vec<WriteTrouble> {
        self.lock().troubles.all().to_vec()
    }

    /// The same for the end of the run, sorted by file. An outdated `run.json` is left out: the last one is still
    /// to be written.
    pub(super) fn lasting_and_past(&self) -> Vec<WriteTrouble> {
        let mut troubles = self.troubles();
        troubles.retain(|trouble| trouble.file != RUN_JSON || trouble.until.is_some());
        troubles.sort_by(|a, b| a.file.cmp(&b.file));
        troubles
    }

    /// Adds a warning, or replaces the one of the same id.
    pub(super) fn warn(&self, warning: Warning) {
        let mut state = self.lock();
        state.changed = true;
        let warnings = &mut state.run.warnings;
        match warnings.iter_mut().find(|known| known.id == warning.id) {
            Some(known) => *known = warning,
            None => warnings.push(warning),
        }
    }
}

impl std::fmt::Debug for RunContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}
