//! Files that users name: regular ones alone, read up to a maximum length.
//!
//! A path that a user names may be a pipe that no process writes to, on which open(2) waits forever, or a device
//! without an end. Every function here refuses both, and never waits for the other end of a pipe. All of it allocates
//! and calls the system.
//!
//! ```
//! use kadenz_rt::regular_file;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("a.toml");
//! std::fs::write(&path, "a = 1")?;
//! assert_eq!(regular_file::text(&path, 1 << 20)?, "a = 1");
//! assert!(regular_file::bytes(&path, 4).is_err());
//! assert!(regular_file::open(folder.path()).is_err());
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::Path;

/// Opens a file for reading.
///
/// # Errors
/// If it cannot be opened, or is not a regular file ([`ErrorKind::InvalidInput`]).
pub fn open(path: &Path) -> Result<File> {
    // Before the file is opened, since opening a device may act on it, and after, since the path may have another file
    // by then: opening that must not wait for the other end of a pipe.
    ensure_regular(&std::fs::metadata(path)?)?;
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.read(true).open(path)?;
    ensure_regular(&file.metadata()?)?;
    // Only opening must not wait.
    #[cfg(unix)]
    rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::empty())?;
    Ok(file)
}

fn ensure_regular(about: &Metadata) -> Result<()> {
    let words = "it is not a regular file (a folder, a pipe or a device)";
    match about.is_file() {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::InvalidInput, words)),
    }
}

/// Reads a file of at most `longest` bytes.
///
/// # Errors
/// As [`open`], and if it is longer ([`ErrorKind::FileTooLarge`]).
pub fn bytes(path: &Path, longest: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = longest.saturating_add(1);
    let read = open(path)?.take(most).read_to_end(&mut bytes)?;
    if read as u64 > longest {
        let words = format!("it is longer than {longest} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, words));
    }
    Ok(bytes)
}

/// Reads a text of at most `longest` bytes.
///
/// # Errors
/// As [`bytes`], and if it is not UTF-8 ([`ErrorKind::InvalidData`]).
pub fn text(path: &Path, longest: u64) -> Result<String> {
    String::from_utf8(bytes(path, longest)?).map_err(|error| {
        let whole = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = whole.iter().filter(|it| **it == b'\n').count() + 1;
        let words = format!("line {line} is not UTF-8");
        Error::new(ErrorKind::InvalidData, words)
    })
}

/// What a user can do about an error of this module.
#[must_use]
pub fn remedy(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::InvalidData => "save it as UTF-8",
        ErrorKind::InvalidInput => "copy its content into a file, and name that",
        ErrorKind::FileTooLarge => "check that it is the file that you mean",
        ErrorKind::NotFound => "check the path",
        ErrorKind::PermissionDenied => "check that you may read it",
        _ => "check the path, and that you may read it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_read_and_only_up_to_the_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(text(&path, 5).unwrap(), "12345");
        assert_eq!(text(&path, u64::MAX).unwrap(), "12345");
        let error = text(&path, 4).unwrap_err();
        assert_eq!(error.to_string(), "it is longer than 4 bytes");
        assert!(remedy(&error).contains("you mean"));
        assert!(text(folder.path(), 5).is_err());
        let error = text(&folder.path().join("b.toml"), 5).unwrap_err();
        assert_eq!(remedy(&error), "check the path");
        std::fs::write(&path, b"a\nf\xFCr").unwrap();
        assert_eq!(bytes(&path, 5).unwrap(), b"a\nf\xFCr");
        let error = text(&path, 5).unwrap_err();
        assert_eq!(error.to_string(), "line 2 is not UTF-8");
        assert_eq!(remedy(&error), "save it as UTF-8");
        #[cfg(unix)]
        {
            let error = text(Path::new("/dev/zero"), 5).unwrap_err();
            assert!(error.to_string().contains("not a regular file"), "{error}");
            let flags = rustix::fs::fcntl_getfl(open(&path).unwrap()).unwrap();
            assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK), "{flags:?}");
        }
    }
}
