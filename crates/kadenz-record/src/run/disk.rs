//! The disk operations of a run folder, so that a test can substitute a failing disk.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

pub mod sim;

/// A file that only grows, but can be cut back to its last good length.
pub trait AppendOnly: Send {
    /// Appends bytes. After an error some of them may be in the file.
    ///
    /// # Errors
    /// The operating system's error.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file back to `len` bytes.
    ///
    /// # Errors
    /// The operating system's error.
    fn truncate(&mut self, len: u64) -> io::Result<()>;

    /// Waits until everything is on the disk.
    ///
    /// # Errors
    /// The operating system's error.
    fn sync(&mut self) -> io::Result<()>;
}

/// The disk on which a run folder is written.
pub trait Disk: Send + Sync {
    /// Creates a file that must not exist yet.
    ///
    /// # Errors
    /// The operating system's error; [`io::ErrorKind::AlreadyExists`] if the file exists.
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendOnly>>;

    /// Replaces a file atomically: a reader finds the old or the new content, with `durable` also after a power cut: it
    /// waits until the disk has the new one. Without, some file systems may lose both then.
    ///
    /// # Errors
    /// The operating system's error; the file then keeps its old content.
    fn replace(&self, path: &Path, content: &[u8], durable: bool) -> io::Result<()>;
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalDisk;

impl Disk for LocalDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendOnly>> {
        // Not opened for appending: on Windows such a file could not be cut back.
        let file = File::create_new(path)?;
        Ok(Box::new(LocalFile(file)))
    }

    fn replace(&self, path: &Path, content: &[u8], durable: bool) -> io::Result<()> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let new = path.with_file_name(name);
        let written =
            write_whole(&new, content, durable).and_then(|()| std::fs::rename(&new, path));
        if let Err(error) = written {
            // The incomplete new file takes room on a full disk and is of no use.
            let _ = std::fs::remove_file(&new);
            return Err(error);
        }
        if durable {
            sync_directory(path.parent().unwrap_or(Path::new(".")))
        } else {
            Ok(())
        }
    }
}

/// Waits, with `durable`, until the disk has the content: else, after a power cut, the new name may lead to an empty file.
fn write_whole(path: &Path, content: &[u8], durable: bool) -> io::Result<()> {
    // A file that a killed process left, or a link to another place.
    let _ = std::fs::remove_file(path);
    let mut file = File::create_new(path)?;
    file.write_all(content)?;
    if durable { file.sync_all() } else { Ok(()) }
}

/// Waits until the names in a folder are on the disk.
#[cfg(unix)]
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    File::open(path)?.sync_all()
}

/// On other systems a folder cannot be opened like a file; the rename is as durable as the system makes it.
#[cfg(not(unix))]
pub(super) fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}

struct LocalFile(File);

impl AppendOnly for LocalFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)?;
        self.0.seek(SeekFrom::Start(len))?;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }
}
