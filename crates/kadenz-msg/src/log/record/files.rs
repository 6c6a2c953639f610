//! The files that a recorder writes, one after the other.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::RecordOptions;
use crate::log::mcap::{self, McapWriter};
use crate::log::{Format, LogError, LogFile, LogWriter, event, file};

/// The names of the files, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Naming {
    /// One file of that name; further parts are `drive-001.mcap`, `drive-002.mcap`, ...
    Numbered,
    /// As lcm-logger's `--rotate`: always into number 0; older ones are renamed to 1, 2, ..., and those
    /// beyond this count are deleted.
    Rotating(u32),
}

/// Returns the name itself, or where there is such a file, the name with the next free number: `drive.00.mcap`,
/// `drive.01.mcap`, ...
#[must_use]
pub fn next_free(path: &Path) -> PathBuf {
    let (mut free, mut number) = (path.to_owned(), 0);
    while free.exists() {
        free = numbered(path, &format!(".{number:02}"));
        number += 1;
    }
    free
}

/// Makes an empty file under a name; the `bool` allows overwriting an existing one. The writing thread calls
/// it.
pub type MakeFile = Box<dyn FnMut(&Path, bool) -> io::Result<Box<dyn LogFile>> + Send>;

/// Makes a file of the file system.
pub(crate) fn make_file(path: &Path, overwrite: bool) -> io::Result<Box<dyn LogFile>> {
    let mut open = File::options();
    // An MCAP file's index is read back from it at its end.
    open.read(true).write(true);
    if overwrite {
        open.create(true).truncate(false);
    } else {
        open.create_new(true);
    }
    let file = file::alone(open.open(path)?)?;
    // The old content is removed only once it is certain that no other program writes the file.
    if overwrite && file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(Box::new(file))
}

/// Makes the files.
pub(super) struct Files {
    path: PathBuf,
    make: MakeFile,
    made: u32,
}

impl Files {
    pub(super) fn new(path: &Path, make: MakeFile) -> Self {
        let path = path.to_owned();
        let made = 0;
        Self { path, make, made }
    }

    fn numbered(&self) -> PathBuf {
        numbered(&self.path, &format!("-{:03}", self.made))
    }

    /// The name of the file that this many files followed, where files are rotated.
    pub(super) fn rotated(&self, number: usize) -> PathBuf {
        numbered(&self.path, &format!("-{number}"))
    }

    /// Makes the next file. Refuses to overwrite one that was there before the recording; later files take the next free
    /// number.
    pub(super) fn next(&mut self, options: &RecordOptions) -> Result<Opened, LogError> {
        let path = match options.naming {
            Naming::Numbered if self.made == 0 => self.path.clone(),
            Naming::Numbered => {
                let mut next = self.numbered();
                while !options.overwrite && fs::symlink_metadata(&next).is_ok() {
                    self.made += 1;
                    next = self.numbered();
                }
                next
            }
            Naming::Rotating(keep) => {
                rotate(&self.path, keep.max(1))?;
                self.rotated(0)
            }
        };
        if options.append && self.made == 0 && path.exists() {
            let writer = event::append(&path)?;
            self.made += 1;
            return Ok(Opened { path, writer });
        }
        let file = (self.make)(&path, options.overwrite).map_err(LogError::at(&path))?;
        let writer: Box<dyn LogWriter> = match options.format {
            Format::EventLog => Box::new(event::EventWriter::new(file)),
            _ => Box::new(mcap_writer(file, options).inspect_err(|_| {
                // An empty file that this program made is useless, and would block the next try.
                let _ = fs::remove_file(&path);
            })?),
        };
        self.made += 1;
        Ok(Opened { path, writer })
    }
}

/// A file that was made.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) writer: Box<dyn LogWriter>,
}

fn mcap_writer(file: Box<dyn LogFile>, options: &RecordOptions) -> Result<McapWriter, LogError> {
    let mut writer = McapWriter::new(
        file,
        &mcap::McapOptions {
            compression: options.compression,
            profile: "lcm".to_owned(),
            ..mcap::McapOptions::default()
        },
    )?;
    for (name, facts) in &options.facts {
        writer.describe(name, facts)?;
    }
    Ok(writer)
}

/// Renames each file to the next number; the last one is deleted. Does nothing while number 0 is free, so that repeated
/// tries to make that file delete no more than one.
fn rotate(path: &Path, keep: u32) -> Result<(), LogError> {
    let newest = numbered(path, "-0");
    if !newest.exists() {
        return Ok(());
    }
    let file = File::options().append(true).open(&newest);
    file.and_then(file::alone).map_err(LogError::at(&newest))?;
    for number in (0..keep).rev() {
        let old = numbered(path, &format!("-{number}"));
        if !old.exists() {
            continue;
        }
        let result = if number + 1 == keep {
            fs::remove_file(&old)
        } else {
            fs::rename(&old, numbered(path, &format!("-{}", number + 1)))
        };
        result.map_err(LogError::at(&old))?;
    }
    Ok(())
}

/// A name with something before its ending.
fn numbered(path: &Path, number: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default();
    let mut name = stem.to_owned();
    name.push(number);
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

// The limits at which a recording continues in the next file.

/// The limits at which a recording continues in the next file; by default none. A new file begins with a
/// message, so that a silent bus makes no empty files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Split {
    /// Once a file is that long, in bytes.
    pub bytes: Option<u64>,
    /// Once a file is that old.
    pub every: Option<Duration>,
}

impl Split {
    /// Returns whether there is any limit.
    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        *self != Self::default()
    }

    /// Returns whether a file of that length and age is complete.
    pub(super) fn is_due(&self, length: u64, age: Duration) -> bool {
        self.bytes.is_some_and(|bytes| length >= bytes)
            || self.every.is_some_and(|every| age >= every)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_stands_before_the_ending() {
        let named = |path: &str| numbered(Path::new(path), "-001");
        assert_eq!(named("a/drive.mcap"), Path::new("a/drive-001.mcap"));
        assert_eq!(named("lcmlog"), Path::new("lcmlog-001"));
    }

    #[test]
    fn a_name_that_is_taken_gets_the_next_free_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drive.mcap");
        for name in ["drive.mcap", "drive.00.mcap", "drive.01.mcap"] {
            let free = next_free(&path);
            assert_eq!(free, folder.path().join(name));
            fs::write(free, "").unwrap();
        }
    }

    #[test]
    fn rotation_keeps_so_many_files_and_the_newest_is_number_0() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.mcap");
        for n in 0..4 {
            rotate(&path, 2).unwrap();
            fs::write(numbered(&path, "-0"), n.to_string()).unwrap();
        }
        let held = |n: &str| fs::read_to_string(numbered(&path, n)).unwrap();
        assert_eq!((held("-0"), held("-1")), ("3".to_owned(), "2".to_owned()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_new_file_that_cannot_be_made_costs_one_old_file_however_often_it_is_tried() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.mcap");
        for number in ["-0", "-1", "-2"] {
            fs::write(numbered(&path, number), number).unwrap();
        }
        let options = RecordOptions {
            naming: Naming::Rotating(3),
            ..RecordOptions::default()
        };
        let refuse = |_: &Path, _| Err(io::Error::from(io::ErrorKind::StorageFull));
        let mut files = Files::new(&path, Box::new(refuse));
        for _ in 0..5 {
            assert!(files.next(&options).is_err());
        }
        let held = |n: &str| fs::read_to_string(numbered(&path, n)).ok();
        let all = ["-0", "-1", "-2"].map(held);
        assert_eq!(all, [None, Some("-0".to_owned()), Some("-1".to_owned())]);
    }
}

#[cfg(test)]
mod split_tests {
    use super::*;

    #[test]
    fn a_file_is_left_at_its_length_or_its_age_and_else_never() {
        let hour = Duration::from_secs(3600);
        let split = Split {
            bytes: Some(100),
            every: Some(hour),
        };
        assert!(!split.is_due(99, hour - Duration::from_nanos(1)));
        assert!(split.is_due(100, Duration::ZERO));
        assert!(split.is_due(0, hour));
        assert!(!Split::default().is_due(u64::MAX, Duration::MAX));
        let at_bytes = Split {
            bytes: Some(1),
            every: None,
        };
        assert!(!Split::default().is_asked_for() && at_bytes.is_asked_for());
    }
}
