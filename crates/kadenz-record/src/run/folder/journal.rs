//! A file to which records are appended whole or not at all.

use std::io;

use crate::run::disk::AppendOnly;

/// A file to which records are appended whole or not at all: what an append leaves of a record
/// that did not fit is cut away, at once or before the next one.
pub(super) struct Journal {
    file: Box<dyn AppendOnly>,
    /// Length up to the end of the last whole record.
    good: u64,
    /// Whether something may stand behind `good`.
    torn: bool,
}

impl Journal {
    pub(super) fn new(file: Box<dyn AppendOnly>) -> Self {
        Self {
            file,
            good: 0,
            torn: false,
        }
    }

    /// Appends one record.
    pub(super) fn append(&mut self, record: &[u8]) -> io::Result<()> {
        self.mend()?;
        if record.is_empty() {
            return Ok(());
        }
        match self.file.append(record) {
            Ok(()) => {
                self.good += record.len() as u64;
                Ok(())
            }
            Err(error) => {
                self.torn = true;
                // If this fails as well, the next append tries it again.
                let _ = self.mend();
                Err(error)
            }
        }
    }

    /// Waits until the file is on the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.mend()?;
        self.file.sync()
    }

    fn mend(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.truncate(self.good)?;
            self.torn = false;
        }
        Ok(())
    }
}
