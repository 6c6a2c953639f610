//! What is wrong with a topology, where, and what to write instead.

use std::fmt;

/// Why a text is no topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyError {
    line: Option<usize>,
    cause: String,
    remedy: String,
}

impl TopologyError {
    /// The whole file is wrong.
    pub(super) fn whole(cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            line: None,
            cause: cause.into(),
            remedy: remedy.into(),
        }
    }

    /// What stands at this byte of the text is wrong.
    pub(super) fn at(
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

    /// The line, from 1, where there is one to name.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}; {}", self.cause, self.remedy)
    }
}

impl std::error::Error for TopologyError {}
