//! One process at a time measures into a folder, and finds nothing of earlier ones there.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use kadenz_rt::own_file::{self, Access, OwnFileError, Trusted};

pub(crate) const NAME: &str = "measuring.lock";
/// Maximum length of the number in the file, in bytes.
const MAX: u64 = 64;

/// Held while a process measures into the folder. The kernel releases the lock of a process that dies; the drop removes
/// the file.
#[derive(Debug)]
pub(crate) struct FolderLock {
    path: PathBuf,
    /// Its lock is held until it is closed.
    _file: File,
}

/// Why a process could not get the folder for itself.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process measures into it.
    #[error(
        "process {pid} is measuring into {} now; wait for it, or end it with Ctrl-C (kill -INT {pid})",
        path.display()
    )]
    Held {
        /// The folder that the other process measures into.
        path: PathBuf,
        /// The number of the process that measures there.
        pid: u32,
    },
    /// Another process, which has not written its number, measures into it.
    #[error("another process is measuring into {} now; wait for it", path.display())]
    HeldByUnknown {
        /// The folder that the other process measures into.
        path: PathBuf,
    },
    /// The lock's file cannot be made or locked.
    #[error(transparent)]
    File(#[from] OwnFileError),
}

impl FolderLock {
    /// Takes the folder, also from a process that is dead.
    pub(crate) fn take(folder: &Path) -> Result<Self, LockError> {
        let path = folder.join(NAME);
        loop {
            let mut file = open(&path)?;
            if !own_file::try_lock(&file).map_err(own_file::refused("lock", &path))? {
                let path = folder.to_owned();
                return Err(match holder(file) {
                    Some(pid) => LockError::Held { path, pid },
                    None => LockError::HeldByUnknown { path },
                });
            }
            // Its previous holder may have removed the file meanwhile.
            if own_file::is_at(&file, &path) {
                // Another user's file cannot be written; it only tells others which process to wait for.
                let _ = file
                    .set_len(0)
                    .and_then(|()| write!(file, "{}", std::process::id()));
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Before the lock ends, so that the file is still this process's. No process locks a file that stays behind.
        let _ = fs::remove_file(&self.path);
    }
}

/// Opens a lock's file, also one that another user left, or makes it.
fn open(path: &Path) -> Result<File, OwnFileError> {
    loop {
        for access in [Access::ReadWrite, Access::Read] {
            match own_file::open(path, access, Trusted::Anyone) {
                Ok(Some(file)) => return Ok(file),
                Ok(None) => break,
                // Another user's file cannot be written.
                Err(error) if access == Access::Read || !is_denied(&error) => return Err(error),
                Err(_) => {}
            }
        }
        match own_file::create(path, 0o644) {
            Err(OwnFileError::Refused { source, .. })
                if source.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made,
        }
    }
}

fn is_denied(error: &OwnFileError) -> bool {
    matches!(error, OwnFileError::Refused { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
}

/// The process that a lock names.
fn holder(file: File) -> Option<u32> {
    let mut text = String::new();
    file.take(MAX).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// How often the removal of an earlier attempt's folder is tried, while a process still writes there.
const TRIES: u32 = 50;
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Removes the folders of these names that killed attempts left. A folder that cannot be removed disturbs no later run.
pub(crate) fn clear_earlier(folder: &Path, is_left: impl Fn(&str) -> bool) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let left = entries.filter(|it| it.file_name().to_str().is_some_and(&is_left));
    for path in left.map(|it| it.path()) {
        for _ in 0..TRIES {
            if clear(&path).is_ok() {
                break;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Removes a folder that may be there.
pub(crate) fn clear(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::{Arc, Barrier};

    use super::*;

    #[test]
    fn a_folder_has_one_holder_and_a_dead_one_holds_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let lock = FolderLock::take(folder.path()).unwrap();
        let refused = FolderLock::take(folder.path()).unwrap_err();
        let own = std::process::id();
        assert!(matches!(refused, LockError::Held { pid, .. } if pid == own));
        drop(lock);
        assert!(!folder.path().join(NAME).exists());
        for dead in [format!("{own} 1"), "4194304999 1".to_owned(), String::new()] {
            fs::write(folder.path().join(NAME), dead).unwrap();
            let lock = FolderLock::take(folder.path()).unwrap();
            let refused = FolderLock::take(folder.path()).unwrap_err();
            assert!(matches!(refused, LockError::Held { pid, .. } if pid == own));
            drop(lock);
        }
        assert!(FolderLock::take(Path::new("/nowhere/at/all")).is_err());
    }

    #[test]
    fn a_lock_of_another_user_is_taken_over_and_a_link_is_followed_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let (path, kept) = (folder.path().join(NAME), folder.path().join("kept"));
        fs::write(&path, "4194304999").unwrap();
        let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        fs::set_permissions(&path, everyone).unwrap();
        if kadenz_rt::own_file::user() == 0 {
            std::os::unix::fs::chown(&path, Some(1000), None).unwrap();
        }
        drop(FolderLock::take(folder.path()).unwrap());
        fs::write(&kept, "kept").unwrap();
        std::os::unix::fs::symlink(&kept, &path).unwrap();
        let refused = FolderLock::take(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("a symbolic link"), "{refused}");
        assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
    }

    #[test]
    fn of_those_that_come_at_once_one_takes_a_dead_one_s_folder() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..200 {
            fs::write(folder.path().join(NAME), "4194304999").unwrap();
            let together = Arc::new(Barrier::new(4));
            let takers: Vec<_> = (0..4)
                .map(|_| {
                    let (together, folder) = (Arc::clone(&together), folder.path().to_owned());
                    std::thread::spawn(move || {
                        together.wait();
                        let taken = FolderLock::take(&folder);
                        together.wait();
                        taken.is_ok()
                    })
                })
                .collect();
            let taken = takers.into_iter().map(|it| it.join().unwrap());
            assert_eq!(taken.filter(|it| *it).count(), 1);
        }
    }
}
