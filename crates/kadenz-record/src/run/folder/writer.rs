//! Beginning a run.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::RUN_JSON;
use super::clock_step::{ClockStep, Clocks};
use super::error::{AddSeriesError, CreateRunError, StartRunError};
use super::inside::MAX_SERIES;
use super::running::{RunContext, RunningRun};
use super::series::{Place, Prepared, SeriesRecorder, SeriesSpec, SeriesWriter};
use super::thread::{Schedule, WriterThread};
use crate::run::disk::{Disk, LocalDisk};
use crate::run::labels::{self, Labels};
use crate::run::model::{FORMAT_VERSION, Run, Series};

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

    /// As [`RunWriter::create`], on the given disk, for example one that fails.
    ///
    /// # Errors
    /// As [`RunWriter::create`].
    pub fn create_on(disk: Arc<dyn Disk>, dir: &Path, run: Run) -> Result<Self, CreateRunError> {
        let (origin, origin_wall) = (Instant::now(), jiff::Timestamp::now());
        let run = begin(&*disk, dir, run, origin_wall)?;
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

    /// The future content of `run.json`. The series are added by [`RunWriter::series`].
    pub fn run_mut(&mut self) -> &mut Run {
        &mut self.run
    }

    /// The folder that the run is written into.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Adds a series and creates its files. The recorder goes to the thread that measures.
    ///
    /// # Errors
    /// [`AddSeriesError`] if the name is invalid or taken, or a file cannot be created.
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
        let path = self.dir.join(super::RUN_JSON);
        super::write(&*self.disk, &path, &self.run, true)
            .map_err(|source| StartRunError::RunJson { path, source })?;
        let started = self.origin.elapsed();
        let prepared = std::mem::take(&mut self.series);
        let mut series = prepared
            .into_iter()
            .zip(&self.run.series)
            .map(|(prepared, model)| prepared.open(&self.run, model, self.origin_wall, started))
            .collect::<Result<Vec<_>, _>>()?;
        let clocks = (self.origin, self.origin_wall);
        let shared = Arc::new(RunContext::new(self.dir, self.disk, clocks, self.run));
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

// Reserving a folder for a run, so that no other run is written into it.

/// Longest name of a series: its files need room for their endings.
const MAX_NAME: usize = 100;

/// Takes a folder for a run that begins, and writes its `run.json`, incomplete and without series.
pub(super) fn begin(
    disk: &dyn Disk,
    dir: &Path,
    mut run: Run,
    now: jiff::Timestamp,
) -> Result<Run, CreateRunError> {
    let path = claim(disk, dir)?;
    run.version = FORMAT_VERSION;
    run.complete = false;
    run.ended_by = None;
    run.series.clear();
    if run.started_at.is_empty() {
        run.started_at = now.to_string();
    }
    super::write(disk, &path, &run, true).map_err(|source| CreateRunError::Unwritable {
        path: dir.to_owned(),
        source,
    })?;
    Ok(run)
}

/// Makes the folder if necessary, and creates an empty `run.json` in it, which succeeds for only one caller.
fn claim(disk: &dyn Disk, dir: &Path) -> Result<PathBuf, CreateRunError> {
    if dir.exists() && !dir.is_dir() {
        return Err(CreateRunError::NotAFolder {
            path: dir.to_owned(),
        });
    }
    let unwritable = |source| CreateRunError::Unwritable {
        path: dir.to_owned(),
        source,
    };
    std::fs::create_dir_all(dir).map_err(unwritable)?;
    let run_json = dir.join(RUN_JSON);
    if run_json.exists() {
        return Err(CreateRunError::HoldsRun {
            path: dir.to_owned(),
        });
    }
    if std::fs::read_dir(dir).map_err(unwritable)?.next().is_some() {
        return Err(CreateRunError::NotEmpty {
            path: dir.to_owned(),
        });
    }
    match disk.create(&run_json) {
        Ok(_) => Ok(run_json),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(CreateRunError::HoldsRun {
                path: dir.to_owned(),
            })
        }
        Err(error) => Err(unwritable(error)),
    }
}

/// Whether a series may have this name: it becomes a file name on every system.
pub(super) fn check_name(name: &str) -> Result<(), AddSeriesError> {
    if is_plain(name, MAX_NAME) {
        Ok(())
    } else {
        Err(AddSeriesError::BadName {
            name: name.to_owned(),
        })
    }
}

/// Whether a series of this name and with these labels may be added to a run.
pub(super) fn check_new(run: &Run, name: &str, labels: &Labels) -> Result<(), AddSeriesError> {
    if !labels::fit(labels) {
        return Err(AddSeriesError::Labels {
            name: name.to_owned(),
        });
    }
    check_name(name)?;
    if run.series.len() >= MAX_SERIES {
        return Err(AddSeriesError::TooMany { limit: MAX_SERIES });
    }
    let taken = |it: &Series| it.name.eq_ignore_ascii_case(name);
    if run.series.iter().any(taken) {
        return Err(AddSeriesError::Duplicate {
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// Whether a name of up to `longest` bytes names a file in the same folder on every system.
pub(super) fn is_plain(name: &str, longest: usize) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !name.is_empty()
        && name.len() <= longest
        && !name.starts_with(['.', '-'])
        && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_become_file_names() {
        for good in ["wakeup", "timer.1kHz_fifo-80", "0"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        let long = "x".repeat(101);
        for bad in [
            "", ".", "..", ".hidden", "-x", "a/b", "a\\b", "a b", "ä", "a\0", &long,
        ] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
