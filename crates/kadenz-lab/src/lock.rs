//! One process at a time measures into a folder, and finds nothing of earlier ones there.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use kadenz_rt::host::Root;
use kadenz_rt::own_file::{self, Access, Trusted};

pub(crate) const NAME: &str = "measuring.lock";
/// Maximum length of the two numbers in the file, in bytes.
const MAX: u64 = 64;

/// Held while a process measures into the folder; the drop removes its file.
#[derive(Debug)]
pub(crate) struct FolderLock(PathBuf);

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
    /// Nothing can be written there.
    #[error("cannot write {}: {source}; check its permissions and the room on its disk", path.display())]
    Write {
        /// The file that could not be written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl FolderLock {
    /// Takes the folder, also from a process that is dead.
    pub(crate) fn take(folder: &Path) -> Result<Self, LockError> {
        let path = folder.join(NAME);
        if let Some(pid) = live_holder(&path) {
            return Err(LockError::Held {
                path: folder.to_owned(),
                pid,
            });
        }
        // The remaining lock belongs to no living process; if it cannot be removed, the next line says why.
        let _ = fs::remove_file(&path);
        let written = File::create_new(&path).and_then(|mut file| {
            let own = std::process::id();
            write!(file, "{own} {}", start_time(own).unwrap_or_default())
        });
        match written {
            Ok(()) => Ok(Self(path)),
            Err(source) => Err(LockError::Write { path, source }),
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // A lock that stays behind names a process that is dead by then.
        let _ = fs::remove_file(&self.0);
    }
}

/// The process that a lock names, if it lives still.
fn live_holder(path: &Path) -> Option<u32> {
    let mut text = String::new();
    let file = own_file::open(path, Access::Read, Trusted::User).ok()??;
    file.take(MAX).read_to_string(&mut text).ok()?;
    let (pid, then) = text.split_once(' ')?;
    let pid = pid.parse().ok()?;
    // A later process may have been given the same number.
    (start_time(pid)? == then).then_some(pid)
}

/// When a process was started, in clock ticks since boot (`proc_pid_stat(5)`, field 22).
fn start_time(pid: u32) -> Option<String> {
    let stat = Root::system().read(&format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_whitespace().nth(19).map(str::to_owned)
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
            drop(FolderLock::take(folder.path()).unwrap());
        }
        assert!(FolderLock::take(Path::new("/nowhere/at/all")).is_err());
    }
}
