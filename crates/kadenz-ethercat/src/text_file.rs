//! Text files that users name: read up to a maximum length, and refused with the line that is wrong.

use std::ops::Range;
use std::path::Path;

use kadenz_rt::regular_file;
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

/// Reads a text of at most `longest` bytes.
pub(crate) fn read_named(path: &Path, longest: u64) -> Result<String, FileError> {
    regular_file::text(path, longest).map_err(|error| FileError {
        file: path.display().to_string(),
        line: None,
        cause: format!("it cannot be read: {error}"),
        remedy: regular_file::remedy(&error).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
