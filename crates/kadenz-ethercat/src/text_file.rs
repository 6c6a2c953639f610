//! Files of users, read up to a length that is known before.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::Path;

/// Reads a text of at most so many bytes. What is no file, as a device without an end or a pipe that nobody
/// writes to, is not opened for long: it is refused.
pub(crate) fn read(path: &Path, longest: u64) -> Result<String> {
    // Before it is opened: to open a pipe waits for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no file"));
    }
    let mut text = String::new();
    let read = File::open(path)?
        .take(longest + 1)
        .read_to_string(&mut text)?;
    if read as u64 > longest {
        let words = format!("it is longer than {} MiB", longest >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, words));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_read_and_only_up_to_the_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), "12345");
        assert!(read(&path, 4).unwrap_err().to_string().contains("longer"));
        assert!(read(folder.path(), 5).is_err());
        assert!(read(&folder.path().join("b.toml"), 5).is_err());
        #[cfg(unix)]
        assert!(
            read(Path::new("/dev/zero"), 5)
                .unwrap_err()
                .to_string()
                .contains("no file")
        );
    }
}
