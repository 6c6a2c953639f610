//! Files that logs are written to, and one without room for tests.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::sync::lock;

/// A file that grows at its end and can be cut.
pub trait LogFile: Write + Send {
    /// Cuts the file to that many bytes; the next write goes there.
    ///
    /// # Errors
    /// If the file system refuses.
    fn cut(&mut self, length: u64) -> io::Result<()>;

    /// Reads written bytes, at an offset; the next write still goes to the end of the file.
    ///
    /// # Errors
    /// If the file system refuses, the file was opened only for writing, or is shorter.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes the file from the kernel's cache to the disk. Waits for the disk.
    ///
    /// # Errors
    /// If the disk refuses.
    fn to_disk(&mut self) -> io::Result<()>;
}

impl LogFile for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(io::SeekFrom::Start(length)).map(drop)
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.seek(io::SeekFrom::Start(offset))?;
        let read = self.read_exact(into);
        self.seek(io::SeekFrom::End(0))?;
        read
    }

    fn to_disk(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// A file in memory on a disk with little room, for tests of a full disk. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct SmallDisk {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: Arc<AtomicU64>,
}

impl SmallDisk {
    /// A file that may grow to so many bytes.
    #[must_use]
    pub fn with_room(bytes: u64) -> Self {
        let disk = Self::default();
        disk.set_room(bytes);
        disk
    }

    /// Sets how long the file may become from now on.
    pub(crate) fn set_room(&self, bytes: u64) {
        self.room.store(bytes, Ordering::Relaxed);
    }

    /// Returns the content of the file.
    #[must_use]
    pub fn contents(&self) -> Vec<u8> {
        lock(&self.bytes).clone()
    }
}

impl Write for SmallDisk {
    /// Writes a part where not all has room, as disks do.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = lock(&self.bytes);
        let room = self.room.load(Ordering::Relaxed);
        let left = usize::try_from(room.saturating_sub(file.len() as u64)).unwrap_or(usize::MAX);
        let taken = bytes.len().min(left);
        if taken == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        file.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LogFile for SmallDisk {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        lock(&self.bytes).truncate(length);
        Ok(())
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let file = lock(&self.bytes);
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = file.get(from..).and_then(|it| it.get(..into.len()));
        into.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn to_disk(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes whole pieces at the end of a file: a piece is in it completely or not at all, and pieces without
/// room are kept and tried again.
pub(crate) struct Appender {
    file: Box<dyn LogFile>,
    length: u64,
    /// Whether there may be a part of a piece behind the length, or the file stands elsewhere.
    torn: bool,
    /// Pieces that are not in the file yet.
    pub(crate) waiting: Vec<u8>,
}

impl Appender {
    pub(crate) fn new(file: Box<dyn LogFile>, length: u64) -> Self {
        Self {
            file,
            length,
            torn: false,
            waiting: Vec::new(),
        }
    }

    /// Returns how long the file is with what waits.
    pub(crate) fn length(&self) -> u64 {
        self.length + self.waiting.len() as u64
    }

    /// Returns how long the file is without what waits.
    pub(crate) fn written(&self) -> u64 {
        self.length
    }

    /// Writes what waits.
    pub(crate) fn put(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.repair()?;
        if let Err(error) = self.file.write_all(&self.waiting) {
            self.torn = true;
            // If the disk fails here too, the next piece tries again.
            let _ = self.repair();
            return Err(error);
        }
        self.length += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Cuts off the part of a piece that was not written completely.
    fn repair(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.cut(self.length)?;
            self.torn = false;
        }
        Ok(())
    }

    /// Discards the waiting pieces and all of the file after so many bytes.
    pub(crate) fn cut(&mut self, length: u64) -> io::Result<()> {
        self.waiting.clear();
        self.length = length;
        self.torn = true;
        self.repair()
    }

    /// Reads what was written.
    pub(crate) fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let read = self.file.read_at(offset, into);
        self.torn |= read.is_err();
        read
    }
}

/// Locks a file for as long as it is open; another program that locks it gets an error. If the file system
/// has no locks, the file stays without.
pub(super) fn alone(file: File) -> io::Result<File> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another program is recording into it",
        )),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}
