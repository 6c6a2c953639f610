//! Begins a run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::clock_step::{ClockStep, Clocks};
use super::error::{AddSeriesError, CreateRunError, StartRunError};
use super::prepared::{Place, Prepared};
use super::running::RunningRun;
use super::schedule::Schedule;
use super::series::{SeriesRecorder, SeriesSpec, SeriesWriter};
use super::shared::Shared;
use super::thread::WriterThread;
use super::{claim, manifest};
use crate::run::disk::{Disk, LocalDisk};
use crate::run::model::{FORMAT_VERSION, Run};

/// A run folder that is being prepared: series are added, then measuring starts.
pub struct RunWriter {
    dir: PathBuf,
    disk: Arc<dyn Disk>,
    run: Run,
    origin: Instant,
    origin_wall: jiff::Timestamp,
    series: Vec<Prepared>,
}

impl RunWriter {
    /// Takes an empty or new folder for a run and writes its `run.json`, incomplete.
    ///
    /// The run's time starts here: interval stamps count from this call, so
    /// [`Run::start_monotonic_ns`] should be read from the run's clock right before it, or later
    /// together with [`RunWriter::restart_time`]. An empty `started_at` is filled in; `version`,
    /// `complete` and `series` are set.
    ///
    /// # Errors
    /// [`CreateRunError`] if the folder holds anything, or cannot be written.
    pub fn create(dir: &Path, run: Run) -> Result<Self, CreateRunError> {
        Self::create_on(Arc::new(LocalDisk), dir, run)
    }

    /// As [`RunWriter::create`], on a disk of one's own, for example one that fails.
    ///
    /// # Errors
    /// As [`RunWriter::create`].
    pub fn create_on(
        disk: Arc<dyn Disk>,
        dir: &Path,
        mut run: Run,
    ) -> Result<Self, CreateRunError> {
        let (origin, origin_wall) = (Instant::now(), jiff::Timestamp::now());
        let path = claim::claim(&*disk, dir)?;
        run.version = FORMAT_VERSION;
        run.complete = false;
        run.ended_by = None;
        run.series.clear();
        if run.started_at.is_empty() {
            run.started_at = origin_wall.to_string();
        }
        manifest::write(&*disk, &path, &run, true).map_err(|source| {
            CreateRunError::Unwritable {
                path: dir.to_owned(),
                source,
            }
        })?;
        Ok(Self {
            dir: dir.to_owned(),
            disk,
            run,
            origin,
            origin_wall,
            series: Vec::new(),
        })
    }

    /// Moves the start of the run's time to now; `start_monotonic_ns` is now on the run's clock.
    pub fn restart_time(&mut self, start_monotonic_ns: u64) {
        (self.origin, self.origin_wall) = (Instant::now(), jiff::Timestamp::now());
        self.run.start_monotonic_ns = start_monotonic_ns;
        self.run.started_at = self.origin_wall.to_string();
    }

    /// What `run.json` will say. The series are added by [`RunWriter::series`].
    pub fn run_mut(&mut self) -> &mut Run {
        &mut self.run
    }

    /// The run folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Adds a series and creates its files. The recorder goes to the thread that measures.
    ///
    /// # Errors
    /// [`AddSeriesError`] if the name will not do, is taken, or a file cannot be created.
    pub fn series(&mut self, spec: SeriesSpec) -> Result<SeriesRecorder, AddSeriesError> {
        let place = Place {
            dir: &self.dir,
            disk: &*self.disk,
        };
        let (recorder, prepared) = Prepared::new(place, &mut self.run, spec)?;
        self.series.push(prepared);
        Ok(recorder)
    }

    /// Writes `run.json` with the series and starts the writer thread, which ends an interval every
    /// `interval` (1 ms at least). The first interval begins now.
    ///
    /// The writer thread inherits scheduling policy and affinity of the caller: call this from an
    /// ordinary thread.
    ///
    /// # Errors
    /// [`StartRunError`] if the folder cannot be written or the thread cannot be started.
    pub fn start(mut self, interval: Duration) -> Result<RunningRun, StartRunError> {
        let path = self.dir.join(manifest::RUN_JSON);
        manifest::write(&*self.disk, &path, &self.run, true)
            .map_err(|source| StartRunError::RunJson { path, source })?;
        let started = self.origin.elapsed();
        let prepared = std::mem::take(&mut self.series);
        let mut series = prepared
            .into_iter()
            .zip(&self.run.series)
            .map(|(prepared, model)| prepared.open(&self.run, model, self.origin_wall, started))
            .collect::<Result<Vec<_>, _>>()?;
        let clocks = (self.origin, self.origin_wall);
        let shared = Arc::new(Shared::new(self.dir, self.disk, clocks, self.run));
        for (file, written) in series.iter_mut().flat_map(SeriesWriter::write_headers) {
            shared.note(file, &written);
        }
        let (stop, stopped) = mpsc::sync_channel(1);
        let draining = series.iter().any(SeriesWriter::keeps_samples);
        let mut clock_step = ClockStep::default();
        if let Some(now) = Clocks::read(shared.origin) {
            clock_step.observe(now);
        }
        let thread = WriterThread {
            shared: Arc::clone(&shared),
            series,
            schedule: Schedule::new(started, interval, draining),
            clock_step,
            stop: stopped,
        };
        let writer = std::thread::Builder::new()
            .name("kadenz-writer".to_owned())
            .spawn(move || thread.run())
            .map_err(|source| StartRunError::Thread { source })?;
        Ok(RunningRun::new(shared, stop, writer, started))
    }
}

impl std::fmt::Debug for RunWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunWriter")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}
