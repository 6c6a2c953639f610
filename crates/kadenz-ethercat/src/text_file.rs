//! Text files that users name: read up to a maximum length, and refused with the line that is wrong.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result as IoResult};
use std::ops::Range;
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::Spanned;

/// An error in a user's file: its line, its cause and its remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{at}: {cause}; {remedy}", at = self.line.map_or_else(String::new, |it| format!(":{it}")))]
pub struct FileError {
    /// The file, as the user named it.
    pub file: String,
    /// The line, from 1; `None` where no line is wrong.
    pub line: Option<usize>,
    /// What is wrong, in words.
    pub cause: String,
    /// What the user can do about it.
    pub remedy: String,
}

/// A text file of a user, with its name.
pub(crate) struct TextFile<'t> {
    /// The file, as it was named.
    pub(crate) file: &'t str,
    /// The file's whole text.
    pub(crate) text: &'t str,
}

impl TextFile<'_> {
    /// The text as TOML; `fields` says where every field is described.
    pub(crate) fn toml<T: DeserializeOwned>(&self, fields: &str) -> Result<T, FileError> {
        toml::from_str(self.text).map_err(|error| {
            let cause = error.message().trim().replace('\n', " ");
            self.error(error.span(), cause, fields)
        })
    }

    /// Returns the value of a word, which must be one of `words`; `what` begins the error, such as "no such
    /// direction".
    pub(crate) fn one_of<T: Copy>(
        &self,
        word: &Spanned<String>,
        words: &[(&str, T)],
        (what, remedy): (&str, &str),
    ) -> Result<T, FileError> {
        let found = words.iter().find(|(known, _)| known == word.get_ref());
        found.map(|(_, it)| *it).ok_or_else(|| {
            let cause = format!("{what} \"{}\"", word.get_ref());
            self.error(Some(word.span()), cause, remedy)
        })
    }

    /// An error at a position of the text.
    pub(crate) fn error(
        &self,
        at: Option<Range<usize>>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> FileError {
        let before = at.and_then(|it| self.text.as_bytes().get(..it.start));
        FileError {
            file: self.file.to_owned(),
            line: before.map(|it| it.iter().filter(|byte| **byte == b'\n').count() + 1),
            cause: cause.into(),
            remedy: remedy.into(),
        }
    }
}

/// Reads a text of at most `longest` bytes, as [`bytes`] does.
pub(crate) fn read(path: &Path, longest: u64) -> IoResult<String> {
    String::from_utf8(bytes(path, longest)?).map_err(|error| {
        let whole = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = whole.iter().filter(|it| **it == b'\n').count() + 1;
        let words = format!("its letters in line {line} are not UTF-8; save it as such");
        Error::new(ErrorKind::InvalidData, words)
    })
}

/// Reads at most `longest` bytes. Refuses a path that is not a regular file, such as a device without an end
/// or a pipe that no process writes to, without opening it.
pub(crate) fn bytes(path: &Path, longest: u64) -> IoResult<Vec<u8>> {
    // Before the file is opened: opening a pipe waits for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut bytes = Vec::new();
    let read = File::open(path)?
        .take(longest + 1)
        .read_to_end(&mut bytes)?;
    if read as u64 > longest {
        let words = format!("it is longer than {} MiB", longest >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, words));
    }
    Ok(bytes)
}

/// As [`read`], for a file that a user named.
pub(crate) fn read_named(path: &Path, longest: u64) -> Result<String, FileError> {
    read(path, longest).map_err(|error| FileError {
        file: path.display().to_string(),
        line: None,
        cause: format!("it cannot be read: {error}"),
        remedy: "check the path, and that you may read it".to_owned(),
    })
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
        std::fs::write(&path, b"a\nf\xFCr").unwrap();
        assert_eq!(bytes(&path, 5).unwrap(), b"a\nf\xFCr");
        let error = read(&path, 5).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
        #[cfg(unix)]
        assert!(
            read(Path::new("/dev/zero"), 5)
                .unwrap_err()
                .to_string()
                .contains("not a file")
        );
    }

    #[test]
    fn an_error_names_file_and_line() {
        let reader = TextFile {
            file: "a.toml",
            text: "a = 1\nb = [\n",
        };
        let error = reader.toml::<toml::Table>("see there").unwrap_err();
        assert!(error.to_string().starts_with("a.toml:2: "), "{error}");
        let whole = reader.error(None, "it is odd", "write another");
        assert_eq!(whole.to_string(), "a.toml: it is odd; write another");
    }
}
