//! Errors in files that users write: what is wrong, where, and what to write instead.

use std::fmt;

use serde::de::DeserializeOwned;
use toml::Spanned;

/// Why a text is not a valid plan or topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    line: Option<usize>,
    cause: String,
    remedy: String,
}

impl FileError {
    /// The whole file is wrong.
    pub(crate) fn whole(cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            line: None,
            cause: cause.into(),
            remedy: remedy.into(),
        }
    }

    /// What stands at this byte of the text is wrong.
    pub(crate) fn at(
        text: &str,
        byte: usize,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let before = &text.as_bytes()[..byte.min(text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        Self {
            line: Some(line),
            ..Self::whole(cause, remedy)
        }
    }

    /// This value of the text is wrong.
    pub(crate) fn of<T>(
        text: &str,
        value: &Spanned<T>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::at(text, value.span().start, cause, remedy)
    }

    /// The line, from 1, where there is one to name.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}; {}", self.cause, self.remedy)
    }
}

impl std::error::Error for FileError {}

/// Reads TOML up to a maximum size; `remedy` says where its fields are described.
pub(crate) fn read<T: DeserializeOwned>(
    text: &str,
    what: &str,
    most: usize,
    remedy: &str,
) -> Result<T, FileError> {
    if text.len() > most {
        return Err(FileError::whole(
            format!("the file has {} bytes", text.len()),
            format!("{what} has at most {most}"),
        ));
    }
    toml::from_str(text).map_err(|error| {
        let cause = error.message().trim().replace('\n', " ");
        match error.span() {
            Some(span) => FileError::at(text, span.start, cause, remedy),
            None => FileError::whole(cause, remedy),
        }
    })
}
