//! Files that users name: regular ones alone, read up to a maximum length.
//!
//! A path that a user names may be a pipe that no process writes to, on which open(2) waits forever, or a device
//! without an end. Every function here refuses both without opening them. All of it allocates and calls the system.
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

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::Path;

/// Opens a file for reading.
///
/// # Errors
/// If it cannot be opened, or is no regular file ([`ErrorKind::InvalidInput`]).
pub fn open(path: &Path) -> Result<File> {
    // Before the file is opened: opening a pipe waits for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    File::open(path)
}

/// Reads a file of at most `longest` bytes.
///
/// # Errors
/// As [`open`], and if it is longer ([`ErrorKind::FileTooLarge`]).
pub fn bytes(path: &Path, longest: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(longest + 1).read_to_end(&mut bytes)?;
    if read as u64 > longest {
        let words = format!("it is longer than {} MiB", longest >> 20);
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
        let words = format!("its letters in line {line} are not UTF-8");
        Error::new(ErrorKind::InvalidData, words)
    })
}

/// What a user can do about an error of this module.
#[must_use]
pub fn remedy(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::InvalidData => "save it as UTF-8",
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
        assert!(text(&path, 4).unwrap_err().to_string().contains("longer"));
        assert!(text(folder.path(), 5).is_err());
        assert!(text(&folder.path().join("b.toml"), 5).is_err());
        std::fs::write(&path, b"a\nf\xFCr").unwrap();
        assert_eq!(bytes(&path, 5).unwrap(), b"a\nf\xFCr");
        let error = text(&path, 5).unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        assert_eq!(remedy(&error), "save it as UTF-8");
        #[cfg(unix)]
        assert!(
            text(Path::new("/dev/zero"), 5)
                .unwrap_err()
                .to_string()
                .contains("not a file")
        );
    }
}
