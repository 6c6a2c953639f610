//! A file to which records are appended whole or not at all.

use std::io;

use crate::run::disk::AppendOnly;

/// A file to which records are appended whole or not at all: the incomplete rest of a failed append is cut away, at
/// once or before the next one.
pub(super) struct Journal {
    file: Box<dyn AppendOnly>,
    /// Length up to the end of the last whole record.
    good: u64,
    /// Whether an incomplete record may follow `good`.
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

    pub(super) fn append(&mut self, record: &[u8]) -> io::Result<()> {
        self.repair()?;
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
                // If this fails as well, the next append tries again.
                let _ = self.repair();
                Err(error)
            }
        }
    }

    /// Waits until the file is on the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.repair()?;
        self.file.sync()
    }

    fn repair(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.truncate(self.good)?;
            self.torn = false;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A file that fails on command, after half of the bytes.
    #[derive(Clone, Default)]
    struct Failing(Arc<Mutex<Inner>>);

    #[derive(Default)]
    struct Inner {
        content: Vec<u8>,
        appends_fail: bool,
        truncates_fail: bool,
    }

    impl AppendOnly for Failing {
        fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
            let mut inner = self.0.lock().expect("alone");
            let fails = inner.appends_fail;
            let kept = if fails { bytes.len() / 2 } else { bytes.len() };
            inner.content.extend_from_slice(&bytes[..kept]);
            if fails {
                Err(io::ErrorKind::StorageFull.into())
            } else {
                Ok(())
            }
        }

        fn truncate(&mut self, len: u64) -> io::Result<()> {
            let mut inner = self.0.lock().expect("alone");
            if inner.truncates_fail {
                return Err(io::Error::other("cannot cut"));
            }
            inner.content.truncate(usize::try_from(len).expect("small"));
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nothing_is_written_behind_a_part_of_a_record() {
        let file = Failing::default();
        let mut journal = Journal::new(Box::new(file.clone()));
        let set = |appends_fail, truncates_fail| {
            let mut inner = file.0.lock().expect("alone");
            (inner.appends_fail, inner.truncates_fail) = (appends_fail, truncates_fail);
        };
        journal.append(b"first\n").expect("room");
        set(true, true);
        assert!(journal.append(b"second\n").is_err());
        set(false, true);
        assert!(
            journal.append(b"third\n").is_err(),
            "the part still stands there"
        );
        assert!(journal.sync().is_err());
        set(false, false);
        journal.append(b"fourth\n").expect("room");
        journal.append(b"").expect("nothing");
        assert_eq!(file.0.lock().expect("alone").content, b"first\nfourth\n");
    }
}
