//! What the writer thread and the owner of a run both see.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::manifest::RUN_JSON;
use super::progress::SeriesProgress;
use super::series::SeriesWriter;
use super::trouble::{Troubles, WriteTrouble};
use crate::run::disk::Disk;
use crate::run::model::{Run, Warning};

/// What the writer thread and the owner of the run both see. The measuring threads never do.
pub(super) struct Shared {
    pub(super) dir: PathBuf,
    pub(super) disk: Arc<dyn Disk>,
    /// The start of the run.
    pub(super) origin: Instant,
    /// The same by the wall clock.
    pub(super) origin_wall: jiff::Timestamp,
    state: Mutex<State>,
}

/// What is under the lock.
pub(super) struct State {
    pub(super) run: Run,
    /// Whether `run.json` lags behind `run`.
    pub(super) changed: bool,
    pub(super) series: Vec<SeriesProgress>,
    /// Series that were added while the run is measured, until the writer thread takes them over.
    pub(super) newcomers: Vec<SeriesWriter>,
    troubles: Troubles,
}

impl Shared {
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

    /// The state; a thread that panicked while it held the lock left nothing half done in it.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of an attempt to write a file.
    pub(super) fn note(&self, file: &str, attempt: &io::Result<()>) {
        let now = self.now();
        self.lock().troubles.note(file, now, attempt);
    }

    /// What the disk refused, in the order in which it began.
    pub(super) fn troubles(&self) -> Vec<WriteTrouble> {
        self.lock().troubles.all().to_vec()
    }

    /// The same for the end of the run, sorted by file. A `run.json` that lags behind is left out:
    /// the last one is still to be written.
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

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}
