//! The root folder under which the machine's files are read.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// No file that Kadenz reads here is longer. A longer one is cut, so that a wild file costs bounded memory.
const MAX_FILE: usize = 4 << 20;
/// Bytes of one read: a record of `/dev/kmsg` must fit into it.
const READ_SIZE: usize = 16 << 10;
/// A directory is listed up to this many names (`/proc` is the largest that Kadenz reads).
const MAX_NAMES: usize = 65_536;

/// Why a fact about the machine is not known. Nothing is guessed in its place.
#[derive(Debug, Error)]
pub enum ReadFactError {
    /// The file is not there: another kernel, another architecture, or a container hides it.
    #[error("not known here: {path} absent")]
    Absent {
        /// The file, as seen from the root.
        path: String,
    },
    /// The file is there but this user may not read it.
    #[error("not known here: {path} is closed to this user (run as root to see it)")]
    Denied {
        /// The file, as seen from the root.
        path: String,
    },
    /// Reading failed in another way.
    #[error("not known here: reading {path} failed: {source}")]
    Failed {
        /// The file, as seen from the root.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file holds something else than was expected.
    #[error("not known here: {path} holds {found:?}, expected {expected}")]
    Strange {
        /// The file, as seen from the root.
        path: String,
        /// The beginning of its text.
        found: String,
        /// The expected form of the text, in words.
        expected: &'static str,
    },
}

impl ReadFactError {
    fn from_io(path: &str, source: std::io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::Absent { path },
            ErrorKind::PermissionDenied => Self::Denied { path },
            _ => Self::Failed { path, source },
        }
    }

    pub(crate) fn strange(path: &str, found: &str, expected: &'static str) -> Self {
        let found = found.chars().take(60).collect();
        Self::Strange {
            path: path.to_owned(),
            found,
            expected,
        }
    }
}

/// The root under which the machine's files are read: `/`, or in a test a folder that looks like
/// it.
///
/// Facts that no file holds (CPUID, network card settings) are read through [`Root::system`] only.
///
/// ```
/// let folder = std::env::temp_dir().join("kadenz-root-example");
/// std::fs::create_dir_all(folder.join("proc/sys/vm"))?;
/// std::fs::write(folder.join("proc/sys/vm/swappiness"), "60\n")?;
/// let root = kadenz_rt::host::Root::at(&folder);
/// assert_eq!(root.read_number("/proc/sys/vm/swappiness")?, 60);
/// assert!(root.read("/proc/swaps").is_err());
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Root {
    base: PathBuf,
    live: bool,
}

impl Root {
    /// The machine itself.
    #[must_use]
    pub fn system() -> Self {
        Self {
            base: PathBuf::from("/"),
            live: true,
        }
    }

    /// A folder that stands for a machine's `/`.
    #[must_use]
    pub fn at(base: impl AsRef<Path>) -> Self {
        Self {
            base: base.as_ref().to_owned(),
            live: false,
        }
    }

    /// Whether this is the machine that the program runs on.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live
    }

    fn path(&self, path: &str) -> PathBuf {
        self.base.join(path.trim_start_matches('/'))
    }

    /// Whether the path exists, as far as this user can see.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The file's text: bytes that are not UTF-8 are replaced, white space at both ends is cut, and
    /// so is everything beyond 4 MiB.
    ///
    /// # Errors
    /// The file is absent, closed to this user, or reading it failed.
    pub fn read(&self, path: &str) -> Result<String, ReadFactError> {
        let mut file = self.open(path)?;
        let bytes = read_bounded(&mut file).map_err(|e| ReadFactError::from_io(path, e))?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The whole number that the file holds.
    ///
    /// # Errors
    /// As [`Root::read`], or the file holds no whole number.
    pub fn read_number(&self, path: &str) -> Result<i64, ReadFactError> {
        let text = self.read(path)?;
        text.parse()
            .map_err(|_| ReadFactError::strange(path, &text, "a whole number"))
    }

    /// Exactly `N` bytes at `offset`: how devices such as `/dev/cpu/*/msr` are read.
    ///
    /// # Errors
    /// As [`Root::read`], or there are fewer bytes at that offset.
    pub fn read_at<const N: usize>(
        &self,
        path: &str,
        offset: u64,
    ) -> Result<[u8; N], ReadFactError> {
        let failed = |e| ReadFactError::from_io(path, e);
        let mut file = self.open(path)?;
        // Not every device can seek, and a read from the start needs no seek.
        if offset > 0 {
            file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        }
        let mut bytes = [0; N];
        file.read_exact(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    /// The names in a directory, sorted.
    ///
    /// # Errors
    /// The directory is absent, closed to this user, or reading it failed.
    pub fn list(&self, path: &str) -> Result<Vec<String>, ReadFactError> {
        let entries =
            std::fs::read_dir(self.path(path)).map_err(|e| ReadFactError::from_io(path, e))?;
        let mut names: Vec<String> = entries
            .filter_map(Result::ok)
            .take(MAX_NAMES)
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        Ok(names)
    }

    /// Where a symbolic link points, its last part only.
    #[must_use]
    pub(crate) fn link_name(&self, path: &str) -> Option<String> {
        let target = std::fs::read_link(self.path(path)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    fn open(&self, path: &str) -> Result<File, ReadFactError> {
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            // A pipe or the end of /dev/kmsg must not block the examination.
            options.custom_flags(libc::O_NONBLOCK);
        }
        options
            .open(self.path(path))
            .map_err(|e| ReadFactError::from_io(path, e))
    }
}

/// Reads until the end, until no more data is available at once, or until the bound.
fn read_bounded(file: &mut File) -> Result<Vec<u8>, std::io::Error> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; READ_SIZE];
    while bytes.len() < MAX_FILE {
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => bytes.extend_from_slice(&chunk[..n]),
            Err(e) if e.kind() == ErrorKind::WouldBlock => break,
            // /dev/kmsg gives this error when records were overwritten meanwhile.
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::BrokenPipe) => {}
            Err(e) => return Err(e),
        }
    }
    bytes.truncate(MAX_FILE);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_file_is_named_and_not_guessed() {
        let root = Root::at("/nowhere-at-all");
        let error = root.read("/proc/swaps").unwrap_err();
        assert_eq!(error.to_string(), "not known here: /proc/swaps absent");
    }

    #[test]
    fn a_register_is_read_at_its_offset() {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = vec![0; 0x34];
        bytes.extend_from_slice(&7_u64.to_le_bytes());
        std::fs::write(folder.path().join("msr"), bytes).unwrap();
        let root = Root::at(folder.path());
        assert_eq!(root.read_at("/msr", 0x34).unwrap(), 7_u64.to_le_bytes());
        assert!(root.read_at::<8>("/msr", 0x35).is_err());
    }

    #[test]
    fn what_is_not_a_number_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("n"), "max\n").unwrap();
        let error = Root::at(folder.path()).read_number("/n").unwrap_err();
        assert!(error.to_string().contains("\"max\""), "{error}");
    }
}
