//! A simulated disk of a given size.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{AppendOnly, Disk, LocalDisk};

/// A disk that writes to the local one until its room is used up, then fails as a full disk does: a part of the
/// write is in the file.
///
/// ```
/// use kadenz_record::run::disk::{Disk, sim::SmallDisk};
///
/// let folder = std::env::temp_dir();
/// let path = folder.join(format!("small-disk-{}", std::process::id()));
/// let disk = SmallDisk::with_room(6);
/// let mut file = disk.create(&path)?;
/// assert!(file.append(b"12345678").is_err());
/// assert_eq!(std::fs::read(&path)?, b"123456");
/// file.truncate(0)?;
/// disk.add_room(10);
/// assert!(file.append(b"12345678").is_ok());
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SmallDisk {
    room: Arc<AtomicU64>,
}

impl SmallDisk {
    /// A disk with room for `bytes`.
    #[must_use]
    pub fn with_room(bytes: u64) -> Self {
        Self {
            room: Arc::new(AtomicU64::new(bytes)),
        }
    }

    /// Makes room for `bytes` more, as when a user deletes files.
    pub fn add_room(&self, bytes: u64) {
        self.room.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Uses up all the room, as another program may.
    pub fn fill(&self) {
        self.room.store(0, Ordering::SeqCst);
    }

    /// Takes up to `wanted` bytes of room, and returns how many it got.
    fn take(&self, wanted: u64) -> u64 {
        let took = self
            .room
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| {
                Some(room.saturating_sub(wanted))
            });
        took.unwrap_or_else(|room| room).min(wanted)
    }
}

fn full() -> io::Error {
    io::Error::new(
        io::ErrorKind::StorageFull,
        "no space left on the simulated disk",
    )
}

impl Disk for SmallDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendOnly>> {
        let file = LocalDisk.create(path)?;
        Ok(Box::new(SmallFile {
            disk: self.clone(),
            file,
            len: 0,
        }))
    }

    fn replace(&self, path: &Path, content: &[u8], durable: bool) -> io::Result<()> {
        let wanted = content.len() as u64;
        let got = self.take(wanted);
        if got < wanted {
            self.add_room(got);
            return Err(full());
        }
        LocalDisk.replace(path, content, durable)
    }
}

struct SmallFile {
    disk: SmallDisk,
    file: Box<dyn AppendOnly>,
    len: u64,
}

impl AppendOnly for SmallFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let got = self.disk.take(bytes.len() as u64);
        let (kept, lost) = bytes.split_at(usize::try_from(got).unwrap_or(bytes.len()));
        self.file.append(kept)?;
        self.len += got;
        if lost.is_empty() { Ok(()) } else { Err(full()) }
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.truncate(len)?;
        self.disk.add_room(self.len.saturating_sub(len));
        self.len = len;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
}
