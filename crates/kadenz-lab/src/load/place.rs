//! Where a disk is loaded: a folder on a real disk with room to spare.

use std::path::{Path, PathBuf};

use kadenz_rt::host::Root;
use kadenz_rt::host::storage::{self, FileSystem};

use super::options::{LoadOptions, SMALLEST_FILE, StartLoadError};

/// A folder to write in, and how much.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) dir: PathBuf,
    /// `None` where the system does not tell.
    pub(super) file_system: Option<FileSystem>,
    /// Size of one file, in bytes.
    pub(super) size: u64,
}

/// The size of Yoon's file: `bs=1024000 count=1024`.
const PAPERS_FILE: u64 = 1_024_000 * 1024;

impl Place {
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
    let usable: Vec<PathBuf> = candidates.iter().filter_map(|it| usable(it).ok()).collect();
    let on_disk = |dir: &&PathBuf| {
        storage::file_system_of(&Root::system(), dir).is_none_or(|it| !it.is_memory())
    };
    let chosen = usable.iter().find(on_disk).or(usable.first());
    // None will do: the error of the usual one says why.
    chosen
        .cloned()
        .map_or_else(|| self::usable(&tempfile::env::temp_dir()), Ok)
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
        (None, Some(room)) => room.clamp(SMALLEST_FILE, PAPERS_FILE),
        (None, None) => PAPERS_FILE,
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
    fn a_folder_that_is_none_is_refused() {
        let options = LoadOptions {
            dir: Some("/no/such/folder".into()),
            ..LoadOptions::default()
        };
        let error = Place::choose(&options, 1).unwrap_err().to_string();
        assert!(
            error.contains("/no/such/folder") && error.contains("--dir"),
            "{error}"
        );
    }
}
