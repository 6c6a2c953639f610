//! A run that is being measured.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::Duration;

use super::error::{AddSeriesError, FinishRunError};
use super::manifest::{self, RUN_JSON};
use super::prepared::{Place, Prepared};
use super::progress::Progress;
use super::series::{SeriesRecorder, SeriesSpec, SeriesWriter};
use super::shared::Shared;
use super::trouble::WriteTrouble;
use crate::run::model::{EndedBy, Run, TuningMeasure, Warning};

/// A run that is being measured. Its writer thread works until [`RunningRun::finish`]; if it is
/// dropped without, what was measured is flushed and the run stays incomplete.
///
/// None of its methods belongs on a measuring thread: they take locks.
#[derive(Debug)]
pub struct RunningRun {
    shared: Arc<Shared>,
    stop: Option<SyncSender<()>>,
    writer: Option<JoinHandle<Vec<SeriesWriter>>>,
    started: Duration,
}

impl RunningRun {
    pub(super) fn new(
        shared: Arc<Shared>,
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

    /// How the run stands.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let series = self.shared.lock().series.clone();
        Progress {
            elapsed: self.shared.now(),
            series,
        }
    }

    /// Adds a series to the run that is being measured: what comes turns out only now. It is written
    /// from the next interval on; a kill before that loses what was recorded until then.
    ///
    /// # Errors
    /// [`AddSeriesError`] if the name will not do, is taken, or a file cannot be created; the run
    /// goes on without.
    pub fn series(&self, spec: SeriesSpec) -> Result<SeriesRecorder, AddSeriesError> {
        let place = Place {
            dir: &self.shared.dir,
            disk: &*self.shared.disk,
        };
        // The files are made under no lock that the writer thread needs.
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

    /// Adds a warning; one with the id of an earlier one takes its place.
    pub fn add_warning(&self, warning: Warning) {
        self.shared.warn(warning);
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

    /// Changes anything else that `run.json` says: parameters, the cost of a record, ... The names
    /// and files of the series must stay.
    pub fn update(&self, change: impl FnOnce(&mut Run)) {
        let mut state = self.shared.lock();
        change(&mut state.run);
        state.changed = true;
    }

    /// What could not be written so far, and whether it lasts. Nothing of it stops the
    /// measurement: what cannot be written is held and tried again every interval.
    #[must_use]
    pub fn write_errors(&self) -> Vec<WriteTrouble> {
        self.shared.troubles()
    }

    /// Ends the run: takes the last interval, ends the files, completes `run.json`, and waits for
    /// the disk. The measuring threads should have ended before: what they record after the last
    /// flip is not in the run.
    ///
    /// # Errors
    /// [`FinishRunError`] if something could not be written; the run is then incomplete on the
    /// disk, and the error holds what was counted.
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
        // After `finish` there is nothing left to join; else the writer flushes what it has.
        self.join();
    }
}

/// Writes the last `run.json`.
fn complete(
    shared: &Shared,
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
    let written = manifest::write(&*shared.disk, &path, &run, true);
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
