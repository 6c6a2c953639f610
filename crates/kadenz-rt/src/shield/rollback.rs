//! Changes that are written down, then made, then undone.

use std::io;
use std::sync::Arc;

use super::Kernel;
use super::journal::{Change, Members};
use super::kernel::{ThreadFacts, has};
use super::undo::{self, Restored};
use super::writer::Writer;
use crate::tuning::CpuSet;

/// What has been changed so far.
pub(super) struct RollbackLog {
    pub(super) kernel: Arc<dyn Kernel>,
    journal: Writer,
    changes: Vec<Change>,
}

impl RollbackLog {
    /// A log whose journal has its owner's line already.
    pub(super) fn new(kernel: Arc<dyn Kernel>, journal: Writer) -> Self {
        Self {
            kernel,
            journal,
            changes: Vec::new(),
        }
    }

    /// Writes changes down, all in one flush; afterwards they may be made.
    pub(super) fn note(&mut self, changes: Vec<Change>) -> io::Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        self.journal.append(&changes)?;
        self.changes.extend(changes);
        Ok(())
    }

    /// Sets a file to another value and says what it holds afterwards.
    pub(super) fn set(&mut self, path: &str, value: &str) -> io::Result<String> {
        let before = self
            .kernel
            .read(&undo::source(self.kernel.as_ref(), path))?;
        if before.trim() != value {
            self.note(vec![Change::File {
                path: path.to_owned(),
                before: before.trim().to_owned(),
            }])?;
            self.kernel.write(path, value)?;
        }
        Ok(self.kernel.read(path)?.trim().to_owned())
    }

    /// Sets a file of a control group that this log made, and that goes as a whole.
    pub(super) fn set_own(&self, path: &str, value: &str) -> io::Result<String> {
        self.kernel.write(path, value)?;
        Ok(self.kernel.read(path)?.trim().to_owned())
    }

    /// Makes a control group; what is in it at the end goes to `home`.
    pub(super) fn make_folder(
        &mut self,
        path: &str,
        home: &str,
        members: Members,
    ) -> io::Result<()> {
        // Not ours: it must not be written down as if it were.
        if has(self.kernel.as_ref(), &members.of(path)) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.note(vec![Change::Folder {
            path: path.to_owned(),
            home: home.to_owned(),
            members,
        }])?;
        self.kernel.make_folder(path)
    }

    /// The line for a thread's CPUs, if it has others than its control group gives it: only these
    /// are lost when the kernel moves it to another group (before Linux 6.2).
    pub(super) fn own_affinity(&self, thread: u32, of_group: &CpuSet) -> Option<Change> {
        let cpus = self.kernel.affinity(thread).ok()?;
        let facts = ThreadFacts::read(self.kernel.as_ref(), thread)?;
        (cpus != *of_group && !facts.is_bound()).then(|| Change::Affinity {
            thread,
            start: facts.start,
            before: cpus.to_string(),
        })
    }

    /// Puts everything back, the last change first. The journal stays if something could not be.
    pub(super) fn undo(self) -> Restored {
        let mut restored = undo::undo(self.kernel.as_ref(), &self.changes);
        restored.close(self.journal);
        restored
    }
}
