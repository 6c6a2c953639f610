//! Large sequential writes: Yoon's `dd if=/dev/zero of=bigfile bs=1024000 count=1024`, again
//! and again.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kadenz_rt::host::Root;
use kadenz_rt::host::storage::{self, FileSystem};

use super::options::{LoadOptions, MIN_FILE, StartLoadError};
use super::rates::{Counter, Tally};
use super::workers::{Site, Workers};
use super::{LoadGenerator, LoadKind};
use crate::stop::Stop;

/// `bs=1024000`.
const BLOCK: usize = 1_024_000;

/// Threads that write a file each. The files have no name, so nothing is left of them whatever
/// ends the process.
pub(super) fn start(options: &LoadOptions, site: &Site) -> Result<LoadGenerator, StartLoadError> {
    let threads = options.threads.unwrap_or(1);
    let place = DiskTarget::choose(options, threads as u64)?;
    let written = Tally::new(threads);
    let block: Arc<[u8]> = vec![0; BLOCK].into();
    let mut workers = Workers::new(LoadKind::Disk, site);
    for thread in 0..threads {
        let file = tempfile::tempfile_in(&place.dir);
        let mut writer = Writer {
            file: file.map_err(|error| StartLoadError::Folder {
                dir: place.dir.clone(),
                error,
            })?,
            size: place.size,
            fsync: options.fsync,
            block: block.clone(),
            thread,
            written: written.clone(),
        };
        let dir = place.dir.clone();
        workers.repeat(&format!("disk-{thread}"), move |stop| {
            let filled = writer.fill(stop);
            filled.map_err(|error| format!("cannot write in {}: {error}", dir.display()))
        })?;
    }
    let mut counters = vec![Counter::bytes("written", &written)];
    let device = place.file_system.as_ref().map(|it| it.device.clone());
    if let Some(device) = device.filter(|device| sectors_written(device).is_some()) {
        let bytes = move || sectors_written(&device).unwrap_or(0) * SECTOR;
        counters.push(Counter::from_fn("reached the disk", "MB/s", 1e6, bytes));
    }
    let size = place.size as f64 / 1e6;
    let files = match threads {
        1 => format!("one file of {size:.0} MB"),
        files => format!("{files} files of {size:.0} MB each"),
    };
    let fsync = match options.fsync {
        true => ", brought to the disk each time",
        false => "",
    };
    Ok(LoadGenerator {
        asked: format!(
            "{files} in {}, written again and again{fsync}",
            place.words()
        ),
        counters,
        workers,
    })
}

struct Writer {
    file: File,
    size: u64,
    fsync: bool,
    block: Arc<[u8]>,
    thread: usize,
    written: Tally,
}

impl Writer {
    /// One round of `dd`: the file is emptied and written from its start.
    fn fill(&mut self, stop: &Stop) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        let mut left = self.size;
        while left > 0 && !stop.requested() {
            let length = usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK));
            self.file.write_all(&self.block[..length])?;
            self.written.add(self.thread, length as u64);
            left -= length as u64;
        }
        if self.fsync && !stop.requested() {
            self.file.sync_data()?;
        }
        Ok(())
    }
}

/// The unit in which the kernel counts, whatever sector size the disk has.
const SECTOR: u64 = 512;

/// Sectors that all processes have written to a block device. Source: the kernel's
/// `Documentation/block/stat.rst`.
fn sectors_written(device: &str) -> Option<u64> {
    let path = format!("/sys/dev/block/{device}/stat");
    let text = std::fs::read_to_string(path).ok()?;
    text.split_whitespace().nth(6)?.parse().ok()
}

// Where a disk is loaded: a folder on a real disk with room to spare.

/// A folder to write in, and how much.
#[derive(Clone, Debug)]
pub(super) struct DiskTarget {
    pub(super) dir: PathBuf,
    /// `None` where the system does not report it.
    pub(super) file_system: Option<FileSystem>,
    /// Size of one file, in bytes.
    pub(super) size: u64,
}

/// The size of Yoon's file: `bs=1024000 count=1024`.
const YOON2009_FILE: u64 = 1_024_000 * 1024;

impl DiskTarget {
    /// Chooses a folder, and a size that leaves half of what is free to others.
    pub(super) fn choose(options: &LoadOptions, files: u64) -> Result<Self, StartLoadError> {
        let dir = folder(options)?;
        let free = storage::free_bytes(&dir).ok();
        let size = size(&dir, options.size, free, files)?;
        let file_system = storage::file_system_of(&Root::system(), &dir);
        Ok(Self {
            dir,
            file_system,
            size,
        })
    }

    /// `/var/tmp (ext4)`.
    pub(super) fn words(&self) -> String {
        let dir = self.dir.display();
        match &self.file_system {
            Some(it) if it.is_memory() => format!("{dir} ({}: memory, not a disk)", it.kind),
            Some(it) => format!("{dir} ({})", it.kind),
            None => dir.to_string(),
        }
    }
}

fn folder(options: &LoadOptions) -> Result<PathBuf, StartLoadError> {
    if let Some(dir) = &options.dir {
        return usable(dir);
    }
    let candidates = [
        PathBuf::from("/var/tmp"),
        tempfile::env::temp_dir(),
        PathBuf::from("."),
    ];
    let found: Vec<PathBuf> = candidates.iter().filter_map(|it| usable(it).ok()).collect();
    let on_disk = |dir: &&PathBuf| {
        storage::file_system_of(&Root::system(), dir).is_none_or(|it| !it.is_memory())
    };
    let chosen = found.iter().find(on_disk).or(found.first());
    // No folder is usable: the error of the usual one says why.
    chosen
        .cloned()
        .map_or_else(|| usable(&tempfile::env::temp_dir()), Ok)
}

/// The folder without symbolic links, if a file can be made in it.
fn usable(dir: &Path) -> Result<PathBuf, StartLoadError> {
    let refused = |error| StartLoadError::Folder {
        dir: dir.to_owned(),
        error,
    };
    tempfile::tempfile_in(dir).map_err(refused)?;
    dir.canonicalize().map_err(refused)
}

fn size(
    dir: &Path,
    asked: Option<u64>,
    free: Option<u64>,
    files: u64,
) -> Result<u64, StartLoadError> {
    let room = free.map(|free| free / 2 / files);
    let size = match (asked, room) {
        (Some(asked), _) => asked,
        (None, Some(room)) => room.clamp(MIN_FILE, YOON2009_FILE),
        (None, None) => YOON2009_FILE,
    };
    match (room, free) {
        (Some(room), Some(free)) if size > room => Err(StartLoadError::DiskTooFull {
            dir: dir.to_owned(),
            free,
            wanted: size.saturating_mul(files),
        }),
        _ => Ok(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn size_of(asked: Option<u64>, free: u64, files: u64) -> Result<u64, String> {
        size(Path::new("/x"), asked, Some(free), files).map_err(|error| error.to_string())
    }

    #[test]
    fn half_of_what_is_free_is_left_to_others() {
        assert_eq!(size_of(None, 100 * GIB, 1), Ok(1_048_576_000));
        assert_eq!(size_of(None, GIB, 1), Ok(GIB / 2));
        assert_eq!(size_of(None, GIB, 4), Ok(GIB / 8));
        assert_eq!(size_of(Some(2 * GIB), 4 * GIB, 1), Ok(2 * GIB));
    }

    #[test]
    fn what_was_asked_for_is_refused_rather_than_made_less() {
        let error = size_of(Some(3 * GIB), 4 * GIB, 1).unwrap_err();
        assert!(error.contains("--size"), "{error}");
        assert!(size_of(Some(2 * GIB), 4 * GIB, 2).is_err());
        assert!(size_of(None, 1_000_000, 1).is_err());
    }

    #[test]
    fn what_is_not_a_folder_is_refused() {
        let options = LoadOptions {
            dir: Some("/no/such/folder".into()),
            ..LoadOptions::default()
        };
        let error = DiskTarget::choose(&options, 1).unwrap_err().to_string();
        assert!(
            error.contains("/no/such/folder") && error.contains("--dir"),
            "{error}"
        );
    }
}
